"""Columns come, go and get other names on DuckDB, executed: the rung, the rows, an empty second plan."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from backends.duckdb.world import ID, NOTE, World, filled, rows, want
from backends.world import BIG, INT, REORDER, TEXT, rung
from instar.core.plan import Rung, Status
from instar.core.policy import Policy
from instar.core.schema import Check, Hint, Unique
from instar.core.types import Column, struct

# --- columns come ---


def test_add_nullable(world: World) -> None:
    filled(world, "id INT", "(1)")
    plan = world.apply(want(ID, NOTE))
    assert rung(plan) is Rung.METADATA
    assert plan.steps[0].id == "main.t/1"
    assert plan.steps[0].title == "add column note"
    assert rows(world) == [(1, None)]


def test_add_with_a_lasting_default(world: World) -> None:
    filled(world, "id INT", "(1)")
    world.apply(want(ID, Column("n", INT, default="7")))
    world.sql("INSERT INTO t (id) VALUES (2)")
    assert rows(world) == [(1, 7), (2, 7)]


def test_add_required_with_a_helper_leaves_no_default(world: World) -> None:
    filled(world, "id INT", "(1)", "(2)")
    hints = {("n",): Hint(default="5")}
    plan = world.apply(want(ID, Column("n", BIG, nullable=False), hints=hints))
    assert rung(plan) is Rung.STEPS
    assert len(plan.steps) == 1
    assert rows(world) == [(1, 5), (2, 5)]
    assert world.sql("SELECT column_default FROM duckdb_columns() WHERE column_name = 'n'") == [
        (None,)
    ]


def test_add_computed_from_the_old_row(world: World) -> None:
    filled(world, "id INT, s STRUCT(x INT)", "(1, {'x': 10})", "(2, NULL)")
    hints = {("n",): Hint(using="id + s.x -- the sum"), ("m",): Hint(using="id * 2")}
    world.apply(
        want(
            ID,
            Column("s", struct(Column("x", INT))),
            Column("n", BIG),
            Column("m", INT, nullable=False),
            hints=hints,
        )
    )
    assert rows(world) == [(1, {"x": 10}, 11, 2), (2, None, None, 4)]


def test_an_expression_that_would_round_is_caught(world: World) -> None:
    filled(world, "id INT", "(1)", "(2)")
    plan = world.plan(want(ID, Column("n", INT), hints={("n",): Hint(using="id / 2")}))
    finding = plan.findings[0]
    assert (finding.code, finding.count) == ("F202", 1)
    assert finding.witnesses == ({"rowid": "0", "id": "1", "n": "0.5"},)


def test_add_required_without_a_value_needs_an_empty_table(world: World) -> None:
    filled(world, "id INT")
    wanted = want(ID, Column("n", INT, nullable=False))
    world.apply(wanted)
    world.sql("DROP TABLE t")
    filled(world, "id INT", "(1)", "(2)")
    plan = world.plan(wanted)
    assert plan.status is Status.BLOCKED
    assert plan.findings[0].message == (
        "[main.t] cannot add NOT NULL column 'n' without a default value on a non-empty table."
    )
    assert plan.findings[0].count == 2


def test_add_in_the_middle_goes_last_unless_the_order_is_asked_for(world: World) -> None:
    filled(world, "id INT, note VARCHAR", "(1, 'a')")
    wanted = want(ID, Column("mid", INT), NOTE)
    assert rung(world.plan(wanted)) is Rung.METADATA
    plan = world.apply(wanted, REORDER)
    assert rung(plan) is Rung.REWRITE
    assert rows(world) == [(1, None, "a")]


def test_a_volatile_lasting_default_gives_each_row_its_own(world: World) -> None:
    filled(world, "id INT", "(1)", "(2)")
    world.apply(want(ID, Column("u", TEXT, default="CAST(uuid() AS VARCHAR)")))
    assert world.sql("SELECT count(DISTINCT u) FROM t") == [(2,)]


# --- columns go ---


def test_drop(world: World) -> None:
    filled(world, "id INT, note VARCHAR", "(1, 'a')")
    plan = world.apply(want(ID))
    step = plan.steps[0]
    assert (step.rung, step.destructive, step.reversible) == (Rung.METADATA, True, False)
    assert step.confirm == "drops note: the values are lost"
    assert rows(world) == [(1,)]


def test_drop_is_not_done_unless_asked_for(world: World) -> None:
    filled(world, "id INT, note VARCHAR", "(1, 'a')")
    plan = world.plan(want(ID), Policy())
    assert plan.steps == ()
    assert [f.code for f in plan.findings] == ["F102"]


def test_drop_of_an_indexed_column_takes_its_index_along_and_says_so(world: World) -> None:
    filled(world, "id INT, a INT, b INT", "(1, 2, 3)")
    world.sql("CREATE INDEX on_a ON t (a); CREATE UNIQUE INDEX on_b ON t (b)")
    plan = world.apply(want(ID, Column("b", INT)))
    assert rung(plan) is Rung.REWRITE
    assert "Not in the new table: a, the index on_a" in str(plan.steps[0].confirm)
    assert world.sql("SELECT index_name, is_unique FROM duckdb_indexes()") == [("on_b", True)]


def test_drop_of_a_column_before_an_indexed_one_is_a_rewrite(world: World) -> None:
    filled(world, "id INT, a INT, b INT", "(1, 2, 3)")
    world.sql("CREATE INDEX on_b ON t (b)")
    plan = world.apply(want(ID, Column("b", INT)))
    assert rung(plan) is Rung.REWRITE
    assert world.sql("SELECT * FROM t WHERE b = 3") == [(1, 3)]


@pytest.mark.parametrize("key", ["PRIMARY KEY", "UNIQUE"])
def test_drop_of_a_column_before_a_key_is_a_rewrite(world: World, key: str) -> None:
    filled(world, f"a INT, id INT {key}", "(1, 2)")
    primary = key == "PRIMARY KEY"
    rest = {"primary_key": ("id",)} if primary else {"constraints": (Unique("u", ("id",)),)}
    plan = world.apply(want(Column("id", INT, nullable=not primary), **rest))
    assert rung(plan) is Rung.REWRITE
    assert rows(world) == [(2,)]


def test_drop_of_a_column_before_a_foreign_key_is_refused_in_the_plan(world: World) -> None:
    world.sql("CREATE TABLE parent (id INT PRIMARY KEY)")
    filled(world, "a INT, id INT REFERENCES parent (id)")
    assert world.plan(want(ID)).status is Status.BLOCKED


def test_a_computed_column_may_become_the_key(world: World) -> None:
    filled(world, "a VARCHAR", "('1')", "('2')")
    key = Column("id", INT, nullable=False)
    hints = {("id",): Hint(using="CAST(a AS INT)")}
    world.apply(want(Column("a", TEXT), key, hints=hints, primary_key=("id",)))
    assert rows(world) == [("1", 1), ("2", 2)]


def test_an_index_that_was_only_read_from_disk_is_in_nobodys_way(tmp_path: Path) -> None:
    """DuckDB ends the process at COMMIT when such an index is dropped beside a rename."""
    with duckdb.connect(tmp_path / "d.duckdb") as made:
        made.execute("CREATE TABLE t (id INT, a INT)")
        made.execute("INSERT INTO t VALUES (1, 2)")
        made.execute("CREATE INDEX on_a ON t (a)")
    with duckdb.connect(tmp_path / "d.duckdb") as connection:
        world = World(connection)
        world.apply(want(ID, Column("b", INT), hints={("b",): Hint(renamed_from="a")}))
        assert world.sql("SELECT * FROM t WHERE b = 2") == [(1, 2)]


@pytest.mark.parametrize(
    ("ddl", "rest"),
    [
        ("id INT, a INT, PRIMARY KEY (id, a)", {"primary_key": ("id",)}),
        ("id INT, a INT UNIQUE", {}),
        ("id INT, a INT, CHECK (id < a)", {}),
    ],
)
def test_drop_of_a_column_that_a_rule_names_is_a_rewrite(
    world: World, ddl: str, rest: dict[str, tuple[str, ...]]
) -> None:
    filled(world, ddl, "(1, 2)")
    plan = world.apply(want(Column("id", INT, nullable=not rest), **rest))
    assert rung(plan) is Rung.REWRITE
    assert rows(world) == [(1,)]


def test_drop_of_a_column_takes_its_own_check_along_natively(world: World) -> None:
    filled(world, "id INT, a INT, CHECK (a > 0)", "(1, 2)")
    plan = world.apply(want(ID))
    assert rung(plan) is Rung.METADATA


# --- names ---


def test_rename_keeps_index_check_and_generated_column(world: World) -> None:
    filled(world, "id INT, a INT CHECK (a > 0), g INT GENERATED ALWAYS AS (a + 1)")
    world.sql("CREATE INDEX i ON t (a); INSERT INTO t VALUES (1, 2)")
    plan = world.apply(
        want(
            ID,
            Column("order", INT),
            Column("g", INT),
            hints={("order",): Hint(renamed_from="a")},
            constraints=(Check("positive", '"order" > 0'),),
        )
    )
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, 2, 3)]
    assert world.sql("SELECT expressions FROM duckdb_indexes()") == [("['\"order\"']",)]


def test_swap_and_chain_of_names(world: World) -> None:
    filled(world, "id INT, a INT, b INT, c INT", "(1, 2, 3, 4)")
    swap = {("a",): Hint(renamed_from="b"), ("b",): Hint(renamed_from="a")}
    wanted = want(ID, Column("b", INT), Column("a", INT), Column("c", INT), hints=swap)
    world.apply(wanted)
    assert world.sql("SELECT a, b, c FROM t") == [(3, 2, 4)]
    chain = {("d",): Hint(renamed_from="c"), ("c",): Hint(renamed_from="a")}
    world.apply(want(ID, Column("b", INT), Column("c", INT), Column("d", INT), hints=chain))
    assert world.sql("SELECT b, c, d FROM t") == [(2, 3, 4)]


def test_a_new_column_may_take_the_name_that_a_rename_sets_free(world: World) -> None:
    filled(world, "id INT, a INT", "(1, 2)")
    hints = {("b",): Hint(renamed_from="a"), ("a",): Hint(using="a * 10")}
    world.apply(want(ID, Column("b", INT), Column("a", BIG), hints=hints))
    assert world.sql("SELECT a, b FROM t") == [(20, 2)]


def test_rename_that_changes_only_the_case(world: World) -> None:
    filled(world, "id INT, s STRUCT(x INT)", "(1, {'x': 2})")
    hints = {("S",): Hint(renamed_from="s"), ("S", "X"): Hint(renamed_from="x")}
    world.apply(want(ID, Column("S", struct(Column("X", INT))), hints=hints))
    live = world.live()
    assert live is not None
    assert live.columns[1] == Column("S", struct(Column("X", INT)))
    assert world.sql("SELECT s FROM t") == [({"X": 2},)]


def test_another_case_without_a_declared_rename_is_no_change(world: World) -> None:
    filled(world, "id INT PRIMARY KEY, Note VARCHAR, CHECK (Note <> ''), UNIQUE (note)")
    plan = world.plan(
        want(
            Column("ID", INT, nullable=False),
            Column("NOTE", TEXT),
            primary_key=("ID",),
            constraints=(Check("c", "NOTE <> ''"), Unique("u", ("NOTE",))),
        )
    )
    assert plan.steps == ()
