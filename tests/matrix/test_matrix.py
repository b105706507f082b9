"""The published matrix is what the rules say today, and what DuckDB does when it is asked again."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from backends.duckdb.harness import DuckDBHarness
from backends.spark.harness import BACKENDS as SPARK_BACKENDS
from instar.app.matrix import matrix, published
from instar.backends.registry import rules_for
from instar.backends.spark.parquet_capability import EXTERNAL
from instar.spark import SparkHandle
from instar.testing.matrix import BACKENDS, foreseen, probe
from instar.testing.operations import operations
from instar.testing.scenario import Scenario
from matrix.__main__ import PAGE, spark_harness, versions

REFRESH = "run `make docs`"
ALL = os.environ.get("INSTAR_ALL")
TYPES = {"duckdb": "duckdb", "delta": "spark", "iceberg": "spark", "parquet": "spark"}


def test_the_page_is_fresh() -> None:
    page = Path(__file__).parents[2] / "docs/reference/matrix.md"
    assert page.read_text(encoding="utf-8") == PAGE + matrix("markdown") + "\n", REFRESH


def test_every_operation_is_published_for_every_engine() -> None:
    rows = published()["operations"]
    assert list(rows) == [s.name for s in operations()], REFRESH
    assert all(tuple(row) == BACKENDS for row in rows.values()), REFRESH


def test_the_engines_are_those_that_were_probed() -> None:
    def line(version: str) -> str:
        return ".".join(version.split(".")[:2])

    probed = published()["engines"]
    assert {b: line(v) for b, v in probed.items()} == {b: line(v) for b, v in versions().items()}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_rules_say_what_was_seen(backend: str) -> None:
    """Parquet's rules ask whether files outlive their definition: those of a table made by Instar do."""
    rules = rules_for(TYPES[backend], backend)
    rows = published()["operations"]
    cells = {s.name: foreseen(rules, s, {EXTERNAL: "yes"}) for s in operations()}
    told = {name: (cell.rung, cell.also) for name, cell in cells.items()}
    seen = {name: (row[backend]["rung"], row[backend]["also"]) for name, row in rows.items()}
    assert told == seen, REFRESH


def test_what_is_not_kept_stands_beside_the_rung() -> None:
    rows = published()["operations"]
    required = rows["add a NOT NULL column with a default"]["parquet"]
    assert (required["rung"], required["also"][:5]) == ("metadata", "F603:")
    assert rows["add a primary key"]["iceberg"]["also"].endswith("but not enforced.")
    for swap in ("swap the names of two columns", "swap the names of two struct fields"):
        assert all(cell["also"].startswith("E132:") for cell in rows[swap].values())


@pytest.mark.parametrize("scenario", operations(), ids=str)
def test_duckdb_does_it_again(scenario: Scenario) -> None:
    seen = probe(DuckDBHarness(duckdb.connect()), scenario)
    told = published()["operations"][scenario.name]["duckdb"]
    assert (seen.rung, seen.also) == (told["rung"], told["also"]), REFRESH


AGAIN = ("widen INT → BIGINT", "rename a struct field", "set NOT NULL", "add a primary key")


@pytest.mark.spark
@pytest.mark.parametrize("backend", SPARK_BACKENDS)
@pytest.mark.parametrize("name", [s.name for s in operations()] if ALL else AGAIN)
def test_spark_does_it_again(spark: SparkHandle, backend: str, name: str) -> None:
    """A sample by default; INSTAR_ALL=1 runs every operation."""
    chosen = next(s for s in operations() if s.name == name)
    harness = spark_harness(spark, SPARK_BACKENDS[backend], "again")
    seen = probe(harness, chosen)
    told = published()["operations"][name][backend]
    assert (seen.rung, seen.also) == (told["rung"], told["also"]), REFRESH
