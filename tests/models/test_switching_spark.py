"""On Delta a view becomes a table; a table stays a table, because Spark cannot swap the two in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar.spark import SparkHandle
from models.lake import Lake
from models.world import errors

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
