"""Traps of Iceberg and Parquet on the real engine: sources of partitions, VARIANT, catalogs, case, arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.spark.lake import EVERYTHING, Lake, codes, col, rungs
from backends.spark.rows import drop_all
from instar.backends.spark.iceberg import IcebergBackend
from instar.backends.spark.parquet import ParquetBackend
from instar.spark import SparkHandle, SparkSettings, SparkSqlError, open_session

pytestmark = pytest.mark.spark


def lake_of(backend: IcebergBackend | ParquetBackend, schema: str) -> Lake:
    backend.handle.run(f"CREATE SCHEMA IF NOT EXISTS {backend.catalog}.{schema}")
    drop_all(backend, schema)
    return Lake(backend, schema)


@pytest.fixture(scope="module")
def ice(spark: SparkHandle) -> Lake:
    return lake_of(IcebergBackend(spark), "ice_traps")


def test_a_source_of_partitions_and_order_goes_with_them(ice: Lake) -> None:
    """Iceberg drops no column that a live partition or the sort order is made of."""
    ice.migrate(
        ice.table(
            "sources",
            *(col("id", "int"), col("p", "int"), col("o", "int"), col("s", "struct<a: int>")),
            partition_by=("bucket(2, p)",),
            cluster_by=("o",),
        )
    )
    ice.sql(f"INSERT INTO {ice.full('sources')} VALUES (1, 2, 3, named_struct('a', 4))")
    with pytest.raises(SparkSqlError):
        ice.sql(f"ALTER TABLE {ice.full('sources')} DROP COLUMN p")
    # The last field of a struct goes behind the new one: without any, the table cannot be read.
    wanted = ice.table("sources", col("id", "int"), col("s", "struct<b: int>"))
    plan = ice.migrate(wanted)
    assert set(rungs(plan)) == {"metadata"}
    assert ice.rows("sources") == [(1, (None,))]
    ice.sql(f"INSERT INTO {ice.full('sources')} VALUES (2, named_struct('b', 5))")
    assert ice.rows("sources") == [(1, (None,)), (2, (5,))]


def test_a_variant_comes_into_a_table_by_a_rewrite_and_reads_at_once(ice: Lake) -> None:
    """By ADD COLUMN the table could not be read before the next commit. Arrays go in by name."""
    arrays = col("l", "array<struct<p: int, q: string>>")
    version = {"properties": {"format-version": "3"}}
    ice.migrate(ice.table("variants", col("id", "int"), arrays, **version))
    ice.sql(
        f"INSERT INTO {ice.full('variants')} VALUES (1, array(named_struct('p', 1, 'q', 'u'))), (2, NULL)"
    )
    with pytest.raises(SparkSqlError, match="CANNOT_FIND_DATA"):
        ice.sql(f"INSERT INTO {ice.full('variants')} (id, l) VALUES (3, array(struct(1, 'u')))")
    wanted = ice.table("variants", col("id", "int"), arrays, col("v", "variant"), **version)
    plan = ice.migrate(wanted)
    assert rungs(plan) == ["rewrite", "rewrite"]
    ice.sql(f"INSERT INTO {ice.full('variants')} VALUES (3, array(), parse_json('[1]'))")
    shown = ice.rows("variants", "id, l, CAST(v AS STRING)")
    assert shown == [(1, [(1, "u")], None), (2, None, None), (3, [], "[1]")]
    # And through a rewrite: the checksum reads it too.
    retyped = ice.table("variants", col("id", "string"), arrays, col("v", "variant"), **version)
    ice.migrate(retyped)
    assert [r[0] for r in ice.rows("variants", "CAST(v AS STRING)")] == [None, None, "[1]"]
    older = ice.plan(ice.table("old", col("id", "int"), col("v", "variant")))
    assert "F601" in codes(older)


@pytest.fixture
def hadoop(spark_root: Path) -> Iterator[Lake]:
    """A catalog that is a folder: it has no names that could be given to another table."""
    with open_session(SparkSettings(spark_root), note=lambda _: None) as handle:
        name = "folders"
        conf = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "hadoop"}
        conf[".warehouse"] = str(spark_root / "folders")
        for key, value in conf.items():
            handle.session.conf.set(f"spark.sql.catalog.{name}{key}", value)
        handle.iceberg_catalog = name
        yield lake_of(IcebergBackend(handle), "traps")


def test_a_catalog_that_renames_no_table_is_told_before_anything_is_copied(hadoop: Lake) -> None:
    hadoop.migrate(hadoop.table("t", col("id", "int"), col("n", "int")))
    hadoop.sql(f"INSERT INTO {hadoop.full('t')} VALUES (1, 2)")
    plan = hadoop.plan(hadoop.table("t", col("id", "int"), col("n", "string")))
    assert plan.steps == ()
    (said,) = [f.message for f in plan.findings if f.code == "F601"]
    assert "its catalog is a folder (Hadoop) and cannot rename a table" in said
    # What needs no copy is done as elsewhere.
    assert set(rungs(hadoop.migrate(hadoop.table("t", col("id", "bigint"), col("m", "int"))))) == {
        "metadata"
    }
    assert hadoop.rows("t") == [(1, None)]


def test_an_overlay_reads_the_same_where_case_counts(
    spark: SparkHandle, other: SparkHandle
) -> None:
    """A file's `Name` under a definition's `name` reads NULL there, without an error."""
    pq = lake_of(ParquetBackend(spark), "pq_traps")
    pq.migrate(pq.table("cased", col("Id", "int"), col("S", "struct<Inner: int>")))
    pq.sql(f"INSERT INTO {pq.full('cased')} VALUES (1, named_struct('Inner', 2))")
    wide = pq.table("cased", col("id", "bigint"), col("s", "struct<inner: bigint>"))
    assert set(rungs(pq.migrate(wide, policy=EVERYTHING))) <= {"overlay", "rewrite"}
    other.session.conf.set("spark.sql.caseSensitive", "true")
    try:
        names = [c.name for c in pq.live("cased").columns]
        shown = ", ".join(names)
        rows = other.run(f"SELECT {shown} FROM {pq.full('cased')}")
    finally:
        other.session.conf.set("spark.sql.caseSensitive", "false")
    assert [(r[0], tuple(r[1])) for r in rows] == [(1, (2,))]
