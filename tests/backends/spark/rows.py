"""Rows into a Spark table and out again, apart from Instar: literals of exact types, plain Python values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

from instar.backends.spark.base import SparkBackend
from instar.backends.spark.types import value_type
from instar.backends.sql import literal_spark, quote_backtick
from instar.core.schema import Table
from instar.core.types import Array, Map, Struct, Timestamp, Type


def insert(backend: SparkBackend, table: Table, rows: Sequence[Any]) -> None:
    """One statement, by name, every value with its type."""
    selects = [
        "SELECT "
        + ", ".join(
            f"{literal(row[c.name], c.type)} AS {quote_backtick(c.name)}" for c in table.columns
        )
        for row in rows
    ]
    place = backend.place(table.name)
    backend.handle.run(f"INSERT INTO {place} BY NAME {' UNION ALL '.join(selects)}")


def select(backend: SparkBackend, table: Table) -> list[dict[str, Any]]:
    # Spark shows partition columns behind all others, wherever they were declared.
    names = ", ".join(quote_backtick(c.name) for c in table.columns)
    found = backend.handle.run(f"SELECT {names} FROM {backend.place(table.name)}")
    return [plain(row, Struct(table.columns)) for row in found]


def drop_all(backend: SparkBackend, schema: str) -> None:
    """Every table of a schema; not every catalog drops a schema with what is in it."""
    place = f"{quote_backtick(backend.catalog)}.{quote_backtick(schema)}"
    for row in backend.handle.run(f"SHOW TABLES IN {place}"):
        backend.handle.run(f"DROP TABLE {place}.{quote_backtick(row['tableName'])}")


def literal(value: Any, type_: Type) -> str:
    """A Python value as Spark SQL of exactly that type."""
    target = value_type(type_)
    if value is None:
        return f"CAST(NULL AS {target})"
    match type_:
        case Struct(fields):
            parts = [f"{literal_spark(f.name)}, {literal(value[f.name], f.type)}" for f in fields]
            return f"named_struct({', '.join(parts)})"
        case Array(element):
            inner = ", ".join(literal(v, element.type) for v in value)
            return f"array({inner})" if value else f"CAST(array() AS {target})"
        case Map(key, val):
            pairs = [f"{literal(k, key.type)}, {literal(v, val.type)}" for k, v in value.items()]
            return f"map({', '.join(pairs)})" if value else f"CAST(map() AS {target})"
        case _:
            return _scalar(value, target)


def _scalar(value: Any, target: str) -> str:
    match value:
        case bytes():
            return f"X'{value.hex()}'"
        case datetime() | date():
            return f"CAST('{value}' AS {target})"
        case str():
            return literal_spark(value)
        case _:
            return f"CAST('{value}' AS {target})"


def plain(value: Any, type_: Type) -> Any:
    """What Spark answers as plain Python values, structs by field name."""
    if value is None:
        return None
    match type_:
        case Struct(fields):
            return {f.name: plain(v, f.type) for f, v in zip(fields, value, strict=True)}
        case Array(element):
            return [plain(v, element.type) for v in value]
        case Map(key, val):
            return {plain(k, key.type): plain(v, val.type) for k, v in value.items()}
        case Timestamp(zone=True):
            # PySpark answers with the wall clock of this process.
            return value.astimezone(UTC)
        case _:
            return bytes(value) if isinstance(value, bytearray) else value
