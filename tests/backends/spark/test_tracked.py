"""A table that is declared as change-tracked where the format keeps no mark of it: the declaration counts."""

from __future__ import annotations

import pytest

from backends.spark.lake import IN_ORDER, Lake, codes, col
from instar.backends.spark.iceberg import IcebergBackend
from instar.backends.spark.parquet import ParquetBackend
from instar.spark import SparkHandle

pytestmark = pytest.mark.spark
BACKENDS = {"iceberg": IcebergBackend, "parquet": ParquetBackend}


@pytest.mark.parametrize("format_", BACKENDS)
def test_it_keeps_its_order_and_is_never_rewritten(spark: SparkHandle, format_: str) -> None:
    lake = Lake(BACKENDS[format_](spark), f"tracked_{format_}")
    spark.run(f"DROP TABLE IF EXISTS {lake.full('t')}")
    a, b = col("a", "int"), col("b", "int")
    lake.migrate(lake.table("t", a, b, change_tracking=True))
    assert lake.live("t").change_tracking is None
    spark.run(f"INSERT INTO {lake.full('t')} VALUES (1, 2)")

    moved = lake.plan(lake.table("t", b, a, change_tracking=True), policy=IN_ORDER)
    assert moved.steps == ()
    assert moved.normalized_columns == ("a", "b")
    assert "F401" in codes(moved)
    assert lake.plan(lake.table("t", b, a), policy=IN_ORDER).steps

    retyped = lake.plan(lake.table("t", col("a", "string"), b, change_tracking=True))
    assert "F403" in codes(retyped)

    wider = lake.table("t", col("c", "int"), a, b, change_tracking=True)
    assert lake.migrate(wider, policy=IN_ORDER).normalized_columns == ("a", "b", "c")
    assert lake.rows("t", order="a") == [(1, 2, None)]
