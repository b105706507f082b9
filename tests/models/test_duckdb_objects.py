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


WAYS = {
    "table": "",
    "merge": "incremental: {unique_key: id}",
    "partitions": "incremental: {partition_column: kind}",
    "intervals": "incremental: {event_time_column: ts}",
}


@pytest.mark.parametrize("front", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize(
    "unique", ["CREATE UNIQUE INDEX u ON m (id)", "ALTER TABLE m ADD PRIMARY KEY (id)"]
)
def test_a_unique_index_bears_every_build_and_stays(world: World, front: str, unique: str) -> None:
    world.sql(
        "CREATE TABLE src AS SELECT i AS id, i % 2 AS kind, DATE '2024-01-01' + i::INT AS ts, 1 AS n"
        " FROM range(4) AS t(i)",
    )
    world.model("m", "SELECT id, kind, ts, n FROM src", front)
    world.run()
    world.sql(unique)
    for n in (2, 3):
        world.sql(f"UPDATE src SET n = {n}")
        (result,) = world.run().results
        assert result.error is None
    last = 3 if front != WAYS["intervals"] else 1
    assert world.sql("SELECT count(*), min(n), max(n) FROM m") == [(4, last, 3)]
    with pytest.raises(duckdb.ConstraintException):
        world.sql("INSERT INTO m VALUES (1, 1, DATE '2024-01-01', 1)")


def test_a_refresh_keeps_the_indexes_that_it_can_and_names_the_others(world: World) -> None:
    world.model("m", "SELECT 1 AS id, 'x' AS n, 2 AS gone")
    world.run()
    world.sql("CREATE UNIQUE INDEX stays ON m (id)", "CREATE INDEX goes ON m (gone)")
    world.sql("COMMENT ON INDEX stays IS 'for the app'")
    world.model("m", "SELECT 1 AS id, 5 AS n")
    (step,) = world.table("m", "allow_full_refresh").steps
    assert step.irreversible == ("the index goes",)
    world.run(flags=("allow_full_refresh",))
    left = "SELECT index_name, is_unique, comment FROM duckdb_indexes()"
    assert world.sql(left) == [("stays", True, "for the app")]
    assert world.sql("SELECT * FROM m") == [(1, 5)]
