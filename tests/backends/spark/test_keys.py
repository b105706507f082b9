"""A key that the plan proved is proven again at cut-over: rows that share one since are refused, none is lost.

Delta by default; INSTAR_ALL=1 runs every format.
"""

from __future__ import annotations

import os

import pytest

from backends.spark.lake import Lake, col
from backends.spark.rows import drop_all
from instar.backends.spark.delta import DeltaBackend
from instar.backends.spark.iceberg import IcebergBackend
from instar.backends.spark.parquet import ParquetBackend
from instar.core.plan import TablePlan
from instar.errors import VerificationFailed
from instar.spark import SparkHandle

pytestmark = pytest.mark.spark
BACKENDS = {"delta": DeltaBackend, "iceberg": IcebergBackend, "parquet": ParquetBackend}


@pytest.fixture(params=BACKENDS if os.environ.get("INSTAR_ALL") else ["delta"])
def lake(spark: SparkHandle, request: pytest.FixtureRequest) -> Lake:
    backend = BACKENDS[request.param](spark)
    schema = f"keys_{request.param}"
    spark.run(f"CREATE SCHEMA IF NOT EXISTS {backend.catalog}.{schema}")
    drop_all(backend, schema)
    return Lake(backend, schema)


def carry_out(lake: Lake, plan: TablePlan) -> None:
    for step in plan.steps:
        lake.run(step)


def test_rows_that_share_a_key_since_the_plan_are_refused_and_none_is_lost(lake: Lake) -> None:
    """'7' and '07' are two texts, and one number; so the key stays and its rewrite merges them."""
    keyed = {"primary_key": ("id",)}
    lake.migrate(lake.table("t", col("id", "string", nullable=False), col("n", "int"), **keyed))
    lake.sql(f"INSERT INTO {lake.full('t')} VALUES ('7', 1), ('8', 2)")
    wanted = lake.table("t", col("id", "int", nullable=False), col("n", "int"), **keyed)
    plan = lake.plan(wanted)
    lake.sql(f"INSERT INTO {lake.full('t')} VALUES ('07', 3)")

    with pytest.raises(VerificationFailed, match=r"2 rows that share a key.*{\"id\":7}") as caught:
        carry_out(lake, plan)
    assert caught.value.code == "E227"
    assert lake.rows("t") == [("07", 3), ("7", 1), ("8", 2)]
    assert lake.live("t").columns[0].type == plan.live.columns[0].type  # type: ignore[union-attr]


def test_a_key_alone_is_proven_again_before_it_is_written_down(lake: Lake) -> None:
    columns = (col("id", "int", nullable=False), col("n", "int"))
    lake.migrate(lake.table("t", *columns))
    lake.sql(f"INSERT INTO {lake.full('t')} VALUES (1, 1)")
    plan = lake.plan(lake.table("t", *columns, primary_key=("id",)))
    lake.sql(f"INSERT INTO {lake.full('t')} VALUES (1, 2)")
    with pytest.raises(VerificationFailed, match=r"the primary key \(id\) has 2 rows"):
        carry_out(lake, plan)
    assert lake.live("t").primary_key == ()
