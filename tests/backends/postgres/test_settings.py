"""What is set for a role or a database by others changes nothing of what Instar does."""

from __future__ import annotations

import threading
import time
from urllib.parse import quote

import psycopg
import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World
from backends.world import BIG, INT
from instar.core.types import Column

Connection = psycopg.Connection[tuple[object, ...]]
_WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND pid = %s"


def as_set(postgres: PostgresServer, world: World, **settings: str) -> World:
    """A client to whose connections others gave settings."""
    given = " ".join(
        f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in settings.items()
    )
    made = World(f"{postgres.url()}?options={quote(given)}")
    made.schema = world.schema
    return made


def commit_when_waited_for(other: Connection, pid: int, url: str) -> threading.Thread:
    def commit() -> None:
        with psycopg.connect(url, autocommit=True) as looks:
            while not looks.execute(_WAITING, [pid]).fetchall():
                time.sleep(0.01)
        other.commit()

    thread = threading.Thread(target=commit, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_what_is_written_while_the_lock_is_waited_for_is_there(
    postgres: PostgresServer, world: World, level: str
) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1), (2, 2)")
    own = as_set(postgres, world, default_transaction_isolation=level)
    plan = own.plan(
        own.want(Column("id", INT, nullable=False), Column("n", BIG), primary_key=("id",))
    )
    (pid,) = own.backend.session.ask("SELECT pg_backend_pid()")[0]
    with psycopg.connect(postgres.url()) as other:
        threads: list[threading.Thread] = []

        def write(point: str) -> None:
            if point == "recreate cut-over" and not threads:
                other.execute(f"INSERT INTO {own.t} VALUES (3, 3)")
                other.execute(f"DELETE FROM {own.t} WHERE id = 1")
                other.execute(f"UPDATE {own.t} SET n = -2 WHERE id = 2")
                threads.append(commit_when_waited_for(other, pid, postgres.url()))

        own.run(plan, write)
        threads[0].join(30)
    own.close()
    assert world.sql("SELECT * FROM t ORDER BY id") == [(2, -2), (3, 3)]


UNHELPFUL = {
    "statement_timeout": "200",
    "idle_in_transaction_session_timeout": "200",
    "idle_session_timeout": "200",
    "transaction_timeout": "200",
    "quote_all_identifiers": "on",
    "array_nulls": "off",
    "IntervalStyle": "iso_8601",
}


def test_settings_that_would_end_or_bend_it_are_set_back(
    postgres: PostgresServer, world: World
) -> None:
    """The key holds a NULL within an array, which the text of a position must give back."""
    world.sql(
        "CREATE TYPE mood AS ENUM ('well'); CREATE TABLE t (id text[] PRIMARY KEY, m mood, "
        "i interval DEFAULT '1 day', n int CONSTRAINT few CHECK (n < 1000))"
    )
    world.sql(
        "INSERT INTO t SELECT ARRAY[lpad(i::text, 3, '0'), NULL], 'well', '1 day', i "
        "FROM generate_series(1, 300) AS i"
    )
    own = as_set(postgres, world, **UNHELPFUL)
    live = own.live()
    assert live is not None
    columns = (c if c.name != "n" else Column("n", BIG) for c in live.columns)
    plan = own.plan(own.want(*columns, primary_key=("id",), constraints=live.constraints))

    def dawdle(point: str) -> None:
        if point == "recreate prepare, not committed":
            own.backend.session.ask("SELECT pg_sleep(0.3)")
        if point in ("recreate prepare, not committed", "recreate prepared"):
            time.sleep(0.3)

    own.run(plan, dawdle)
    own.close()
    assert [step.kind for step in plan.steps] == ["recreate"]
    assert world.sql("SELECT count(*), count(DISTINCT id), sum(n) FROM t") == [(300, 300, 45150)]
