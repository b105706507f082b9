"""Types change on DuckDB, executed: at the top, under keys and indexes; what would be lost blocks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from backends.duckdb.world import ID, NOTE, World, filled, rows, want
from backends.world import BIG, INT, REORDER, TEXT, rung
from instar.core.findings import Severity
from instar.core.plan import Rung, Status
from instar.core.schema import Check, Hint, Unique
from instar.core.types import Column, Date, Decimal, Float, Timestamp
from instar.errors import EngineError


@pytest.mark.parametrize(
    ("old", "value", "new", "expected"),
    [
        ("INT", "5", BIG, 5),
        ("BIGINT", "5", INT, 5),
        ("VARCHAR", "' 12 '", INT, 12),
        ("INT", "5", TEXT, "5"),
        ("DOUBLE", "0.5", Float(32), 0.5),
        ("DECIMAL(10,2)", "1.50", Decimal(10, 1), 1.5),
        ("TIMESTAMP", "TIMESTAMP '2020-01-01'", Date(), date(2020, 1, 1)),
        ("DATE", "DATE '2020-01-01'", Timestamp(zone=False), datetime(2020, 1, 1)),
        (
            "VARCHAR",
            "'2020-01-01T10:00:00+02'",
            Timestamp(zone=True),
            datetime(2020, 1, 1, 8, tzinfo=UTC),
        ),
    ],
)
def test_type_change_at_the_top(
    world: World, old: str, value: str, new: object, expected: object
) -> None:
    filled(world, f"id INT, c {old}", f"(1, {value})", "(2, NULL)")
    plan = world.apply(want(ID, Column("c", new)))  # type: ignore[arg-type]
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, expected), (2, None)]


def test_narrowing_that_would_lose_is_blocked_with_the_rows(world: World) -> None:
    filled(world, "id INT PRIMARY KEY, c VARCHAR", "(1, '1.9')", "(2, '007')", "(3, 'x')")
    plan = world.plan(
        want(Column("id", INT, nullable=False), Column("c", INT), primary_key=("id",))
    )
    (finding,) = plan.findings
    assert (plan.status, finding.code, finding.count) == (Status.BLOCKED, "F201", 2)
    assert finding.witnesses == ({"id": "1", "c": "1.9"}, {"id": "3", "c": "x"})


def test_type_change_with_using_reads_other_columns(world: World) -> None:
    filled(world, "id INT, a VARCHAR, b VARCHAR", "(1, 'x', '7')")
    hints = {("a",): Hint(using="length(b) + id")}
    plan = world.apply(want(ID, Column("a", BIG), Column("b", TEXT), hints=hints))
    assert rung(plan) is Rung.REWRITE, "values that are replaced stay in the old table"
    assert rows(world) == [(1, 2, "7")]
    assert world.sql("SELECT a FROM t__instar_old_1") == [("x",)]


def test_values_of_deleted_rows_do_not_matter(world: World) -> None:
    filled(world, "id INT, c VARCHAR", "(1, 'x')", "(2, '2')", "(3, 'y')")
    world.sql("DELETE FROM t WHERE id = 3; UPDATE t SET c = '1' WHERE id = 1")
    plan = world.apply(want(ID, Column("c", INT)))
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, 1), (2, 2)]


def test_a_row_that_comes_after_the_plan_is_never_lost(world: World) -> None:
    filled(world, "id INT, c VARCHAR", "(1, '1')")
    plan = world.plan(want(ID, Column("c", INT)))
    world.sql("INSERT INTO t VALUES (2, 'x')")
    with pytest.raises(EngineError, match="would be lost") as caught:
        world.run(plan)
    assert caught.value.code == "E227"
    assert rows(world) == [(1, "1"), (2, "x")]


def test_a_date_beyond_every_timestamp_blocks_the_plan(world: World) -> None:
    filled(world, "id INT, c DATE", "(1, DATE '5000000-01-01')")
    plan = world.plan(want(ID, Column("c", Timestamp(zone=False))))
    assert [f.code for f in plan.findings] == ["F201"]
    assert world.sql("SELECT c::VARCHAR FROM t") == [("5000000-01-01",)]


def test_expressions_that_read_each_other_need_a_rewrite(world: World) -> None:
    filled(world, "id INT, a VARCHAR, b VARCHAR", "(1, 'xyz', 'q')")
    hints = {("a",): Hint(using="length(b)"), ("b",): Hint(using="length(a)")}
    plan = world.apply(want(ID, Column("a", BIG), Column("b", BIG), hints=hints))
    assert rung(plan) is Rung.REWRITE
    assert rows(world) == [(1, 1, 3)]


@pytest.mark.parametrize(
    ("ddl", "rest"),
    [
        ("id INT, c INT, PRIMARY KEY (c)", {"primary_key": ("c",)}),
        ("id INT, c INT UNIQUE", {"constraints": (Unique("u", ("c",)),)}),
        ("id INT, c INT CHECK (c > 0)", {"constraints": (Check("k", "c > 0"),)}),
    ],
)
def test_type_change_under_a_key_or_check_is_a_rewrite_that_keeps_it(
    world: World, ddl: str, rest: dict[str, object]
) -> None:
    filled(world, ddl, "(1, 2)")
    required = "primary_key" in rest
    plan = world.apply(want(ID, Column("c", BIG, nullable=not required), **rest))
    assert rung(plan) is Rung.REWRITE
    assert plan.steps[0].why_not_cheaper
    with pytest.raises(Exception, match=r"(?i)constraint"):
        world.sql("INSERT INTO t VALUES (3, 2), (4, 2), (5, -1)")


def test_type_change_of_an_indexed_column_is_a_rewrite_and_of_another_is_not(world: World) -> None:
    filled(world, "id INT, a INT, b INT", "(1, 2, 3)")
    world.sql("CREATE INDEX i ON t (a, (b + 1))")
    columns = (Column("a", INT), Column("b", INT))
    assert rung(world.apply(want(Column("id", BIG), *columns))) is Rung.STEPS
    assert rung(world.apply(want(Column("id", BIG), Column("a", BIG), columns[1]))) is Rung.REWRITE
    assert "(b + 1)" in world.sql("SELECT expressions FROM duckdb_indexes()")[0][0]


def test_a_unique_index_is_carried_by_a_rewrite(world: World) -> None:
    filled(world, "id INT, a INT", "(1, 2)")
    world.sql("CREATE UNIQUE INDEX i ON t (a)")
    light = want(ID, Column("a", INT), Column("n", BIG), hints={("n",): Hint(default="7")})
    assert rung(world.apply(light)) is Rung.STEPS
    assert (
        rung(world.apply(want(Column("id", BIG), Column("a", INT), Column("n", BIG))))
        is Rung.REWRITE
    )
    with pytest.raises(Exception, match="Duplicate key"):
        world.sql("INSERT INTO t VALUES (9, 2, 3)")
    assert rows(world) == [(1, 2, 7)]


def test_type_change_keeps_default_comment_and_not_null(world: World) -> None:
    filled(world, "id INT, c INT NOT NULL DEFAULT 5", "(1, 2)")
    world.sql("COMMENT ON COLUMN t.c IS 'why'")
    world.apply(want(ID, Column("c", BIG, nullable=False, default="5", comment="why")))
    live = world.live()
    assert live is not None
    assert live.columns[1] == Column("c", BIG, nullable=False, default="5", comment="why")


def test_a_generated_column_is_carried_through_a_rewrite(world: World) -> None:
    filled(world, "id INT, a INT, g INT GENERATED ALWAYS AS (a + 1)", "(1, 2)")
    plan = world.apply(want(ID, Column("a", BIG), Column("g", INT)))
    assert rung(plan) is Rung.REWRITE
    world.sql("INSERT INTO t VALUES (2, 9)")
    assert rows(world) == [(1, 2, 3), (2, 9, 10)]


@pytest.mark.parametrize(
    "wish",
    [Column("g", BIG), Column("g", INT, default="3"), Column("g", INT, nullable=False)],
    ids=["type", "default", "nullability"],
)
def test_a_generated_column_changes_only_its_name_and_comment(world: World, wish: Column) -> None:
    filled(world, "id INT, a INT, g INT GENERATED ALWAYS AS (a + 1)", "(1, 2)")
    (finding,) = world.plan(want(ID, Column("a", INT), wish)).findings
    assert (finding.code, finding.severity, finding.path) == ("F601", Severity.ERROR, ("g",))
    assert "'g' is generated" in finding.message
    named = want(ID, Column("a", INT), Column("h", INT, comment="twice"))
    named = replace(named, hints={("h",): Hint(renamed_from="g")})
    world.apply(named)
    assert rows(world) == [(1, 2, 3)]


def test_a_collation_is_carried_through_a_rewrite(world: World) -> None:
    filled(world, "id INT, c VARCHAR COLLATE NOCASE", "(1, 'A')")
    plan = world.apply(want(NOTE, ID, Column("c", TEXT)), REORDER)
    assert rung(plan) is Rung.REWRITE
    assert world.sql("SELECT id FROM t WHERE c = 'a'") == [(1,)]


def test_a_collated_column_is_filled_by_a_rewrite_and_may_become_a_number(world: World) -> None:
    filled(world, "id INT, c VARCHAR COLLATE NOCASE", "(1, 'A')", "(2, NULL)")
    hints = {("c",): Hint(default="'7'")}
    plan = world.apply(want(ID, Column("c", TEXT, nullable=False), hints=hints))
    assert rung(plan) is Rung.REWRITE
    assert world.sql("SELECT id FROM t WHERE c = 'a'") == [(1,)]
    world.sql("DELETE FROM t WHERE id = 1")
    assert rung(world.apply(want(ID, Column("c", INT, nullable=False)))) is Rung.STEPS
    assert rows(world) == [(2, 7)]
