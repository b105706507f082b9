"""Layers of models on Spark: a view, merges, intervals on Delta and Iceberg, a Python model."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar.spark import SparkHandle
from models.lake import Lake

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
        for place in (("e_delta", "spark_catalog"), ("e_iceberg", "ice")):
            assert [r["n"] for r in lake.rows(*place, order="n")] == [10, 20, 21, 40]
        assert [r["n"] for r in lake.rows("merged")] == [11, 20, 21, 40]
        assert [r["twice"] for r in lake.rows("doubled")] == [22, 40, 42, 80]
        again = lake.run()
        assert {again[n] for n in ("clean", "e_delta", "e_iceberg", "merged")} == {"skipped"}
    finally:
        lake.close()
