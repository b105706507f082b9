"""Layers of models on Spark: a view, merges, intervals on Delta and Iceberg, a Python model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from instar import Project
from instar.spark import SparkHandle
from models.lake import Lake
from models.world import policy

pytestmark = pytest.mark.spark

EVENTS = "format: {format}\nincremental: {{event_time_column: seen, granularity: day}}"


def test_layers_intervals_and_python(tmp_path: Path, spark: SparkHandle) -> None:
    """A view, merges and intervals on Delta and Iceberg, and a Python model, run twice with new rows."""
    lake = Lake(tmp_path, spark)
    raw = f"spark_catalog.{lake.schema}.raw"
    try:
        spark.run(f"CREATE TABLE {raw} (id INT, n INT, seen TIMESTAMP) USING delta")
        spark.run(
            f"INSERT INTO {raw} VALUES (1, 10, '2024-01-01 10:00'), (2, 20, '2024-01-02 10:00')"
        )
        lake.model("clean", "SELECT id, n, seen FROM raw WHERE n > 0", "materialization: view")
        for format_ in ("delta", "iceberg"):
            lake.model(f"e_{format_}", "SELECT seen, n FROM clean", EVENTS.format(format=format_))
        lake.model("merged", "SELECT id, n FROM ref('clean')", "incremental: {unique_key: id}")
        by_key = "format: iceberg\nincremental: {unique_key: seen}"
        lake.model("m_iceberg", "SELECT n, seen FROM e_iceberg", by_key)
        lake.model("d_iceberg", "SELECT n, seen FROM e_iceberg", EVENTS.format(format="iceberg"))
        (tmp_path / "models" / "doubled.py").write_text(
            "def model(spark, refs):\n    return refs['merged'].selectExpr('id', 'n * 2 AS twice')\n"
        )
        first = lake.run()
        assert first["doubled"] == "built"
        spark.run(
            f"INSERT INTO {raw} VALUES (3, 21, '2024-01-02 11:00'), (4, 40, '2024-01-03 10:00')"
        )
        spark.run(f"UPDATE {raw} SET n = 11 WHERE id = 1")
        lake.run()
        for name in ("e_delta", "e_iceberg", "m_iceberg", "d_iceberg"):
            catalog = "spark_catalog" if name == "e_delta" else "ice"
            assert [r["n"] for r in lake.rows(name, catalog, order="n")] == [10, 20, 21, 40]
        assert [r["n"] for r in lake.rows("merged")] == [11, 20, 21, 40]
        assert [r["twice"] for r in lake.rows("doubled")] == [22, 40, 42, 80]
        again = lake.run()
        assert {again[n] for n in ("clean", "e_delta", "e_iceberg", "merged")} == {"skipped"}
    finally:
        lake.close()


BROKEN = {
    "twice": ("delta", "unique_key: id", "1 AS id, DATE '2024-01-01' AS ts"),
    "null": ("iceberg", "unique_key: id", "CAST(NULL AS INT) AS id, DATE '2024-01-01' AS ts"),
    "no_time": ("delta", "event_time_column: ts", "1 AS id, CAST(NULL AS DATE) AS ts"),
    "far": ("delta", "event_time_column: ts", "1 AS id, DATE '9999-12-31' AS ts"),
}


def test_a_refresh_keeps_to_the_key(tmp_path: Path, spark: SparkHandle) -> None:
    """The column `n` becomes a number, so that the table is recomputed; the broken rows undo that."""
    lake = Lake(tmp_path, spark)
    try:
        for name, (format_, way, _) in BROKEN.items():
            front = f"format: {format_}\nincremental: {{{way}}}"
            lake.model(name, "SELECT 7 AS id, DATE '2024-01-01' AS ts, 'x' AS n", front)
        lake.run()
        for name, (format_, way, columns) in BROKEN.items():
            front = f"format: {format_}\nincremental: {{{way}}}"
            lake.model(name, f"SELECT {columns}, 1 AS n FROM range(2)", front)
        report = Project.load(tmp_path).run(
            policy=policy(("allow_full_refresh",)), confirm=lambda _: True, spark=spark.session
        )
        for result in report.results:
            assert (result.error or "").startswith("E430: "), result
            assert re.search(r": \d+ (of them|keys? in \d+ rows)", result.error or ""), result
            catalog = "ice" if BROKEN[result.table.name][0] == "iceberg" else "spark_catalog"
            (row,) = lake.rows(result.table.name, catalog)
            assert (row["id"], row["n"]) == (7, "x")
    finally:
        lake.close()
