"""What is declared and what the catalog reports have one spelling, so that a second plan is empty."""

from __future__ import annotations

import pytest

from backends.duckdb.world import World, want
from backends.world import EVERYTHING, INT
from instar.backends.duckdb.spelling import spelled
from instar.core.findings import Severity
from instar.core.plan import Status
from instar.core.schema import Check, Hint, Table, Wanted
from instar.core.types import (
    Boolean,
    Column,
    Date,
    Decimal,
    Float,
    Interval,
    String,
    Struct,
    Timestamp,
    Type,
    Uuid,
    array,
    struct,
)
from instar.expressions import BadExpression

DEFAULTS: list[tuple[Type, str]] = [
    (INT, "5"),
    (INT, "-1"),
    (INT, "(1+2)*3"),
    (INT, "'7'"),
    (String(), "'it''s'"),
    (String(), "upper('a')"),
    (String(), "cast('x' as varchar)"),
    (String(), "''"),
    (Boolean(), "true"),
    (Boolean(), "FALSE"),
    (Decimal(10, 2), "1.50"),
    (Float(64), "1e3"),
    (Float(64), "1e-10"),
    (Date(), "DATE '2020-01-01'"),
    (Date(), "current_date"),
    (Timestamp(zone=False), "now()"),
    (Timestamp(zone=True), "CURRENT_TIMESTAMP"),
    (Interval(), "INTERVAL 1 DAY"),
    (Uuid(), "uuid()"),
    (array(INT), "[1, 2]"),
    (struct(Column("x", INT)), "{'x': 1}"),
    (INT, "CASE WHEN true THEN 1 ELSE 2 END"),
    (INT, "NULL"),
    (INT, "coalesce(NULL, 3)"),
]


@pytest.mark.parametrize(("type_", "default"), DEFAULTS, ids=[d for _, d in DEFAULTS])
def test_a_default_is_no_change_once_it_is_there(world: World, type_: Type, default: str) -> None:
    world.apply(want(Column("id", INT), Column("c", type_, default=default)))
    world.apply(want(Column("id", INT), Column("c", type_)))
    world.apply(want(Column("id", INT), Column("c", type_, default=default)))


CHECKS = [
    "a > 0",
    "A>0 and B <> 'q'",
    "not (a = 4)",
    "a BETWEEN 1 AND 9 OR b LIKE 'x%'",
    "a in (1, 2, 3)",
    "a NOT IN (1)",
    "b ilike 'x' OR b ~ '^a+$'",
    "length(b) < 10 /* short */",
    "s.x > 1",
    '"order" IS NOT NULL',
    "a::BIGINT > 0",
    "CASE WHEN a > 1 THEN b IS NOT NULL ELSE true END",
    "d >= DATE '2020-01-01'",
    "extract(year FROM d) > 2000",
    "len(l) > 0",
    "coalesce(a, 0) % 2 = 0",
    "a IS DISTINCT FROM 3",
    "TRUE",
]


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_is_no_change_once_it_is_there(world: World, check: str) -> None:
    columns = (
        Column("a", INT),
        Column("b", String()),
        Column("s", struct(Column("x", INT))),
        Column("order", INT),
        Column("d", Date()),
        Column("l", array(INT)),
    )
    world.apply(want(*columns, constraints=(Check("k", check),)))
    world.apply(want(*columns))
    world.apply(want(*columns, constraints=(Check("k", check), Check("two", "a < 99"))))


@pytest.mark.parametrize(
    "text",
    [
        "a, b",
        "a;",
        "a; SELECT 1",
        "a FROM t",
        "1 AS b",
        "*",
        "DISTINCT a",
        "a LIMIT 1",
        "a UNION SELECT 2",
        "",
        "a)",
        "(a",
        "a) FROM t; DROP TABLE t; --",
        "a WHERE b",
        "SELECT a",
    ],
)
def test_more_than_one_expression_is_refused(world: World, text: str) -> None:
    with pytest.raises(BadExpression):
        spelled(text, ("a", "b"))
    world.sql("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2)")
    plain = (Column("a", INT), Column("b", INT))
    for wanted in (
        want(*plain, Column("c", INT), hints={("c",): Hint(using=text)}),
        want(*plain, Column("c", INT), hints={("c",): Hint(default=text)}),
        want(*plain, Column("c", INT, default=text)),
        want(*plain, constraints=(Check("k", text),)),
    ):
        plan = world.plan(wanted, EVERYTHING)
        assert plan.status is Status.BLOCKED
        assert "F606" in [f.code for f in plan.findings]
    assert world.sql("SELECT * FROM t") == [(1, 2)]


def test_a_column_that_is_not_there_is_named(world: World) -> None:
    world.sql("CREATE TABLE t (a INT)")
    hints = {("c",): Hint(using="nope + 1")}
    plan = world.plan(want(Column("a", INT), Column("c", INT), hints=hints))
    (finding,) = [f for f in plan.findings if f.code == "F606"]
    assert "nope + 1" in finding.message
    assert finding.hint == "It reads the row as it is live: a."
    plan = world.plan(want(Column("a", INT), constraints=(Check("k", "nope > 1"),)))
    assert any("nope > 1" in f.message for f in plan.findings if f.code == "F606")


def test_a_field_that_is_read_as_a_column_is_told_how_it_is_written(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, s STRUCT(a INT))")
    wish = Struct((Column("a", INT), Column("b", INT)))
    hints = {("s", "b"): Hint(default="a + 1")}
    (finding,) = world.plan(want(Column("id", INT), Column("s", wish), hints=hints)).findings
    assert (finding.code, finding.hint) == (
        "F606",
        "It reads the row as it is live: id, s; a field as s.field.",
    )


@pytest.mark.parametrize("check", ["a > (SELECT 1)", "len(list_filter([a], lambda x: x > 0)) > 0"])
def test_a_check_that_duckdb_cannot_hold_blocks_before_anything_runs(
    world: World, check: str
) -> None:
    plan = world.plan(want(Column("a", INT), constraints=(Check("k", check),)))
    assert [f.code for f in plan.findings] == ["F606"]


def test_a_helper_that_was_used_may_name_what_is_gone(world: World) -> None:
    world.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (3)")
    world.apply(want(Column("b", INT), hints={("b",): Hint(using="a + 1")}))
    assert world.sql("SELECT * FROM t") == [(4,)]


def test_a_default_that_its_column_cannot_hold_is_refused(world: World) -> None:
    plan = world.plan(want(Column("a", INT, default="'abc'")))
    assert [(f.code, f.severity) for f in plan.findings] == [("F606", Severity.ERROR)]


@pytest.mark.parametrize("text", ["random()", "a + CAST(random() AS INT)", "nextval('s')"])
def test_what_answers_differently_each_time_is_refused(world: World, text: str) -> None:
    world.sql("CREATE TABLE t (a INT)")
    plan = world.plan(want(Column("a", INT), Column("c", INT), hints={("c",): Hint(using=text)}))
    assert [f.code for f in plan.findings] == ["F607"]


def test_now_is_one_moment_and_may_fill_a_new_column(world: World) -> None:
    world.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)")
    hints = {("c",): Hint(default="now()")}
    world.apply(want(Column("a", INT), Column("c", Timestamp(zone=True)), hints=hints))
    assert world.sql("SELECT count(DISTINCT c) FROM t") == [(1,)]


def test_a_subquery_is_computed_in_a_rewrite(world: World) -> None:
    world.sql("CREATE TABLE rate (r INT); INSERT INTO rate VALUES (3)")
    world.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (2)")
    hints = {("c",): Hint(using="a * (SELECT max(r) FROM rate)")}
    world.apply(want(Column("a", INT), Column("c", INT), hints=hints))
    assert world.sql("SELECT * FROM t") == [(2, 6)]


def test_two_checks_of_one_column_are_told_apart(world: World) -> None:
    both = (Check("low", "a > 0"), Check("high", "a < 9"))
    world.apply(want(Column("a", INT), constraints=both))
    world.apply(want(Column("a", INT), constraints=both[1:]))
    world.sql("INSERT INTO t VALUES (-5)")
    live = world.live()
    assert live is not None
    assert [c.expression for c in live.constraints if isinstance(c, Check)] == ['("a" < 9)']


def test_what_has_no_place_in_duckdb_is_said_and_left_out(world: World) -> None:
    table = Table(
        want(Column("a", INT)).table.name,
        (Column("a", INT),),
        cluster_by=("a",),
        partition_by=("a",),
        properties={"x": "y"},
        change_tracking=True,
    )
    plan = world.apply(Wanted(table))
    assert [(f.code, f.severity) for f in plan.findings] == [
        ("F604", Severity.INFO),
        ("F604", Severity.INFO),
        ("F604", Severity.INFO),
        ("F604", Severity.INFO),
    ]


def test_nested_not_null_is_said_at_its_path(world: World) -> None:
    inner = Struct((Column("x", INT, nullable=False),))
    plan = world.plan(want(Column("s", inner)))
    assert [(f.code, f.path) for f in plan.findings] == [("F603", ("s", "x"))]


@pytest.mark.parametrize("text", ["zq0zq", "zq0q", "zqz0q", "ZQ1Q", "zq", "zqzzq0q"])
def test_a_literal_is_never_taken_for_a_name(text: str) -> None:
    names = ("a", "b", "zq0zq", "zq1q")
    found = spelled(f"a || '{text}' <> b", names)
    assert found.text == f"""(("a" || '{text}') != "b")"""
    renamed = spelled(f"a || zq0zq = '{text}'", names, {"a": "zq1zq", "zq0zq": "zq0q"})
    assert renamed.text == f"""(("zq1zq" || "zq0q") = '{text}')"""
