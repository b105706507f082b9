"""What surrounds a change on DuckDB: messages, strategies, failures, bad values. The changes: test_seed.py."""

from __future__ import annotations

import pytest

from instar.core.plan import Rung
from instar.errors import ProjectError
from models.world import World, errors, policy

SOURCE = (
    "CREATE TABLE src AS SELECT * FROM (VALUES (1, 'ann', 10), (2, 'bob', 20)) AS t(id, name, n)"
)
FRONT = "materialization: incremental\nincremental: {unique_key: id}\n"


def deployed(world: World, before: str, after: str, front: str = "") -> None:
    """The table m with the rows of its first select list; then the second one in the file."""
    world.sql(SOURCE)
    world.model("m", f"SELECT {before} FROM src", FRONT)
    world.run()
    world.model("m", f"SELECT {after} FROM src", FRONT + front)


def test_change_nullability_not_null_to_nullable(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT id, n FROM src", FRONT + "columns: {n: {nullable: false}}")
    world.apply()
    world.model("m", "SELECT id, n FROM src", FRONT)
    world.apply()
    world.sql("INSERT INTO m VALUES (1, NULL)")
    assert world.sql("SELECT n FROM m") == [(None,)]


def test_a_mistyped_renamed_from_is_told_with_the_name_that_was_meant(world: World) -> None:
    front = "columns: {first: {renamed_from: nmae}, s.b: {renamed_from: s.a}}"
    deployed(world, "id, name, {'a': n} AS s", "id, name AS first, {'b': n} AS s", front)
    hints = {f.path: f.hint or "" for f in world.table("m").findings if f.code == "F109"}
    meant = {path: hint.split("? ")[0] for path, hint in hints.items()}
    assert meant == {("first",): "Did you mean 'name'", ("s", "b"): "Did you mean 'a'"}
    assert all("no longer returned" in hint for hint in hints.values())
    (blocked,) = world.table("m", "allow_column_removal").findings[:1]
    assert blocked.code == "F701"
    assert "Did you mean 'name'?" in (blocked.hint or "")
    assert (blocked.hint or "").endswith("Or run with --allow-full-refresh.")


def test_the_strategy_full_refresh_always_recomputes(world: World) -> None:
    deployed(world, "id", "id, name", "schema_evolution: {strategy: full_refresh}")
    assert [s.rung for s in world.table("m").steps] == [Rung.REFRESH]
    world.apply()
    assert world.sql("SELECT * FROM m ORDER BY id") == [(1, "ann"), (2, "bob")]


def test_a_refresh_that_fails_leaves_the_old_table(world: World) -> None:
    deployed(world, "id, n", "id, CAST(name AS INTEGER) AS name")
    project = world.project
    plan = project.plan(policy=policy(["allow_full_refresh"]))
    report = project.apply(plan, confirm=lambda _: True)
    assert not report.tables[0].ok
    assert world.sql("SELECT * FROM m ORDER BY id") == [(1, 10), (2, 20)]
    assert list(world.types("m")) == ["id", "n"]


NAMES = ["n > 15", "m > 15"]


@pytest.mark.parametrize("backfill", NAMES)
def test_a_backfill_beside_a_rename_knows_the_old_name_and_the_new(
    world: World, backfill: str
) -> None:
    """And neither a later plan nor a new environment minds that one of them is gone."""
    front = f"columns: {{m: {{renamed_from: n}}, big: {{backfill: {backfill}}}}}"
    deployed(world, "id, n", "id, n AS m, n > 15 AS big", front)
    world.apply()
    assert world.sql("SELECT * FROM m ORDER BY id") == [(1, 10, False), (2, 20, True)]
    assert not world.plan().pending
    world.sql("DROP TABLE m")
    assert [s.kind for s in world.table("m").steps] == ["create"]


def test_a_backfill_reads_a_column_that_goes(world: World) -> None:
    """And neither a later plan nor a new environment minds that it is gone; a misspelt name is told."""
    deployed(world, "id, n", "id, n * 2 AS twice", "columns: {twice: {backfill: n * 2 + id}}")
    assert errors(world.table("m")) == ["F701"]
    world.apply("allow_column_removal")
    assert world.sql("SELECT * FROM m ORDER BY id") == [(1, 21), (2, 42)]
    assert not world.plan().pending
    world.sql("DROP TABLE m")
    assert [s.kind for s in world.table("m").steps] == ["create"]
    world.apply()
    front = FRONT + "columns: {twice: {backfill: n * 2 + id}, thrice: {backfill: twicee + id}}"
    world.model("m", "SELECT id, n * 2 AS twice, n * 3 AS thrice FROM src", front)
    with pytest.raises(ProjectError, match="twicee") as raised:
        world.plan()
    assert raised.value.code == "E158"


BAD_VALUES = {
    "a default of the wrong type": ("columns:\n  n: {default: \"'many'\"}", "E159", 6),
    "a default that two dialects read differently": (
        "columns:\n  n: {default: '2 ^ 3'}",
        "E158",
        6,
    ),
    "a day of the week": ("columns:\n  n: {default: \"dayofweek(DATE '2024-01-01')\"}", "E158", 6),
    "a part from the character 0": ("columns:\n  n: {default: \"substr('123', 0, 2)\"}", "E158", 6),
    "a concat with NULL": ("columns:\n  n: {backfill: \"concat('1', NULL, '2')\"}", "E158", 6),
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


@pytest.mark.parametrize("name", ["shop.main.src", "main.src", "src"])
def test_a_column_may_name_its_table_with_all_that_stands_before_it(
    world: World, name: str
) -> None:
    world.model("src", "SELECT 1 AS id")
    world.model("down", f"SELECT {name}.id FROM {name}")
    world.run()
    assert world.sql("SELECT * FROM down") == [(1,)]
    assert world.project.models().parents("down") == ("src",)


def test_a_name_in_another_catalog_is_no_models(world: World) -> None:
    world.model("src", "SELECT 1 AS id")
    world.model("down", "SELECT id FROM other.main.src")
    assert errors(world.table("down")) == ["F702"]
    assert world.project.models().parents("down") == ()


LOST: dict[str, tuple[str, str, str]] = {
    "a fraction in a list": ("[1]::INT[]", "[1.5]", "gives no ARRAY<INT>: it would be [2]"),
    "a field without a place": (
        "{'a': 1}",
        "struct_pack(a := 1, zzz := 2)",
        "its field 'zzz' is not the field of STRUCT<a INT> in that place",
    ),
    "a field of a list's rows": ("[{'a': 1}]", "[{'a': 1, 'b': 2}]", "its field 'b'"),
    "a fraction in a map": ("MAP {'k': 1}", "MAP {'k': 1.5}", "it would be {k=2}"),
}


@pytest.mark.parametrize("case", LOST.values(), ids=LOST.keys())
def test_a_constant_that_would_lose_a_part_of_itself(
    world: World, case: tuple[str, str, str]
) -> None:
    value, default, words = case
    world.model("m", f"SELECT 1 AS id, {value} AS x", f'columns: {{x: {{default: "{default}"}}}}')
    with pytest.raises(ProjectError) as raised:
        world.plan()
    assert raised.value.code == "E159"
    assert words in raised.value.message


KEPT = {
    "a whole list": ("[1]::INT[]", "[1, 2]"),
    "no list": ("[1]::INT[]", "[]"),
    "a shorter number": ("[1]::BIGINT[]", "[1]"),
    "a decimal": ("[1.25]::DECIMAL(10, 2)[]", "[1.5]"),
    "a fraction": ("[1.1]::FLOAT[]", "[1.1]"),
    "fewer fields, in another order": (
        "{'a': 1, 'b': 'x', 'c': 2}",
        "struct_pack(b := 'y', a := 3)",
    ),
    "texts for dates": ("[DATE '2024-01-01']", "['2024-1-5']"),
}


@pytest.mark.parametrize("case", KEPT.values(), ids=KEPT.keys())
def test_a_constant_that_is_only_spelled_otherwise(world: World, case: tuple[str, str]) -> None:
    value, default = case
    world.model("m", f"SELECT 1 AS id, {value} AS x", f'columns: {{x: {{default: "{default}"}}}}')
    assert not world.plan().blocked
