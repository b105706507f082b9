"""Iceberg statements as Spark SQL: one function per kind of statement, all names quoted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from instar.backends.spark.iceberg_metadata import DISTRIBUTION, PRIMARY_KEY
from instar.backends.spark.iceberg_transforms import parse_sort, parse_transform
from instar.backends.spark.statements import (
    path_sql,
    properties_sql,
    set_properties,
    unset_properties,
)
from instar.backends.spark.types import spark_type
from instar.backends.sql import literal_spark, quote_backtick
from instar.core.changes import FIRST
from instar.core.schema import Table
from instar.core.types import Column, Float, Path

FORMAT_VERSION = "format-version"


def create_namespace(catalog: str, schema: str) -> str:
    return f"CREATE NAMESPACE IF NOT EXISTS {quote_backtick(catalog)}.{quote_backtick(schema)}"


def create_table(
    full: str, table: Table, location: str | None = None, more: Mapping[str, str] | None = None
) -> str:
    """The table without its sort order and identifier fields, which CREATE cannot say."""
    columns = ", ".join(_column(c) for c in table.columns)
    partitions = ", ".join(_partition(entry, table) for entry in table.partition_by)
    properties = {FORMAT_VERSION: "2", **table.properties, **(more or {})}
    if table.primary_key and not identifiable(table):
        properties[PRIMARY_KEY] = json.dumps(table.primary_key)
    parts = [
        f"CREATE TABLE {full} ({columns}) USING iceberg",
        f"PARTITIONED BY ({partitions})" if partitions else "",
        f"COMMENT {literal_spark(table.comment)}" if table.comment else "",
        f"LOCATION {literal_spark(location)}" if location else "",
        f"TBLPROPERTIES ({properties_sql(properties)})",
    ]
    return " ".join(part for part in parts if part)


def identifiable(table: Table) -> bool:
    """Identifier fields must be required and exact; another key is kept as a property."""
    columns = {c.name: c for c in table.columns}
    key = [columns.get(name) for name in table.primary_key]
    return bool(key) and all(
        c is not None and not c.nullable and not isinstance(c.type, Float) for c in key
    )


def write_order(full: str, table: Table) -> tuple[str, ...]:
    """Sorting also sets how rows are distributed; what was said about that is said again."""
    fields = [parse_sort(entry, table.columns, str) for entry in table.cluster_by]
    sql = ", ".join(f.sql() for f in fields if f is not None)
    order = f"ALTER TABLE {full} WRITE {f'ORDERED BY {sql}' if sql else 'UNORDERED'}"
    said = {k: v for k, v in table.properties.items() if k == DISTRIBUTION}
    return (order, set_properties(full, said)) if said else (order,)


def set_key(full: str, table: Table) -> str:
    """Writes the primary key down where this table can keep it."""
    if identifiable(table):
        names = ", ".join(map(quote_backtick, table.primary_key))
        return f"ALTER TABLE {full} SET IDENTIFIER FIELDS {names}"
    if not table.primary_key:
        return unset_properties(full, [PRIMARY_KEY])
    return set_properties(full, {PRIMARY_KEY: json.dumps(table.primary_key)})


def drop_identifiers(full: str, names: Sequence[str]) -> str:
    return f"ALTER TABLE {full} DROP IDENTIFIER FIELDS {', '.join(map(quote_backtick, names))}"


def add_columns(full: str, adds: Iterable[tuple[Path, Column, str | None]]) -> str:
    """Each with the sibling it comes after; None for the last place."""
    specs = []
    for path, column, after in adds:
        comment = f" COMMENT {literal_spark(column.comment)}" if column.comment else ""
        place = "" if after is None else f" {_place(after)}"
        specs.append(f"{path_sql(path)} {spark_type(column.type)}{comment}{place}")
    return f"ALTER TABLE {full} ADD COLUMNS ({', '.join(specs)})"


def move_action(after: str) -> str:
    return _place(after)


def partition_field(full: str, verb: str, entry: str, table: Table) -> str:
    return f"ALTER TABLE {full} {verb} PARTITION FIELD {_partition(entry, table)}"


def _column(column: Column) -> str:
    required = "" if column.nullable else " NOT NULL"
    comment = f" COMMENT {literal_spark(column.comment)}" if column.comment else ""
    return f"{quote_backtick(column.name)} {spark_type(column.type)}{required}{comment}"


def _partition(entry: str, table: Table) -> str:
    made = parse_transform(entry, table.columns, str)
    assert made is not None, f"{entry} is no partition of {table.name}"
    return made.sql()


def _place(after: str) -> str:
    return "FIRST" if after == FIRST else f"AFTER {quote_backtick(after)}"
