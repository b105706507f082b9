"""The published matrix is what the rules say today, and what DuckDB does when it is asked again."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from backends.duckdb.harness import DuckDBHarness
from backends.spark.harness import BACKENDS as SPARK_BACKENDS
from instar.app.matrix import matrix, published
from instar.backends.registry import rules_for
from instar.spark import SparkHandle
from instar.testing.matrix import BACKENDS, foreseen, operations, probe
from instar.testing.scenario import Scenario
from matrix.__main__ import PAGE, spark_harness, versions

REFRESH = "run `make docs`"
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


@pytest.mark.parametrize("backend", ["duckdb", "delta", "iceberg"])
def test_the_rules_say_what_was_seen(backend: str) -> None:
    """Parquet's rules look at the files, so only an engine can tell: see below."""
    rules = rules_for(TYPES[backend], backend)
    rows = published()["operations"]
    told = {s.name: foreseen(rules, s).rung for s in operations()}
    assert told == {name: row[backend]["rung"] for name, row in rows.items()}, REFRESH


@pytest.mark.parametrize("scenario", operations(), ids=str)
def test_duckdb_does_it_again(scenario: Scenario) -> None:
    seen = probe(DuckDBHarness(duckdb.connect()), scenario)
    assert seen.rung == published()["operations"][scenario.name]["duckdb"]["rung"], REFRESH


@pytest.mark.spark
@pytest.mark.parametrize("backend", SPARK_BACKENDS)
@pytest.mark.parametrize("name", ["widen INT → BIGINT", "rename a struct field"])
def test_spark_does_it_again(spark: SparkHandle, backend: str, name: str) -> None:
    chosen = next(s for s in operations() if s.name == name)
    harness = spark_harness(spark, SPARK_BACKENDS[backend], "again")
    seen = probe(harness, chosen)
    assert seen.rung == published()["operations"][name][backend]["rung"], REFRESH
