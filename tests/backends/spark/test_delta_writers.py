"""While one session appends and another merges, a Delta table is rewritten again and again.

Each writer keeps its own account of what it has committed; at the end the table must be exactly the two.
INSTAR_ALL makes it ten rounds. A writer that meets the rewrite's commit tries again, as Delta asks of all.
Between two commits it pauses for some times as long as a commit took, so that a busy machine is as quiet, for
a rewrite, as an idle one.
"""

from __future__ import annotations

import os
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.spark.helpers import Bench, columns
from instar.backends.spark import delta
from instar.backends.spark.delta import DeltaBackend
from instar.core.schema import Table
from instar.errors import EngineError
from instar.spark import SparkHandle, SparkSettings, SparkSqlError, open_session

pytestmark = pytest.mark.spark

ROUNDS = 10 if os.environ.get("INSTAR_ALL") else 1
CONFLICT = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_SCHEMA_CHANGE")
OLD = {n: n for n in range(50)}


class Writer(threading.Thread):
    """Commits one statement after the other until it is stopped; `account` is what it has committed."""

    pauses: float

    def __init__(self, root: Path, table: str, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.root, self.table, self.stop = root, table, stop
        self.account: dict[int, int] = {}
        self.wrote = threading.Event()
        self.failure: BaseException | None = None

    @abstractmethod
    def next(self, turn: int) -> tuple[str, dict[int, int]]:
        """A statement, and what it does to the account."""

    def run(self) -> None:
        try:
            with open_session(SparkSettings(self.root), note=lambda _: None) as session:
                turn, took = 0, 0.0
                while not self.stop.wait(self.pauses * took):
                    turn += 1
                    started = time.monotonic()
                    self._commit(session, *self.next(turn))
                    took = time.monotonic() - started
                    self.wrote.set()
        except BaseException as error:
            self.failure = error
            self.wrote.set()

    def _commit(self, session: SparkHandle, statement: str, written: dict[int, int]) -> None:
        while True:
            try:
                session.run(statement)
            except SparkSqlError as error:
                if not (error.condition or "").startswith(CONFLICT):
                    raise
            else:
                self.account |= written
                return


class Appender(Writer):
    pauses = 5.0

    def next(self, turn: int) -> tuple[str, dict[int, int]]:
        return f"INSERT INTO {self.table} VALUES ({1000 + turn}, {turn})", {1000 + turn: turn}


class Merger(Writer):
    """Changes one old row and brings one new row in each statement."""

    pauses = 4.0

    def next(self, turn: int) -> tuple[str, dict[int, int]]:
        written = {turn % len(OLD): -turn, 2000 + turn: turn}
        rows = ", ".join(f"({key}, {value})" for key, value in written.items())
        return (
            f"MERGE INTO {self.table} AS t USING (SELECT * FROM VALUES {rows} AS v(id, n)) AS s"
            " ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n"
            " WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)",
            written,
        )


@pytest.fixture
def bench(spark: SparkHandle) -> Iterator[Bench]:
    schema = "delta_writers"
    spark.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    spark.run(f"CREATE SCHEMA {schema}")
    yield Bench(DeltaBackend(spark), spark, schema)
    spark.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_no_row_of_an_appender_or_a_merger_is_lost(bench: Bench, spark_root: Path) -> None:
    bench.apply(Table(bench.name("t"), columns(id="bigint", n="int")))
    rows = ", ".join(f"({key}, {value})" for key, value in OLD.items())
    bench.sql(f"INSERT INTO {{s}}.t VALUES {rows}")
    stop = threading.Event()
    place = f"{bench.schema}.t"
    writers = (Appender(spark_root, place, stop), Merger(spark_root, place, stop))
    for writer in writers:
        writer.start()
    try:
        for turn in range(ROUNDS):
            for writer in writers:
                writer.wrote.wait()
                writer.wrote.clear()
                assert writer.failure is None
            n = "int" if turn % 2 else "string"
            bench.apply(Table(bench.name("t"), columns(id="bigint", n=n)))
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert [w.failure for w in writers] == [None, None]
    expected = OLD | writers[0].account | writers[1].account
    assert bench.rows("t", "id, CAST(n AS INT)", "id") == sorted(expected.items())


def test_a_table_that_is_never_quiet_is_left_as_it_is(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every attempt meets another writer: after its patience the rewrite says so, in its own words."""
    bench.apply(Table(bench.name("t"), columns(id="bigint", n="string")))
    bench.sql("INSERT INTO {s}.t VALUES (1, '1')")
    tries: list[str] = []

    def meets_a_writer(_: DeltaBackend, __: object, mark: str) -> None:
        tries.append(mark)
        raise SparkSqlError(
            "others wrote",
            condition="DELTA_CONCURRENT_APPEND.WITHOUT_HINT",
            sqlstate=None,
            detail="",
        )

    monkeypatch.setattr(DeltaBackend, "_overwrite", meets_a_writer)
    monkeypatch.setattr(delta, "_PATIENCE", -1.0)
    with pytest.raises(EngineError) as caught:
        bench.apply(Table(bench.name("t"), columns(id="bigint", n="int")))
    assert caught.value.code == "E215"
    assert "each of 5 rewrites" in caught.value.message
    assert len(tries) == 5
    assert bench.rows("t") == [(1, "1")]
