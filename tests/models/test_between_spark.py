"""A view that no model makes, between models on Spark: its columns follow, or it casts to its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar.core.plan import Status
from instar.spark import SparkHandle
from models.lake import Lake

pytestmark = pytest.mark.spark


def test_a_change_before_a_view_is_planned_behind_it(tmp_path: Path, spark: SparkHandle) -> None:
    lake = Lake(tmp_path, spark)
    place = f"spark_catalog.{lake.schema}"
    try:
        spark.run(f"CREATE TABLE {place}.raw (id INT, n INT) USING delta")
        lake.model("base", "SELECT id, n FROM raw")
        lake.run()
        query = f"SELECT n AS nn FROM {place}.base"
        spark.run(f"CREATE VIEW {place}.follows WITH SCHEMA EVOLUTION AS {query}")
        spark.run(f"CREATE VIEW {place}.keeps AS {query}")
        lake.model("behind", "SELECT nn AS q FROM follows")
        lake.model("as_it_was", "SELECT nn AS q FROM keeps")
        lake.run()
        lake.model("base", "SELECT id, CAST(n AS BIGINT) AS n FROM raw")
        plans = {t.table.name: t for t in lake.plan("allow_full_refresh").tables}
        (reach,) = [f.message for f in plans["base"].findings if f.code == "F705"]
        for column in ("follows.nn", "keeps.nn", "behind.q", "as_it_was.q"):
            assert f"{lake.schema}.{column}" in reach
        assert plans["behind"].status is Status.CHANGE
        assert plans["as_it_was"].status is Status.NO_CHANGE
    finally:
        lake.close()
