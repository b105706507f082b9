"""Statements for Parquet tables in Spark's own catalog; definitions come in two halves around LOCATION."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from instar.backends.spark.statements import properties_sql
from instar.backends.spark.types import spark_type
from instar.backends.sql import literal_spark, quote_backtick
from instar.core.schema import Table
from instar.core.types import Column

OWN = "instar."
PRIMARY_KEY = "instar.primary_key"
COLUMNS = "instar.columns"
"""The declared order of a partitioned table: Spark itself keeps partition columns behind all others."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A CREATE TABLE whose place is chosen when it runs."""

    head: str
    tail: str

    def at(self, location: str) -> str:
        return f"{self.head} LOCATION {literal_spark(location)} {self.tail}".rstrip()


def create_schema(catalog: str, schema: str) -> str:
    return f"CREATE SCHEMA IF NOT EXISTS {quote_backtick(catalog)}.{quote_backtick(schema)}"


def definition(full: str, table: Table, more: Mapping[str, str] | None = None) -> Definition:
    """Without defaults: given here, they would also be read in files that lack the column."""
    columns = ", ".join(_column(c) for c in table.columns)
    partitions = ", ".join(map(quote_backtick, table.partition_by))
    properties = {**table.properties, **(more or {})}
    if table.primary_key:
        properties[PRIMARY_KEY] = json.dumps(table.primary_key)
    if table.partition_by:
        properties[COLUMNS] = json.dumps([c.name for c in table.columns])
    head = f"CREATE TABLE {full} ({columns}) USING parquet"
    if partitions:
        head += f" PARTITIONED BY ({partitions})"
    tail = f"COMMENT {literal_spark(table.comment)}" if table.comment else ""
    if properties:
        tail += f" TBLPROPERTIES ({properties_sql(properties)})"
    return Definition(head, tail.strip())


def defaults(full: str, table: Table) -> tuple[str, ...]:
    return tuple(
        set_default(full, c.name, c.default) for c in table.columns if c.default is not None
    )


def add_columns(full: str, columns: Iterable[Column]) -> str:
    """At the end: Spark accepts FIRST and AFTER here, and ignores them."""
    specs = (
        _column(c) + (f" DEFAULT {c.default}" if c.default is not None else "") for c in columns
    )
    return f"ALTER TABLE {full} ADD COLUMNS ({', '.join(specs)})"


def set_default(full: str, name: str, default: str | None) -> str:
    action = "DROP DEFAULT" if default is None else f"SET DEFAULT {default}"
    return f"ALTER TABLE {full} ALTER COLUMN {quote_backtick(name)} {action}"


def comment_column(full: str, name: str, comment: str | None) -> str:
    text = literal_spark(comment or "")
    return f"ALTER TABLE {full} ALTER COLUMN {quote_backtick(name)} COMMENT {text}"


def _column(column: Column) -> str:
    comment = f" COMMENT {literal_spark(column.comment)}" if column.comment else ""
    return f"{quote_backtick(column.name)} {spark_type(column.type)}{comment}"
