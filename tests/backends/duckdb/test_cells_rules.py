"""NOT NULL, defaults, keys, CHECKs and foreign keys on DuckDB, executed."""

from __future__ import annotations

import pytest

from backends.duckdb.world import ID, NOTE, World, filled, rows, want
from backends.world import BIG, EVERYTHING, INT, REORDER, TEXT, rung
from instar.core.plan import Rung, Status
from instar.core.policy import Policy
from instar.core.schema import Check, Hint, Unique
from instar.core.types import Column

# --- rules ---


def test_nullability_both_ways(world: World) -> None:
    filled(world, "id INT, c INT", "(1, 2)", "(2, NULL)")
    required = want(ID, Column("c", INT, nullable=False))
    plan = world.plan(required)
    assert [(f.code, f.count) for f in plan.findings] == [("F203", 1)]
    hints = {("c",): Hint(default="id * 100")}
    plan = world.apply(want(ID, Column("c", INT, nullable=False), hints=hints))
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, 2), (2, 200)]
    assert rung(world.apply(want(ID, Column("c", INT)))) is Rung.METADATA


def test_required_right_after_an_update_by_someone_else(world: World) -> None:
    filled(world, "id INT, c INT", "(1, NULL)")
    world.sql("UPDATE t SET c = 5")
    world.apply(want(ID, Column("c", INT, nullable=False)))


def test_defaults_and_comments(world: World) -> None:
    filled(world, "id INT, c INT DEFAULT 3")
    world.sql("CREATE INDEX i ON t (c)")
    plan = world.apply(want(ID, Column("c", INT, default="4", comment="it's"), comment="a table"))
    assert rung(plan) is Rung.METADATA
    live = world.live()
    assert live is not None
    assert (live.comment, live.columns[1].comment) == ("a table", "it's")
    world.apply(want(ID, Column("c", INT, comment=""), comment=""))
    live = world.live()
    assert live is not None
    assert (live.comment, live.columns[1]) == (None, Column("c", INT))


def test_primary_key_comes_natively_and_changes_by_rewrite(world: World) -> None:
    filled(world, "id INT, c INT", "(1, 2)", "(2, 2)")
    plan = world.apply(
        want(Column("id", INT, nullable=False), Column("c", INT), primary_key=("id",))
    )
    assert rung(plan) is Rung.STEPS
    both = want(
        Column("id", INT, nullable=False),
        Column("c", INT, nullable=False),
        primary_key=("id", "c"),
    )
    assert rung(world.apply(both)) is Rung.REWRITE
    assert rung(world.apply(want(ID, Column("c", INT)))) is Rung.REWRITE


@pytest.mark.parametrize("declared", ["id", "ID", "number"])
def test_an_undeclared_primary_key_that_stays_keeps_its_columns_required(
    world: World, declared: str
) -> None:
    filled(world, "id INT PRIMARY KEY, c INT", "(1, 2)")
    hints = {("number",): Hint(renamed_from="id")} if declared == "number" else None
    wanted = want(Column(declared, INT), Column("c", INT), NOTE, hints=hints)
    plan = world.apply(wanted, Policy())
    assert "F103" in [f.code for f in plan.findings]
    assert rung(plan) is Rung.METADATA
    live = world.live()
    assert live is not None
    assert len(live.primary_key) == 1
    assert [c.nullable for c in live.columns] == [False, True, True]
    done = plan.renames
    assert rung(world.apply(wanted, EVERYTHING, done)) is Rung.REWRITE
    live = world.live()
    assert live is not None
    assert live.primary_key == ()
    assert [c.nullable for c in live.columns] == [True, True, True]


def test_a_primary_key_over_duplicates_or_nulls_is_blocked(world: World) -> None:
    filled(world, "id INT, c INT", "(1, 1)", "(1, 2)", "(NULL, 3)", "(4, 4)")
    plan = world.plan(
        want(Column("id", INT, nullable=False), Column("c", INT), primary_key=("id",))
    )
    assert {f.code: f.count for f in plan.findings} == {"F203": 1, "F301": 2}


def test_check_and_unique_come_and_go_by_rewrite(world: World) -> None:
    filled(world, "id INT, c INT", "(1, 2)", "(2, NULL)")
    rules = (Check("positive", "c > 0"), Unique("one", ("id",)))
    plan = world.apply(want(ID, Column("c", INT), constraints=rules))
    assert rung(plan) is Rung.REWRITE
    with pytest.raises(Exception, match="CHECK"):
        world.sql("INSERT INTO t VALUES (3, -1)")
    with pytest.raises(Exception, match="Duplicate key"):
        world.sql("INSERT INTO t VALUES (1, 1)")
    assert rung(world.apply(want(ID, Column("c", INT)))) is Rung.REWRITE
    world.sql("INSERT INTO t VALUES (1, -1)")


def test_a_check_that_rows_break_is_blocked_with_them(world: World) -> None:
    filled(world, "id INT, c INT", "(1, -2)", "(2, NULL)", "(3, 3)")
    plan = world.plan(want(ID, Column("c", INT), constraints=(Check("positive", "c > 0"),)))
    (finding,) = plan.findings
    assert (finding.code, finding.count) == ("F302", 1)
    assert finding.witnesses == ({"rowid": "0", "id": "1", "c": "-2"},)


def test_reorder_is_a_rewrite(world: World) -> None:
    filled(world, "id INT, a INT, b VARCHAR", "(1, 2, 'x')")
    plan = world.apply(want(Column("b", TEXT), ID, Column("a", INT)), REORDER)
    assert rung(plan) is Rung.REWRITE
    assert rows(world) == [("x", 1, 2)]


def test_a_rewrite_waits_for_permission(world: World) -> None:
    filled(world, "id INT, c INT")
    plan = world.plan(want(ID, Column("c", INT), constraints=(Check("k", "c > 0"),)), Policy())
    assert (plan.status, [f.code for f in plan.findings]) == (Status.BLOCKED, ["F501"])


# --- foreign keys ---


def test_a_table_that_others_refer_to_takes_only_what_duckdb_can_do(world: World) -> None:
    world.sql("CREATE TABLE t (id INT PRIMARY KEY, c INT)")
    world.sql("CREATE TABLE child (t_id INT REFERENCES t (id))")
    world.sql("INSERT INTO t VALUES (1, 2); INSERT INTO child VALUES (1)")
    key = Column("id", INT, nullable=False)
    added = want(
        key,
        Column("c", INT, default="3"),
        Column("n", INT),
        Column("filled", BIG),
        primary_key=("id",),
        hints={("filled",): Hint(default="8")},
    )
    world.apply(added)
    assert rows(world) == [(1, 2, None, 8)]
    for wanted in (
        want(key, Column("c", BIG), primary_key=("id",)),
        want(key, primary_key=("id",)),
        want(key, Column("d", INT), primary_key=("id",), hints={("d",): Hint(renamed_from="c")}),
        want(key, Column("c", INT), primary_key=("id",), constraints=(Check("k", "c > 0"),)),
    ):
        plan = world.plan(wanted)
        assert plan.status is Status.BLOCKED
        assert "main.child" in next(f.message for f in plan.findings if f.code == "F601")


def test_a_table_with_a_foreign_key_is_never_rewritten(world: World) -> None:
    world.sql("CREATE TABLE parent (id INT PRIMARY KEY)")
    world.sql("CREATE TABLE t (id INT, p INT REFERENCES parent (id), c INT)")
    columns = (ID, Column("p", INT))
    assert rung(world.apply(want(*columns, Column("c", BIG)))) is Rung.STEPS
    for wanted in (
        want(*columns, Column("c", BIG), constraints=(Check("k", "c > 0"),)),
        want(ID, Column("p", BIG), Column("c", BIG)),
    ):
        plan = world.plan(wanted, EVERYTHING)
        assert plan.status is Status.BLOCKED
        assert "foreign key" in next(f.message for f in plan.findings if f.code == "F601")
