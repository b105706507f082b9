"""Partitions by values that are hard to name: bytes that are no text, and on Parquet the empty text."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar import Project
from instar.spark import SparkHandle
from models.lake import Lake

pytestmark = pytest.mark.spark

BY = "format: {}\nincremental: {{partition_column: {}}}"


def test_partitions_by_odd_values(tmp_path: Path, spark: SparkHandle) -> None:
    lake = Lake(tmp_path, spark)
    src = f"spark_catalog.{lake.schema}.src"
    try:
        spark.run(f"CREATE TABLE {src} (b BINARY, k STRING, n INT) USING delta")
        spark.run(f"INSERT INTO {src} VALUES (X'C3', 'x', 1), (X'FE', 'y', 2)")
        for format_, by in (("delta", "b"), ("iceberg", "b"), ("parquet", "k")):
            lake.model(f"by_{format_}", "SELECT * FROM src", BY.format(format_, by))
        lake.run()
        spark.run(f"UPDATE {src} SET n = n * 10")
        lake.run()
        for format_, catalog in (("delta", "spark_catalog"), ("iceberg", "ice")):
            rows = lake.rows(f"by_{format_}", catalog, order="n")
            assert [(bytes(r["b"]), r["n"]) for r in rows] == [(b"\xc3", 10), (b"\xfe", 20)]
        spark.run(f"INSERT INTO {src} VALUES (X'', '', 3)")
        report = Project.load(tmp_path).run(spark=spark.session)
        (failed,) = [r for r in report.results if r.error]
        assert "is an empty text in some rows: 1 of them" in (failed.error or "")
        assert [(r["k"], r["n"]) for r in lake.rows("by_parquet", order="n")] == [
            ("x", 10),
            ("y", 20),
        ]
    finally:
        lake.close()
