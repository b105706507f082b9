"""While two connections insert, update, delete and move keys, a table is recreated with a type and a key that change.

Each writer keeps its own account of what it wrote; at the end the table must be exactly the two accounts.
INSTAR_TEST_PG_ROWS and INSTAR_TEST_PG_ROUNDS make it a million rows and ten rounds.
"""

from __future__ import annotations

import os
import random
import threading
import time
from dataclasses import dataclass, field
from itertools import islice

import psycopg
import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World
from backends.world import BIG, INT, TEXT
from instar.backends.postgres.session import Patience
from instar.core.changes import kind
from instar.core.schema import Hint, Unique
from instar.core.types import Column

ROWS = int(os.environ.get("INSTAR_TEST_PG_ROWS", "20000"))
ROUNDS = int(os.environ.get("INSTAR_TEST_PG_ROUNDS", "4"))
KEYS = (("tenant", "id"), ("label",), ("id",))
"""The key of each round, over and over; the table begins with the last one."""

Client = psycopg.Connection[tuple[object, ...]]


@dataclass
class Writer(threading.Thread):
    """Owns the keys of one parity; the other writer never touches them."""

    url: str
    schema: str
    parity: int
    account: dict[int, tuple[int, int, str]]
    stop: threading.Event
    longest: float = 0.0
    done: int = 0
    top: int = 0
    failure: BaseException | None = None
    _random: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._random.seed(self.parity)
        self.top = max(self.account)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        try:
            with psycopg.connect(self.url, autocommit=True, prepare_threshold=None) as connection:
                connection.execute(f"SET search_path = {self.schema}")
                while not self.stop.is_set():
                    begun = time.monotonic()
                    self._write(connection)
                    self.longest = max(self.longest, time.monotonic() - begun)
                    self.done += 1
        except BaseException as error:
            self.failure = error

    def _write(self, connection: Client) -> None:
        mine, kind = self._any(), self._random.random()
        value, label = self._random.randrange(2**31), f"l{self._random.random()}"
        tenant = self._random.randrange(-3, 4)
        self.top += 2 * self._random.randrange(1, 5)
        free = self.top
        if kind < 0.3:
            sql = "UPDATE t SET n = %s, label = %s WHERE id = %s"
            self._sql(connection, sql, value, label, mine)
            self.account[mine] = (self.account[mine][0], value, label)
        elif kind < 0.5:
            self._insert(connection, free, (tenant, value, label))
        elif kind < 0.6:
            self._sql(connection, "DELETE FROM t WHERE id = %s", mine)
            del self.account[mine]
        elif kind < 0.7:
            self._sql(connection, "UPDATE t SET id = %s WHERE id = %s", free, mine)
            self.account[free] = self.account.pop(mine)
        elif kind < 0.8:
            self._sql(connection, "UPDATE t SET tenant = %s WHERE id = %s", tenant, mine)
            self.account[mine] = (tenant, *self.account[mine][1:])
        elif kind < 0.9:
            self._replace(connection, mine, (tenant, value, self.account[mine][2]))
        else:
            self._swap_labels(connection, mine)

    def _any(self) -> int:
        return self._random.choice(list(islice(self.account, 500)))

    def _insert(self, connection: Client, key: int, row: tuple[int, int, str]) -> None:
        sql = "INSERT INTO t (id, tenant, n, label) VALUES (%s, %s, %s, %s)"
        self._sql(connection, sql, key, *row)
        self.account[key] = row

    def _replace(self, connection: Client, key: int, row: tuple[int, int, str]) -> None:
        """The same id and label go and come back as another row."""
        with connection.transaction():
            self._sql(connection, "DELETE FROM t WHERE id = %s", key)
            self._insert(connection, key, row)

    def _swap_labels(self, connection: Client, one: int) -> None:
        """Two rows trade unique values in one transaction: a copy that follows row by row would clash."""
        two = self._any()
        if one == two:
            return
        (t1, n1, l1), (t2, n2, l2) = self.account[one], self.account[two]
        with connection.transaction():
            self._sql(connection, "UPDATE t SET label = %s WHERE id = %s", f"x{l1}", one)
            self._sql(connection, "UPDATE t SET label = %s WHERE id = %s", l1, two)
            self._sql(connection, "UPDATE t SET label = %s WHERE id = %s", l2, one)
        self.account[one], self.account[two] = (t1, n1, l2), (t2, n2, l1)

    def _sql(self, connection: Client, text: str, *values: object) -> None:
        found = connection.execute(text, values)
        assert found.rowcount == 1, f"{text} {values} touched {found.rowcount} rows"


@pytest.mark.slow
@pytest.mark.timeout(600 + ROWS * ROUNDS // 2000)
def test_the_table_equals_an_account_of_the_writes(
    postgres: PostgresServer, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.sql(
        "CREATE TABLE t (id int PRIMARY KEY, tenant int NOT NULL, n int, "
        "label text NOT NULL CONSTRAINT one_label UNIQUE)"
    )
    world.sql(
        "INSERT INTO t SELECT i, i %% 7, i, 'l' || i FROM generate_series(1, %s) AS i", [ROWS]
    )
    world.sql("CREATE INDEX t_id ON t (id)")
    stop = threading.Event()
    accounts = [{i: (i % 7, i, f"l{i}") for i in range(1, ROWS + 1) if i % 2 == p} for p in (0, 1)]
    writers = [
        Writer(postgres.url(), world.schema, p, account, stop) for p, account in enumerate(accounts)
    ]
    for writer in writers:
        writer.start()
    patience = Patience(lock_timeout=1, attempts=20, batch=2000)
    locks: list[int] = []
    own = World(postgres.url(), patience)
    own.schema = world.schema
    try:
        locks.extend(_recreate(own, number) for number in range(ROUNDS))
    finally:
        stop.set()
        for writer in writers:
            writer.join(60)
        own.close()
    assert [w.failure for w in writers] == [None, None]
    expected = sorted((i, *row) for w in writers for i, row in w.account.items())
    found = world.sql("SELECT id, tenant, n, label FROM t ORDER BY id")
    assert found == expected
    with capsys.disabled():
        print(
            f"\n{ROUNDS} recreations of {ROWS:,} rows beside {sum(w.done for w in writers):,} writes: "
            f"lock held {', '.join(map(str, locks))} ms; longest write "
            f"{max(w.longest for w in writers) * 1000:.0f} ms"
        )


def _recreate(world: World, number: int) -> int:
    """A type and the key change each time; in the third round a column of the key widens, too."""
    type_ = BIG if number % 2 == 0 else INT
    id_type = BIG if number >= 2 else INT
    key = KEYS[number % len(KEYS)]
    wanted = world.want(
        Column("id", id_type, nullable=False),
        Column("tenant", INT, nullable=False),
        Column("n", type_),
        Column("label", TEXT, nullable=False),
        primary_key=key,
        constraints=(Unique("one_label", ("label",)),),
        hints={("n",): Hint(using="n")} if number % 2 else {},
    )
    plan = world.plan(wanted)
    assert not plan.blocked, plan.findings
    assert [s.kind for s in plan.steps] == ["recreate"]
    assert {"modify_column", "change_primary_key"} <= {kind(c.change) for c in plan.changes}
    lock = int(world.run(plan)["lock_ms"])
    live = world.live()
    assert live is not None
    assert live.primary_key == key
    return lock
