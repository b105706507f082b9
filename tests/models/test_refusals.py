"""What a model is refused for, and in which words."""

from __future__ import annotations

import pytest

from instar.errors import ProjectError
from models.world import World, errors, told

MERGE = "materialization: incremental\nincremental: {unique_key: id}\n"

NAMELESS = {
    "a row": "row(1, 'x')",
    "a list of rows": "[row(TIMESTAMPTZ '2024-01-01', 1)]",
    "a row in a struct": "{'a': row(1.5, [2])}",
}


@pytest.mark.parametrize("value", NAMELESS.values(), ids=NAMELESS.keys())
def test_a_row_without_field_names_is_that_models_error(world: World, value: str) -> None:
    world.model("bad", f"SELECT 1 AS id,\n  {value} AS r", "tags: [x]")
    world.model("well", "SELECT 1 AS id")
    plans = {t.table.name: t for t in world.plan().tables}
    assert errors(plans["bad"]) == ["F702"]
    (finding,) = plans["bad"].findings
    assert "the fields of 'r' have no names" in finding.message
    assert str(finding.where).startswith("models/bad.sql:5")
    assert errors(plans["well"]) == []


def test_a_view_outside_that_returns_such_a_row(world: World) -> None:
    world.sql("CREATE VIEW odd AS SELECT 1 AS id, row(1, 'x') AS r")
    world.model("well", "SELECT id FROM odd")
    world.model("bad", "SELECT r FROM odd")
    plans = {t.table.name: errors(t) for t in world.plan().tables}
    assert plans == {"bad": ["F702"], "well": []}


@pytest.mark.parametrize("value", ["now()", "random()", "uuid()"])
def test_a_default_that_is_no_constant(world: World, value: str) -> None:
    front = f"{MERGE}columns: {{x: {{default: {value}}}}}"
    world.model("m", f"SELECT 1 AS id, {value} AS x", front)
    with pytest.raises(ProjectError) as raised:
        world.plan()
    assert raised.value.code == "E158"
    assert raised.value.message == "the default of 'x' gives another value each time it is asked"
    assert str(raised.value.where).startswith("models/m.sql:4")


TEMPLATES = ["SELECT id FROM {{ ref('a') }}", "{% if a %} SELECT 1 AS id {% endif %}"]


@pytest.mark.parametrize("text", TEMPLATES)
def test_a_template_is_no_sql(world: World, text: str) -> None:
    world.model("m", text)
    with pytest.raises(ProjectError) as raised:
        world.plan()
    assert raised.value.code == "E151"
    assert "Token" not in raised.value.message
    assert "a model is plain SQL" in (raised.value.hint or "")


WORDS = {
    "a type without a way": (
        "DATE '2024-01-01' AS d",
        "5 AS d",
        "",
        "F701 Schema evolution requires full refresh for model 'm':"
        " 'd' cannot be migrated from DATE to INT.",
    ),
    "a backfill with a query": (
        "1 AS x",
        "1 AS x, 5 AS d",
        "columns: {d: {backfill: '(SELECT 1)'}}",
        "F701 Schema evolution requires full refresh for model 'm': an expression with a subquery, a"
        " window function or TRY is computed in a copy only.",
    ),
    "a backfill by chance": (
        "1 AS x",
        "1 AS x, 0.5::DOUBLE AS d",
        "columns: {d: {backfill: 'random() + x'}}",
        "F607 [main.m] the backfill of 'd' answers differently each time: random.",
    ),
    "a backfill of many rows": (
        "1 AS x",
        "1 AS x, 5 AS d",
        "columns: {d: {backfill: 'sum(x)'}}",
        "F606 [main.m] the backfill of 'd' is not an expression that DuckDB can use: sum(x) (sum does"
        " not give one value for each row).",
    ),
}


@pytest.mark.parametrize("case", WORDS.values(), ids=WORDS.keys())
def test_the_words_are_those_of_a_model(world: World, case: tuple[str, str, str, str]) -> None:
    before, after, front, expected = case
    world.model("m", f"SELECT 1 AS id, {before}", MERGE)
    world.run()
    world.model("m", f"SELECT 1 AS id, {after}", MERGE + front)
    assert told(world.plan()) == [expected]


def test_a_name_that_instar_keeps_for_itself(world: World) -> None:
    world.model("b__instar_old_1", "SELECT 1 AS id")
    with pytest.raises(ProjectError) as raised:
        world.plan()
    assert raised.value.code == "E137"


def test_a_file_that_begins_with_underscores_is_a_model(world: World) -> None:
    world.model("__m", "SELECT 1 AS id")
    assert [t.table.name for t in world.plan().tables] == ["__m"]


WORDS = {
    "a smaller number": ("7::BIGINT", "7::INT", "narrowed from BIGINT to INT"),
    "a date with a time": (
        "DATE '2024-01-01'",
        "TIMESTAMP '2024-01-01'",
        "changed from DATE to TIMESTAMP_NTZ, which does not hold every DATE",
    ),
    "a number with a fraction": (
        "7::BIGINT",
        "7::DOUBLE",
        "changed from BIGINT to DOUBLE, which does not hold every BIGINT",
    ),
    "other digits": (
        "7::DECIMAL(10, 2)",
        "7::DECIMAL(10, 4)",
        "changed from DECIMAL(10, 2) to DECIMAL(10, 4), which does not hold every DECIMAL(10, 2)",
    ),
    "a text that is JSON": (
        "'7'",
        "'7'::JSON",
        "changed from STRING to JSON, which does not hold every STRING",
    ),
}


@pytest.mark.parametrize("case", WORDS.values(), ids=WORDS.keys())
def test_a_type_is_called_narrower_only_where_it_is(
    world: World, case: tuple[str, str, str]
) -> None:
    before, after, words = case
    world.model("m", f"SELECT {before} AS x")
    world.run()
    world.model("m", f"SELECT {after} AS x")
    (finding,) = (f for f in world.table("m").findings if f.code == "F701")
    assert f"'x' would be {words}." in finding.message
