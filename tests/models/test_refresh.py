"""A full refresh on DuckDB, and what a column of a model is told to be."""

from __future__ import annotations

import duckdb

from instar import Plan, Policy, TablePlan
from instar.app.wording import in_model_words
from instar.backends.spark.parquet_rules import ParquetRules
from instar.cli.screen import PLAIN
from instar.cli.text import plan_text
from instar.core.checks import EmptyProof, ProofResult
from instar.core.plan import Cost
from instar.core.planner import draft, finish
from instar.core.refresh import Refresh, evolved
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column, Integer, String, Struct
from instar.run.duckdb_infer import DuckDBInferrer
from instar.run.wanting import wanted_table
from models.readers import reading
from models.world import World, errors

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


NAME = TableName("main", "my_model")
RULES = ParquetRules()


def parquet(old: tuple[Column, ...], new: tuple[Column, ...], **hints: Hint) -> TablePlan:
    """The plan of a Parquet model whose query returns other columns than its table has."""
    live = Table(NAME, old, "parquet")
    said = {(name,): hint for name, hint in hints.items()}
    wanted = Wanted(Table(NAME, new, "parquet"), said, "models/my_model.sql")
    sketch = draft(wanted, live, RULES, Policy(), frozenset(), nested_order=True)
    rows = tuple(ProofResult(p, int(isinstance(p, EmptyProof))) for p in sketch.proofs)
    advice = "Consider using Delta format"
    way = Refresh("my_model", False, wanted.table, lambda: (), advice)
    return in_model_words(evolved(sketch, finish(sketch, rows, Cost(), RULES), Policy(), way))


BLOCK = """\
! main.my_model  parquet  blocked: 1 error  (models/my_model.sql)
~     stats    STRUCT
~       score  INT → BIGINT  safe: INT → BIGINT keeps every value
  error[F701]: Schema evolution requires full refresh for model 'my_model': ALTER cannot change a type (INT → BIGINT), and a managed table loses its files with its definition.
    help: Consider using Delta format or run with --allow-full-refresh.

Plan: 1 blocked.
Blocked: mend the errors above (`instar explain F701`), then plan again."""


def test_the_block_of_parquet_word_for_word() -> None:
    """The seed's own example: a type inside a struct becomes wider."""

    def column(bits: int) -> Column:
        return Column("stats", Struct((Column("score", Integer(bits)), Column("label", String()))))

    plan = parquet((column(32),), (column(64),))
    assert plan_text(Plan("prod", Policy(), (plan,)), PLAIN) == BLOCK


def test_a_required_column_of_parquet_needs_a_value_for_old_rows() -> None:
    """Parquet keeps no NOT NULL, so nothing else would stop the old rows from being NULL."""
    old = (Column("id", Integer(32)),)
    new = (*old, Column("n", Integer(32), nullable=False))
    plan = parquet(old, new)
    assert errors(plan) == ["F701"]
    (finding,) = [f for f in plan.findings if f.code == "F701"]
    assert "cannot add NOT NULL column 'n' without a default value" in finding.message
    assert errors(parquet(old, new, n=Hint(default="0"))) == []


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
