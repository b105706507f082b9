"""The rewrite: one transaction, every row, no other writer's row lost, the old table kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from backends.duckdb.world import T, World, want
from backends.world import REORDER
from instar.backends.base import Outcome, RunContext
from instar.backends.duckdb.backend import open_duckdb
from instar.backends.duckdb.content import content_sql
from instar.backends.sql import quote_double
from instar.core.plan import TablePlan
from instar.core.schema import Check, Hint, Table, TableName, Wanted
from instar.core.types import Column, Float, Integer, String, map_of, struct
from instar.errors import EngineError, VerificationFailed

ID, NOTE = Column("id", Integer(32)), Column("note", String())
CHECKED = want(ID, NOTE, constraints=(Check("short", "length(note) < 9"),))


@pytest.fixture
def world(own_world: World) -> World:
    """Transactions that a test leaves open must not meet the next one."""
    return own_world


@pytest.fixture
def pending(world: World) -> TablePlan:
    world.sql("CREATE TABLE t (id INT, note VARCHAR)")
    world.sql("INSERT INTO t SELECT i, 'n' || i FROM range(1000) AS r (i)")
    return world.plan(CHECKED)


def rows(world: World) -> int:
    return int(world.sql("SELECT count(*) FROM t")[0][0])


def kept(world: World) -> list[str]:
    """The old tables that rewrites have put aside."""
    names = world.sql("SELECT table_name FROM duckdb_tables() ORDER BY 1")
    return [name for (name,) in names if "__instar_old_" in name]


def test_the_old_table_is_kept(world: World, pending: TablePlan) -> None:
    step = pending.steps[0]
    assert step.confirm is not None
    assert "the old one is kept as t__instar_old_<n>" in step.confirm
    memo = world.run(pending)
    rows = {"old_rows": "1000", "new_rows": "1000", "verified": "1000"}
    assert memo == {"kept": "t__instar_old_1", **rows}
    assert kept(world) == ["t__instar_old_1"]
    assert world.backend.list_tables("main") == [T]
    assert world.sql("SELECT count(*) FROM t__instar_old_1") == [(1000,)]
    assert world.sql(
        "SELECT column_name FROM duckdb_columns() WHERE table_name = 't__instar_old_1'"
    )


def test_taken_names_are_stepped_over(world: World, pending: TablePlan) -> None:
    world.sql("CREATE TABLE T__INSTAR_NEW (x INT); CREATE VIEW t__instar_old_1 AS SELECT 1 AS x")
    assert world.run(pending)["kept"] == "t__instar_old_2"
    assert rows(world) == 1000


def test_a_very_long_name_and_a_column_that_is_called_like_the_guard(world: World) -> None:
    name = TableName("odd schema", "n" * 300)
    columns = (Column("__instar_guard", Integer(32)), NOTE)
    world.apply(want(*columns, name=name))
    world.sql(f'INSERT INTO "odd schema"."{name.name}" VALUES (1, \'a\')')
    world.apply(want(*reversed(columns), name=name), REORDER)
    assert world.sql(f'SELECT * FROM "odd schema"."{name.name}"') == [("a", 1)]


def test_views_comments_and_indexes_come_along(world: World, pending: TablePlan) -> None:
    world.sql("CREATE VIEW v AS SELECT note FROM t; COMMENT ON TABLE t IS 'T'")
    world.sql("COMMENT ON COLUMN t.note IS 'N'; CREATE UNIQUE INDEX i ON t (id)")
    world.sql("COMMENT ON INDEX i IS 'one''s own'")
    world.apply(CHECKED)
    live = world.live()
    assert live is not None
    assert (live.comment, live.columns[1].comment) == ("T", "N")
    assert world.sql("SELECT count(*) FROM v") == [(1000,)]
    assert world.sql("SELECT comment FROM duckdb_indexes()") == [("one's own",)]
    with pytest.raises(duckdb.ConstraintException):
        world.sql("INSERT INTO t VALUES (5, 'again')")


@pytest.mark.parametrize(
    "write",
    ["INSERT INTO t VALUES (-1, 'late')", "UPDATE t SET note = 'x'", "DELETE FROM t WHERE id = 1"],
)
def test_a_writer_during_the_rewrite_is_told_and_loses_nothing(
    world: World, pending: TablePlan, write: str
) -> None:
    other = world.connection.cursor()
    refused: list[str] = []

    def failpoint(name: str) -> None:
        if name == "commit":
            with pytest.raises(duckdb.TransactionException) as caught:
                other.execute(write)
            refused.append(str(caught.value))

    world.run(pending, failpoint)
    assert len(refused) == 1
    assert rows(world) == 1000
    other.execute(write)


def test_a_transaction_that_was_open_before_cannot_commit_into_the_old_table(
    world: World, pending: TablePlan
) -> None:
    other = world.connection.cursor()
    other.execute("BEGIN")
    other.execute("INSERT INTO t VALUES (-1, 'early')")
    world.run(pending)
    with pytest.raises(duckdb.TransactionException):
        other.execute("COMMIT")
    assert world.sql("SELECT count(*) FROM t__instar_old_1") == [(1000,)]


def test_rows_committed_just_before_the_guard_are_seen(world: World, pending: TablePlan) -> None:
    other = world.connection.cursor()

    def failpoint(name: str) -> None:
        # The transaction has looked at the catalog, so its snapshot is older than this row.
        if name == "statement 1":
            other.execute("INSERT INTO t VALUES (-1, 'gap')")

    with pytest.raises(EngineError) as caught:
        world.run(pending, failpoint)
    assert caught.value.code == "E221"
    assert rows(world) == 1001
    world.apply(CHECKED)
    assert world.sql("SELECT note FROM t WHERE id = -1") == [("gap",)]


def test_a_failure_anywhere_leaves_everything_as_it_was(world: World, pending: TablePlan) -> None:
    names: list[str] = []
    world.sql("CREATE INDEX i ON t (id)")
    plan = world.plan(CHECKED)

    class Stop(Exception):
        pass

    def stop_at(place: str) -> None:
        def failpoint(name: str) -> None:
            names.append(name)
            if name == place:
                raise Stop

        before = world.live()
        with pytest.raises(Stop):
            world.run(plan, failpoint)
        assert world.live() == before
        assert rows(world) == 1000
        assert kept(world) == []
        step = plan.steps[0]
        assert world.backend.outcome(step, before, {}) is Outcome.NOT_DONE

    stop_at("commit")
    for place in dict.fromkeys(names):
        stop_at(place)
    assert "statement 3" in names
    memo = world.run(plan)
    assert world.backend.outcome(plan.steps[0], pending.live, memo) is Outcome.DONE


def test_a_swap_that_leaves_the_schema_as_it_was_is_told_by_the_values(world: World) -> None:
    world.sql("CREATE TABLE t (s STRUCT(x INT, y INT)); INSERT INTO t VALUES ({'x': 1, 'y': 2})")
    fields = struct(Column("x", Integer(32)), Column("y", Integer(32)))
    swap = {("s", "x"): Hint(renamed_from="y"), ("s", "y"): Hint(renamed_from="x")}
    plan = world.plan(want(Column("s", fields), hints=swap), REORDER)
    step = plan.steps[0]
    memo: dict[str, str] = {}
    assert world.backend.outcome(step, plan.live, memo) is Outcome.NOT_DONE

    def stop(name: str) -> None:
        if name == "commit":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        world.backend.run(step, RunContext(memo, lambda *_: None, stop))
    assert world.backend.outcome(step, plan.live, memo) is Outcome.NOT_DONE
    world.backend.run(step, RunContext(memo, lambda *_: None, lambda _: None))
    assert world.sql("SELECT s FROM t") == [({"x": 2, "y": 1},)]
    assert world.backend.outcome(step, plan.live, memo) is Outcome.DONE
    world.sql("UPDATE t SET s = {'x': 9, 'y': 9}")
    assert world.backend.outcome(step, plan.live, memo) is Outcome.UNCLEAR


def test_the_checksum_tells_values_apart_and_ignores_order(world: World) -> None:
    def content(*values: str) -> object:
        world.sql(
            f"CREATE OR REPLACE TABLE c AS SELECT * FROM (VALUES {', '.join(values)}) AS v (a)"
        )
        return world.sql(content_sql(("a",), "c"))

    assert content("(1)", "(2)") == content("(2)", "(1)")
    assert content("(1)", "(1)") != content("(1)")
    assert content("(0.0::DOUBLE)") != content("(-0.0::DOUBLE)")
    assert content("('nan'::DOUBLE)") == content("('nan'::DOUBLE)")
    assert content("(NULL::VARCHAR)") != content("('')")
    assert content("([NULL]::INT[])") != content("([]::INT[])")
    assert content("({'x': -0.0::DOUBLE})") != content("({'x': 0.0::DOUBLE})")
    assert content("({'x': NULL::VARCHAR})") != content("({'x': 'NULL'})")
    assert content("(MAP {'a': 1})") != content("(MAP {'a': 2})")
    assert content("(['a, b'])") != content("(['a', 'b'])")
    assert content("(1, )", "(2, )") != content("(3, )", "(0, )")


def test_a_copy_that_differs_is_never_swapped_in(
    world: World, pending: TablePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    import instar.backends.duckdb.rewrite as rewrite

    honest = rewrite._copy
    monkeypatch.setattr(rewrite, "_copy", lambda *a: honest(*a) + " WHERE id <> 7")
    with pytest.raises(VerificationFailed) as caught:
        world.run(pending)
    assert caught.value.code == "E224"
    assert "999 of 1,000" in caught.value.message
    assert "only before: (id=7" in caught.value.message
    assert rows(world) == 1000
    assert kept(world) == []


def test_rows_that_differ_are_named_by_their_key_whatever_they_hold(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    import instar.backends.duckdb.rewrite as rewrite

    world.sql("CREATE TABLE t (id INT PRIMARY KEY, m MAP(VARCHAR, DOUBLE))")
    world.sql("INSERT INTO t SELECT i, MAP {'k': i} FROM range(10) AS r (i)")
    wanted = want(
        Column("id", Integer(32), nullable=False),
        Column("m", map_of(String(), Float(64))),
        primary_key=("id",),
        constraints=(Check("few", "id < 100"),),
    )
    honest = rewrite._copy
    monkeypatch.setattr(rewrite, "_copy", lambda *a: honest(*a) + " WHERE id <> 7")
    plan = world.plan(wanted)
    with pytest.raises(VerificationFailed, match=r"only before: \(id=7\)$"):
        world.run(plan)


KILLED = """
import os, sys
sys.path[:0] = {path!r}
from backends.duckdb.test_rewrite import CHECKED
from backends.duckdb.world import World
import duckdb
world = World(duckdb.connect({database!r}))
if {change!r} == "rewrite":
    plan = world.plan(CHECKED)
else:
    from backends.duckdb.test_rewrite import WIDER
    plan = world.plan(WIDER)
world.run(plan, lambda name: os._exit(9) if name == {place!r} else None)
"""

WIDER: Wanted = want(
    Column("id", Integer(64), nullable=False), NOTE, Column("n", Integer(32)), primary_key=("id",)
)


@pytest.mark.parametrize("change", ["rewrite", "native"])
@pytest.mark.parametrize(("place", "done"), [("commit", False), ("committed", True)])
def test_killed_around_the_commit_the_file_is_whole(
    tmp_path: Path, change: str, place: str, done: bool
) -> None:
    database = tmp_path / "d.duckdb"
    setup = duckdb.connect(str(database))
    setup.execute("CREATE TABLE t (id INT, note VARCHAR)")
    setup.execute("INSERT INTO t SELECT i, 'n' || i FROM range(1000) AS r (i)")
    setup.execute("CREATE INDEX by_note ON t (note)")
    setup.close()
    script = KILLED.format(path=sys.path, database=str(database), change=change, place=place)
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert killed.returncode == 9, killed.stderr

    backend = open_duckdb(database)
    wanted = CHECKED if change == "rewrite" else WIDER
    live = backend.inspect([T])[T]
    assert isinstance(live, Table)
    assert bool(live.constraints or live.primary_key) is done
    assert len(wanted.table.columns) >= 2
    found = backend._ask("SELECT count(*), sum(id), count(DISTINCT note) FROM t")
    assert found == [(1000, 499500, 1000)]
    assert backend._ask("SELECT index_name FROM duckdb_indexes()") == [("by_note",)]
    backend.close()


@pytest.mark.parametrize("odd", ['a"b', "it's", "a.b", "plain"])
def test_an_old_table_is_counted_whatever_its_name(tmp_path: Path, odd: str) -> None:
    made = World(duckdb.connect(str(tmp_path / "names.duckdb")))
    table, old = TableName(odd, odd), TableName(odd, f"{odd}__instar_old_1")
    schema, name = quote_double(old.schema), quote_double(old.name)
    made.sql(f"CREATE SCHEMA {schema}; CREATE TABLE {schema}.{quote_double(odd)} (id INT)")
    made.sql(f"CREATE TABLE {schema}.{name} AS SELECT i AS id FROM range(5000) AS r (i)")
    made.sql("CHECKPOINT")
    keeper = made.backend.keeper()
    copies = keeper.copies(odd, [table])
    assert [(c.table, c.name) for c in copies] == [(table, old)]
    cost = keeper.counted(copies[0])
    assert cost.rows == 5000
    # The engine has no way to ask for the size of a table with a double quote in its name.
    assert (cost.bytes is None) is ('"' in odd)
    made.backend.close()
    made.connection.close()
