"""Connections: files, locks, interruption, errors in words, and many tables at once."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from backends.duckdb.world import T, World, heard, want
from backends.world import INT
from instar.backends.base import NotATable
from instar.backends.duckdb.backend import DuckDBBackend, open_duckdb
from instar.backends.duckdb.opening import SPARING
from instar.backends.registry import EngineSettings, open_engine
from instar.core.plan import Rung, Step
from instar.core.schema import Table, TableName
from instar.core.types import Column, Variant, array
from instar.errors import EngineError, EnvironmentProblem, Interrupted

HOLD = """
import duckdb, sys
held = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def test_a_file_that_another_process_holds_is_named_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "held.duckdb"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(EnvironmentProblem) as caught:
            open_duckdb(path)
        holder.communicate()
    assert caught.value.code == "E225"
    assert caught.value.hint is not None
    open_duckdb(path).close()


def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    path.write_text("not a database, but long enough to be looked at " * 200)
    with pytest.raises(EnvironmentProblem) as caught:
        open_duckdb(path)
    assert caught.value.code == "E226"


def test_a_file_whose_storage_is_too_old_for_variant_blocks_before_anything_runs(
    tmp_path: Path,
) -> None:
    """DuckDB refuses such a column when the table is made, at any depth; newer files and memory hold it."""
    duckdb.connect(str(tmp_path / "old.duckdb")).close()
    duckdb.connect().execute(f"ATTACH '{tmp_path}/new.duckdb' (STORAGE_VERSION 'v1.5.0')").close()
    wish = want(Column("v", array(Variant())))

    def said(database: str) -> list[str]:
        settings = EngineSettings("duckdb", "", tmp_path, database, reading=True)
        engine = open_engine(settings, lambda _: None)
        try:
            return [
                f"{f.code} {f.message}" for f in engine.backend("").rules.normalize(wish, None)[1]
            ]
        finally:
            engine.close()

    (old,) = said("old.duckdb")
    assert old.startswith("F601 [main.t] 'v.element': a database file of storage version v")
    assert old.endswith("holds no VARIANT.")
    assert len(said("to_come.duckdb")) == 1
    assert not (tmp_path / "to_come.duckdb").exists()
    assert said("new.duckdb") == said(":memory:") == []


def test_closing_twice_is_fine_and_lets_go_of_the_file(tmp_path: Path) -> None:
    backend = open_duckdb(tmp_path / "a.duckdb")
    backend.close()
    backend.close()
    duckdb.connect(str(tmp_path / "a.duckdb")).close()


def test_a_file_that_is_opened_alone_may_use_all_the_memory_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    backend = open_duckdb(path, alone=True)
    rows = "SELECT count(*) FROM (SELECT list(i) FROM range(3000000) r(i) GROUP BY i % 3)"
    assert backend.query(rows) == [(3,)], "the limit that was set for opening would refuse this"
    again = open_duckdb(path, alone=True)
    again.close()
    backend.close()


def test_a_file_that_is_open_already_is_opened_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as first:
        first.execute("CREATE TABLE t (a INT)")
        backend = open_duckdb(path, alone=True)
        assert backend.list_tables("main") == [TableName("main", "t")]
        backend.close()
    one = open_duckdb(path, alone=True)
    one.query("CREATE TABLE u (a INT)")
    assert Path(f"{path}.wal").exists()
    other = open_duckdb(path, alone=True)
    assert len(other.list_tables("main")) == 2
    other.close()
    one.close()


def test_a_catalog_that_needs_more_memory_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as first:
        first.execute("CREATE TABLE t (a INT)")
    monkeypatch.setitem(SPARING, "memory_limit", "1KB")
    backend = open_duckdb(path, alone=True)
    assert backend.list_tables("main") == [TableName("main", "t")]
    backend.close()


def test_the_given_connection_keeps_its_own_time_zone() -> None:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'Asia/Tokyo'")
    backend = DuckDBBackend(connection)
    backend.close()
    assert connection.execute("SELECT current_setting('TimeZone')").fetchall() == [("Asia/Tokyo",)]


def test_a_refused_statement_is_shown_and_rolled_back(own_world: World) -> None:
    own_world.sql("CREATE TABLE t (a INT)")
    live = own_world.live()
    assert live is not None
    statements = ("ALTER TABLE t ADD COLUMN b INT", "ALTER TABLE t ADD COLUMN b INT")
    step = Step("main.t/1", "alter", Rung.METADATA, "twice", statements, live)
    plan = own_world.plan(want(Column("a", INT), Column("b", INT)))
    with pytest.raises(EngineError) as caught:
        own_world.run(
            type(plan)(**{f: getattr(plan, f) for f in plan.__slots__} | {"steps": (step,)})
        )
    assert caught.value.code == "E220"
    assert statements[1] in caught.value.message
    assert own_world.live() == live


def test_a_file_and_a_schema_of_one_name_are_told_as_the_cause(tmp_path: Path) -> None:
    """DuckDB cannot read `shop.t` then."""
    backend = open_duckdb(tmp_path / "shop.duckdb")
    backend.query("CREATE SCHEMA shop")
    with pytest.raises(EngineError) as caught:
        backend.query("CREATE TABLE shop.t (a INT)")
    backend.close()
    assert caught.value.code == "E222"
    assert "rename the file" in str(caught.value.hint)


def test_an_interrupt_stops_what_runs(own_world: World) -> None:
    timer = threading.Timer(0.3, own_world.backend.interrupt)
    timer.start()
    with pytest.raises(Interrupted):
        own_world.backend._ask(
            "SELECT sum(a.i * b.i) FROM range(1000000) a (i), range(1000000) b (i)"
        )
    timer.join()
    assert own_world.backend.list_tables("main") == []


def test_a_view_is_not_a_table(own_world: World) -> None:
    own_world.sql("CREATE VIEW t AS SELECT 1 AS a")
    assert own_world.backend.inspect([T]) == {T: NotATable(T, "view")}
    assert own_world.backend.list_tables("main") == []


def test_many_tables_are_read_in_a_handful_of_queries(
    own_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ", ".join(f"c{i} STRUCT(a INT, b DECIMAL(10,2)[])" for i in range(20))
    names = [TableName("main", f"t{i}") for i in range(100)]
    for name in names:
        own_world.sql(f"CREATE TABLE {name.name} ({columns}, k INT PRIMARY KEY, CHECK (k > 0))")
    asked = heard(own_world, monkeypatch)
    found = own_world.backend.inspect(names)
    assert len(asked) <= 5
    assert sorted(found) == sorted(names)
    assert all(isinstance(t, Table) and len(t.columns) == 21 for t in found.values())
    assert own_world.backend.inspect([]) == {}


def test_rows_are_measured(own_world: World) -> None:
    own_world.sql("CREATE TABLE t AS SELECT * FROM range(1234)")
    missing = TableName("main", "none")
    assert {n: c.rows for n, c in own_world.backend.measure([T, missing]).items()} == {T: 1234}
