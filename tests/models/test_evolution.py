"""Seed 004 row by row on DuckDB: a model changes, its table follows, and holds what a rebuild would.

Each case starts from a table that the first query made and filled, changes the query, and compares the
evolved table with the rows that are expected of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from instar import Plan, TablePlan
from instar.core.plan import Rung
from instar.errors import ProjectError
from models.world import World, errors, policy


@dataclass(frozen=True)
class Case:
    """`before` and `after` are the select lists over src; `rows` is the table once it has evolved."""

    before: str
    after: str
    rows: list[Any]
    front: str = ""
    flags: tuple[str, ...] = ()
    type: str = ""


SAFE = {
    "add a nullable column": Case("id", "id, name", [(1, None), (2, None)]),
    "add two columns": Case("id", "id, name, n AS x", [(1, None, None), (2, None, None)]),
    "add a column in the middle": Case("id, n", "id, name, n", [(1, 10, None), (2, 20, None)]),
    "add a NOT NULL column with default": Case(
        "id",
        "id, name AS status",
        [(1, "pending"), (2, "pending")],
        "columns: {status: {default: \"'pending'\", nullable: false}}",
    ),
    "add a column with a backfill": Case(
        "id, n",
        "id, n, n * 2 AS twice",
        [(1, 10, 20), (2, 20, 40)],
        "columns: {twice: {backfill: n * 2}}",
    ),
    "a backfill may name its own column": Case(
        "id",
        "id, name AS status",
        [(1, "unknown"), (2, "unknown")],
        "columns: {status: {backfill: \"CASE WHEN status IS NULL THEN 'unknown' ELSE status END\"}}",
    ),
    "a backfill over a default": Case(
        "id",
        "id, name AS status",
        [(1, "new!"), (2, "new!")],
        "columns: {status: {default: \"'new'\", backfill: \"status || '!'\"}}",
    ),
    "a backfill over another new column": Case(
        "id, n",
        "id, n, n + 1 AS a, n + 2 AS b",
        [(1, 10, 11, 12), (2, 20, 21, 22)],
        "columns: {a: {backfill: n + 1}, b: {backfill: a + 1}}",
    ),
    "a backfill in Spark's dialect": Case(
        "id, name",
        "id, name, upper(name) AS shout",
        [(1, "ann", "x-ann"), (2, "bob", "x-bob")],
        "columns: {shout: {backfill: \"concat_ws('-', 'x', name)\"}}",
    ),
    "widen a scalar": Case("id, n", "id, n::BIGINT AS n", [(1, 10), (2, 20)], type="BIGINT"),
    "widen a decimal": Case(
        "id, 1.5::DECIMAL(10,2) AS n",
        "id, n::DECIMAL(14,4) AS n",
        [(1, 1.5), (2, 1.5)],
        type="DECIMAL(14,4)",
    ),
    "rename": Case("id, n", "id, n AS m", [(1, 10), (2, 20)], "columns: {m: {renamed_from: n}}"),
    "add a field to a struct": Case(
        "id, {'name': name, 'age': n} AS p",
        "id, {'name': name, 'age': n, 'mail': name} AS p",
        [
            (1, {"name": "ann", "age": 10, "mail": None}),
            (2, {"name": "bob", "age": 20, "mail": None}),
        ],
    ),
    "add a field in the middle of a struct": Case(
        "id, {'name': name, 'age': n} AS p",
        "id, {'name': name, 'mail': name, 'age': n} AS p",
        [
            (1, {"name": "ann", "mail": None, "age": 10}),
            (2, {"name": "bob", "mail": None, "age": 20}),
        ],
        type='STRUCT("name" VARCHAR, mail VARCHAR, age INTEGER)',
    ),
    "widen a type inside a struct": Case(
        "id, {'score': n, 'label': name} AS p",
        "id, {'score': n::BIGINT, 'label': name} AS p",
        [(1, {"score": 10, "label": "ann"}), (2, {"score": 20, "label": "bob"})],
        type='STRUCT(score BIGINT, "label" VARCHAR)',
    ),
    "several changes of one struct": Case(
        "id, {'a': n, 'b': name} AS p",
        "id, {'a': n::BIGINT, 'b': name, 'c': true} AS p",
        [(1, {"a": 10, "b": "ann", "c": None}), (2, {"a": 20, "b": "bob", "c": None})],
    ),
    "widen array elements": Case(
        "id, [n] AS l", "id, [n::BIGINT] AS l", [(1, [10]), (2, [20])], type="BIGINT[]"
    ),
    "add a field to an array of structs": Case(
        "id, [{'id': n, 'name': name}] AS l",
        "id, [{'id': n, 'name': name, 'score': 1.0::DOUBLE}] AS l",
        [
            (1, [{"id": 10, "name": "ann", "score": None}]),
            (2, [{"id": 20, "name": "bob", "score": None}]),
        ],
    ),
    "widen map values": Case(
        "id, MAP {name: n} AS m",
        "id, MAP {name: n::BIGINT} AS m",
        [(1, {"ann": 10}), (2, {"bob": 20})],
        type="MAP(VARCHAR, BIGINT)",
    ),
    "widen map keys": Case(
        "id, MAP {n: name} AS m",
        "id, MAP {n::BIGINT: name} AS m",
        [(1, {10: "ann"}), (2, {20: "bob"})],
        type="MAP(BIGINT, VARCHAR)",
    ),
    "reorder the fields of a struct": Case(
        "id, {'a': n, 'b': name} AS p",
        "id, {'b': name, 'a': n} AS p",
        [(1, {"b": "ann", "a": 10}), (2, {"b": "bob", "a": 20})],
        type="STRUCT(b VARCHAR, a INTEGER)",
    ),
    "a default for a struct": Case(
        "id",
        "id, {'status': name, 'count': n} AS meta",
        [(1, {"status": "unknown", "count": 0}), (2, {"status": "unknown", "count": 0})],
        "columns: {meta: {default: \"STRUCT_PACK(status := 'unknown', count := 0)\"}}",
    ),
    "a default for a list": Case(
        "id",
        "id, [name] AS tags",
        [(1, []), (2, [])],
        "columns: {tags: {default: '[]::VARCHAR[]'}}",
    ),
    "a default for a list of numbers": Case(
        "id",
        "id, [n] AS s",
        [(1, [1, 2, 3]), (2, [1, 2, 3])],
        "columns: {s: {default: 'ARRAY[1, 2, 3]'}}",
    ),
    "a default for a map": Case(
        "id", "id, MAP {name: n} AS s", [(1, {}), (2, {})], "columns: {s: {default: 'MAP {}'}}"
    ),
    "only the order of columns": Case("id, n", "n, id", [(1, 10), (2, 20)]),
    "only the case of a name": Case("id, n", "id, N", [(1, 10), (2, 20)]),
    "a shorter decimal": Case(
        "id, 1.5::DECIMAL(14,4) AS n",
        "id, n::DECIMAL(10,2) AS n",
        [(1, 1.5), (2, 1.5)],
        type="DECIMAL(14,4)",
    ),
    "a shorter text": Case("id, name", "id, name::VARCHAR(2) AS name", [(1, "ann"), (2, "bob")]),
    "remove a column, allowed": Case("id, n", "id", [(1,), (2,)], flags=("allow_column_removal",)),
    "remove a field of a struct, allowed": Case(
        "id, {'a': n, 'b': name} AS p",
        "id, {'a': n} AS p",
        [(1, {"a": 10}), (2, {"a": 20})],
        flags=("allow_column_removal",),
    ),
}

SOURCE = (
    "CREATE TABLE src AS SELECT * FROM (VALUES (1, 'ann', 10), (2, 'bob', 20)) AS t(id, name, n)"
)
FRONT = "materialization: incremental\nincremental: {unique_key: id}\n"


def deployed(world: World, cases: Mapping[str, Case]) -> dict[str, str]:
    """The first query's table with its rows, then the second query in the file, for every case."""
    names = {case: f"m{n}" for n, case in enumerate(cases)}
    world.sql(SOURCE)
    for case, name in names.items():
        world.model(name, f"SELECT {cases[case].before} FROM src", FRONT)
    world.apply()
    fill = [
        f"INSERT INTO {name} BY NAME SELECT {cases[case].before} FROM src"
        for case, name in names.items()
    ]
    world.sql(*fill)
    for case, name in names.items():
        world.model(name, f"SELECT {cases[case].after} FROM src", FRONT + cases[case].front)
    return names


@dataclass(frozen=True)
class Evolved:
    """Every case in one project: the plan, and the tables before and after it was applied."""

    world: World
    names: dict[str, str]
    plans: dict[str, TablePlan]
    again: dict[str, TablePlan]


def by_name(plan: Plan) -> dict[str, TablePlan]:
    return {t.table.name: t for t in plan.tables}


@pytest.fixture(scope="module")
def safe(tmp_path_factory: pytest.TempPathFactory) -> Evolved:
    world = World(tmp_path_factory.mktemp("safe"))
    names = deployed(world, SAFE)
    plan = world.apply("allow_column_removal")
    return Evolved(world, names, by_name(plan), by_name(world.plan()))


@pytest.mark.parametrize("name", SAFE)
def test_a_safe_change_is_made_in_place(safe: Evolved, name: str) -> None:
    case, table = SAFE[name], safe.names[name]
    assert all(s.rung in (Rung.METADATA, Rung.STEPS) for s in safe.plans[table].steps)
    assert safe.world.sql(f"SELECT * FROM {table} ORDER BY id") == case.rows
    if case.type:
        assert list(safe.world.types(table).values())[-1] == case.type
    assert not safe.again[table].steps, "a second plan is empty"


UNSAFE = {
    "remove a column": Case("id, n", "id", [(1,), (2,)]),
    "narrow a type": Case("id, n::BIGINT AS n", "id, n", [(1, 10), (2, 20)], type="INTEGER"),
    "change a map's key type": Case(
        "id, MAP {name: n} AS m", "id, MAP {n: n} AS m", [(1, {10: 10}), (2, {20: 20})]
    ),
    "a struct becomes a scalar": Case("id, {'a': n} AS p", "id, n AS p", [(1, 10), (2, 20)]),
    "a scalar becomes a list": Case("id, n AS p", "id, [n] AS p", [(1, [10]), (2, [20])]),
    "add a NOT NULL column without default": Case(
        "id", "id, n AS k", [(1, 10), (2, 20)], "columns: {k: {nullable: false}}"
    ),
    "remove a field of a struct": Case(
        "id, {'a': n, 'b': name} AS p", "id, {'a': n} AS p", [(1, {"a": 10}), (2, {"a": 20})]
    ),
}


@pytest.fixture(scope="module")
def unsafe(tmp_path_factory: pytest.TempPathFactory) -> Evolved:
    """`plans` are those without a flag; then the refresh is allowed and applied."""
    world = World(tmp_path_factory.mktemp("unsafe"))
    names = deployed(world, UNSAFE)
    blocked = by_name(world.plan())
    allowed = by_name(world.apply("allow_full_refresh"))
    assert {s.rung for t in allowed.values() for s in t.steps} == {Rung.REFRESH}
    return Evolved(world, names, blocked, by_name(world.plan()))


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_change_is_blocked_then_recomputed(unsafe: Evolved, name: str) -> None:
    case, table = UNSAFE[name], unsafe.names[name]
    blocked = unsafe.plans[table]
    assert "F701" in errors(blocked)
    assert not blocked.steps
    finding = next(f for f in blocked.findings if f.code == "F701")
    assert f"Schema evolution requires full refresh for model '{table}': " in finding.message
    flags = "--allow-column-removal or --allow-full-refresh" if name.startswith("remove") else ""
    assert (flags or "Run with --allow-full-refresh") in (finding.hint or "")
    assert unsafe.world.sql(f"SELECT * FROM {table} ORDER BY id") == case.rows
    assert not unsafe.again[table].steps


def test_change_nullability_not_null_to_nullable(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT id, n FROM src", FRONT + "columns: {n: {nullable: false}}")
    world.apply()
    world.model("m", "SELECT id, n FROM src", FRONT)
    world.apply()
    world.sql("INSERT INTO m VALUES (1, NULL)", "SELECT 1")
    assert world.sql("SELECT n FROM m") == [(None,)]


def test_the_strategy_full_refresh_always_recomputes(world: World) -> None:
    case = Case(
        "id", "id, name", [(1, "ann"), (2, "bob")], "schema_evolution: {strategy: full_refresh}"
    )
    deployed(world, {"": case})
    assert [s.rung for s in world.table("m0").steps] == [Rung.REFRESH]
    world.apply()
    assert world.sql("SELECT * FROM m0 ORDER BY id") == case.rows


def test_a_refresh_that_fails_leaves_the_old_table(world: World) -> None:
    deployed(world, {"": Case("id, n", "id, CAST(name AS INTEGER) AS name", [])})
    project = world.project
    plan = project.plan(policy=policy(["allow_full_refresh"]))
    report = project.apply(plan, confirm=lambda _: True)
    assert not report.tables[0].ok
    assert world.sql("SELECT * FROM m0 ORDER BY id") == [(1, 10), (2, 20)]
    assert list(world.types("m0")) == ["id", "n"]


BAD_VALUES = {
    "a default of the wrong type": ("columns:\n  n: {default: \"'many'\"}", "E159", 6),
    "a backfill that names no column": ("columns:\n  n: {backfill: nope + 1}", "E158", 6),
    "a default that two dialects read differently": (
        "columns:\n  n: {default: '2 ^ 3'}",
        "E158",
        6,
    ),
    "settings for a column that is not there": ("columns:\n  nn: {default: '1'}", "E164", 6),
}


@pytest.mark.parametrize("case", BAD_VALUES.values(), ids=BAD_VALUES.keys())
def test_bad_values_are_refused_with_their_place(world: World, case: tuple[str, str, int]) -> None:
    front, code, line = case
    world.sql(SOURCE)
    world.model("m", "SELECT id, n FROM src", FRONT + "tags: [x]\n" + front)
    with pytest.raises(ProjectError) as raised:
        world.plan()
    assert raised.value.code == code
    assert raised.value.where is not None
    assert raised.value.where.line == line


def test_an_incremental_key_that_the_query_does_not_return(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT n FROM src", FRONT)
    with pytest.raises(ProjectError) as raised:
        world.plan()
    assert raised.value.code == "E160"


def test_two_columns_of_one_name_behind_a_star(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT *, n + 1 AS N FROM src")
    with pytest.raises(ProjectError) as raised:
        world.plan()
    assert raised.value.code == "E157"
