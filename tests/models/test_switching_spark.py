"""On Delta a view becomes a table, but not back: Spark cannot do that in one step. Another format is another table."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar import Project
from instar.errors import ConfirmationNeeded
from instar.spark import SparkHandle
from models.lake import Lake
from models.world import errors, told

pytestmark = pytest.mark.spark


def test_a_view_becomes_a_table_but_not_back(tmp_path: Path, spark: SparkHandle) -> None:
    lake = Lake(tmp_path, spark)
    try:
        lake.model("m", "SELECT id, id * 2 AS twice FROM range(3)", "materialization: view")
        lake.run()
        lake.model("m", "SELECT id, id * 2 AS twice FROM range(3)")
        assert lake.run() == {"m": "built"}
        assert [r["twice"] for r in lake.rows("m")] == [0, 2, 4]
        lake.model("m", "SELECT id FROM range(3)", "materialization: view")
        (plan,) = lake.plan().tables
        assert errors(plan) == ["F106"]
    finally:
        lake.close()


def test_another_format_is_another_table(tmp_path: Path, spark: SparkHandle) -> None:
    """Back on Delta, the intervals that were built on Iceberg are not taken for done."""
    lake = Lake(tmp_path, spark)
    src = f"spark_catalog.{lake.schema}.src"
    front = "format: {}\nincremental: {{event_time_column: day}}"

    def moved(format_: str) -> None:
        lake.model("m", "SELECT id, day FROM src", front.format(format_))
        with pytest.raises(ConfirmationNeeded):
            Project.load(tmp_path).run(spark=spark.session)
        lake.run()

    try:
        spark.run(f"CREATE TABLE {src} USING delta AS SELECT 1 AS id, DATE '2024-01-01' AS day")
        lake.model("m", "SELECT id, day FROM src", front.format("delta"))
        lake.run()
        moved("iceberg")
        spark.run(f"INSERT INTO {src} VALUES (2, DATE '2024-01-02'), (3, DATE '2024-01-03')")
        lake.run()
        assert [r["id"] for r in lake.rows("m", "ice")] == [1, 2, 3]
        moved("delta")
        assert [r["id"] for r in lake.rows("m")] == [1, 2, 3]
        lake.model("m", "SELECT id, day FROM src", "format: parquet")
        words = "is a delta table on the engine, but the model is a parquet table"
        assert any(words in text for text in told(lake.plan()))
    finally:
        lake.close()
