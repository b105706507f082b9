"""CREATE TABLE, with what only DuckDB says of a column."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from instar.backends.duckdb.types import type_sql
from instar.backends.relational import create
from instar.backends.sql import quote_double
from instar.core.plan import Step
from instar.core.schema import Table
from instar.core.types import Column

NO_COLLATIONS: Mapping[str, str] = MappingProxyType({})


def create_step(table: Table) -> Step:
    return create.create_step(table, column_sql, (create.schema_sql(table.name.schema),))


def table_body(table: Table, collations: Mapping[str, str] = NO_COLLATIONS) -> str:
    """The parenthesis after CREATE TABLE name."""
    return create.table_body(table, lambda c: column_sql(c, collations.get(c.name)))


def column_sql(column: Column, collation: str | None = None) -> str:
    text = f"{quote_double(column.name)} {type_sql(column.type)}"
    if column.generated is not None:
        return f"{text} GENERATED ALWAYS AS ({column.generated})"
    if collation is not None:
        text += f" COLLATE {collation}"
    if column.default is not None:
        text += f" DEFAULT ({column.default})"
    return text if column.nullable else f"{text} NOT NULL"
