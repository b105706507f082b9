"""Rows into a Spark table and out again, apart from Instar; one schema of one format."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from backends.spark.rows import drop_all, insert, select
from instar.backends.spark.base import SparkBackend
from instar.backends.spark.delta import DeltaBackend
from instar.backends.spark.iceberg import IcebergBackend
from instar.backends.spark.parquet import ParquetBackend
from instar.backends.sql import quote_backtick
from instar.core.schema import Table
from instar.spark import SparkHandle

BACKENDS: dict[str, type[SparkBackend]] = {
    "delta": DeltaBackend,
    "iceberg": IcebergBackend,
    "parquet": ParquetBackend,
}


class SparkHarness:
    def __init__(self, backend: SparkBackend, schema: str) -> None:
        self.backend = backend
        self.schema = schema

    def insert(self, table: Table, rows: Sequence[Any]) -> None:
        insert(self.backend, table, rows)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return select(self.backend, table)


@contextmanager
def own_schema(spark: SparkHandle, format_: str, stem: str) -> Iterator[SparkHarness]:
    """A schema that is gone afterwards, with all that is in it."""
    backend = BACKENDS[format_](spark)
    schema = f"{stem}_{uuid.uuid4().hex[:8]}"
    place = f"{quote_backtick(backend.catalog)}.{quote_backtick(schema)}"
    spark.run(f"CREATE SCHEMA {place}")
    yield SparkHarness(backend, schema)
    drop_all(backend, schema)
    spark.run(f"DROP SCHEMA {place}")
