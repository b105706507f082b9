"""Models that use what the database holds beside tables: macros, enum types, sequences, files."""

from __future__ import annotations

import duckdb
import pytest

from models.world import World, errors

OBJECTS = (
    "CREATE TABLE src AS SELECT 1 AS id, 'ok' AS mood",
    "CREATE TYPE mood AS ENUM ('ok', 'bad')",
    "CREATE MACRO more(a, b := 2.5) AS a + b",
    "CREATE MACRO counted(n) AS TABLE SELECT i FROM range(n) AS t(i)",
    "CREATE SEQUENCE numbers",
    "SELECT 1",
)
QUERIES = {
    "a macro with its default": ("SELECT more(id) AS x FROM src", "DECIMAL(12,1)", 3.5),
    "an enum": ("SELECT mood::mood AS x FROM src", "ENUM('ok', 'bad')", "ok"),
    "a table macro": ("SELECT max(i) AS x FROM counted(3)", "BIGINT", 2),
    "a sequence, which a plan leaves alone": (
        "SELECT nextval('numbers') AS x FROM src",
        "BIGINT",
        1,
    ),
    "a file": ("SELECT x FROM '{file}'", "BIGINT", 5),
    "a table by its schema": ("SELECT main.src.id AS x FROM main.src", "INTEGER", 1),
}


@pytest.mark.parametrize("case", QUERIES.values(), ids=QUERIES.keys())
def test_a_query(world: World, case: tuple[str, str, object]) -> None:
    query, type_, value = case
    file = world.root / "f.csv"
    file.write_text("x\n5\n")
    world.sql(*OBJECTS)
    world.model("m", query.format(file=file))
    assert errors(world.table("m")) == []
    assert world.run().ok
    assert world.types("m") == {"x": type_}
    ((found,),) = world.sql("SELECT x FROM m")
    assert found == value


def test_a_default_of_an_enum_type(world: World) -> None:
    world.sql(*OBJECTS)
    world.model("m", "SELECT id FROM src", "incremental: {unique_key: id}")
    world.run()
    front = "incremental: {unique_key: id}\ncolumns: {x: {default: \"'bad'::mood\"}}"
    world.model("m", "SELECT id, mood::mood AS x FROM src", front)
    world.apply()
    assert world.sql("SELECT x FROM m") == [("bad",)]


def test_nothing_of_a_plan_stays_attached(world: World) -> None:
    world.sql(*OBJECTS)
    world.model("m", "SELECT nope FROM src")
    with duckdb.connect(str(world.root / "shop.duckdb")) as beside:
        assert errors(world.table("m")) == ["F702"]
        found = beside.execute("SELECT count(*) FROM duckdb_databases() WHERE NOT internal")
        assert found.fetchall() == [(1,)]
