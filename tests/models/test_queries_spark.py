"""Queries as people write them for Spark: columns by the names of tables, texts with semicolons, mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar.spark import SparkHandle
from models.lake import Lake
from models.world import told

pytestmark = pytest.mark.spark

QUERIES = {
    "joined": "SELECT one.id, ref_two.n FROM one JOIN ref('ref_two') ON one.id = ref_two.id",
    "starred": "SELECT One.* FROM `ONE` LATERAL VIEW explode(array(one.id)) t AS e",
    "schemed": "SELECT HERE.one.id, `HERE`.ref_two.n FROM one JOIN HERE.ref_two ON HERE.one.id = spark_catalog.HERE.one.id",
    "twins": "SELECT HERE.one.id, THERE.one.id AS other FROM HERE.one JOIN THERE.one ON HERE.one.id <> THERE.one.id",
    "elsewhere": "SELECT id FROM ice.HERE.one",
    "sampled": "SELECT o.id FROM one TABLESAMPLE (100 PERCENT) AS o",
    "ended": r"SELECT id, 'it\'s; so' AS words FROM one; -- the end",
}


def test_columns_go_by_the_names_of_tables(tmp_path: Path, spark: SparkHandle) -> None:
    lake = Lake(tmp_path, spark)
    there = f"{lake.schema}_2"
    spark.run(f"CREATE SCHEMA {there}")
    spark.run(f"CREATE TABLE {there}.one USING delta AS SELECT 7 AS id")
    spark.run(f"CREATE TABLE ice.{lake.schema}.one AS SELECT 9 AS id")
    try:
        lake.model("one", "SELECT 1 AS id")
        lake.model("ref_two", "SELECT 1 AS id, 2 AS n", "format: iceberg")
        for name, query in QUERIES.items():
            lake.model(name, query.replace("THERE", there).replace("HERE", lake.schema))
        assert set(lake.run().values()) == {"built"}
        assert lake.rows("joined") == [{"id": 1, "n": 2}]
        assert lake.rows("schemed") == [{"id": 1, "n": 2}]
        assert lake.rows("twins") == [{"id": 1, "other": 7}]
        assert lake.rows("starred") == [{"id": 1}]
        assert lake.rows("ended") == [{"id": 1, "words": "it's; so"}]
        assert lake.rows("elsewhere") == [{"id": 9}], "not the model's table of that name"
        assert lake.run(select=("elsewhere",)) == {"elsewhere": "skipped"}
        spark.run(f"INSERT INTO ice.{lake.schema}.one VALUES (10)")
        spark.run(f"DROP TABLE {there}.one")
        spark.run(f"CREATE TABLE {there}.one USING delta AS SELECT 8 AS id")
        again = lake.run(select=("elsewhere", "twins"))
        assert again == {"elsewhere": "built", "twins": "built"}
        assert lake.rows("twins") == [{"id": 1, "other": 8}]
        lake.model("ended", "SELECT id FROM one QUALIFY TRUE")
        assert any("Syntax error at or near" in text for text in told(lake.plan()))
    finally:
        spark.run(f"DROP SCHEMA {there} CASCADE")
        lake.close()
