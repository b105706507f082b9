"""A full refresh on DuckDB, and what a column of a model is told to be."""

from __future__ import annotations

import duckdb

from instar.cli.screen import PLAIN
from instar.cli.text import plan_text
from instar.core.types import Column, Integer
from instar.run.duckdb_infer import DuckDBInferrer
from instar.run.wanting import wanted_table
from models.readers import reading
from models.world import World

ROWS = 20_000


def test_a_reader_sees_the_old_table_or_the_new_one(world: World) -> None:
    """`n` becomes a number, so the table is recomputed while somebody reads it."""
    world.model("m", f"SELECT i AS id, 'one' AS n FROM range({ROWS}) AS t(i)")
    world.run()
    world.model("m", f"SELECT i AS id, 2 AS n FROM range({ROWS}) AS t(i)")
    connection = duckdb.connect(str(world.root / "shop.duckdb"))
    asked = "SELECT count(*), min(n), max(n) FROM m"
    with connection, reading(lambda: connection.execute(asked).fetchall()[0]) as seen:
        assert world.run(flags=("allow_full_refresh",)).ok
    assert set(seen) == {(ROWS, "one", "one"), (ROWS, 2, 2)}
    assert seen == sorted(seen, key=lambda row: row[1] == 2)


def test_what_the_analyser_thinks_of_null_is_no_promise(world: World) -> None:
    """Spark calls a constant NOT NULL; only the frontmatter makes the table's column so."""
    front = "columns: {sure: {nullable: false}}"
    world.model("m", "SELECT 1 AS id, 2 AS sure", front)
    model = world.project.models().models["m"]
    inferred = tuple(Column(n, Integer(32), nullable=False) for n in ("id", "sure"))
    inferrer = DuckDBInferrer(duckdb.connect())
    try:
        wanted = wanted_table(model, inferred, None, inferrer)
    finally:
        inferrer.close()
    assert [(c.name, c.nullable) for c in wanted.table.columns] == [("id", True), ("sure", False)]


def test_a_removed_column_is_told_in_the_words_of_a_model(world: World) -> None:
    world.model("m", "SELECT 1 AS id, 2 AS n")
    world.run()
    world.model("m", "SELECT 1 AS id")
    text = plan_text(world.plan(), PLAIN)
    assert "the query no longer returns it" in text
    assert "not declared" not in text
