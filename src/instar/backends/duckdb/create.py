"""CREATE TABLE with everything, and the comments that go with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from instar.backends.duckdb.types import type_sql
from instar.backends.sql import literal, qualified, quote_double
from instar.core.plan import Rung, Step
from instar.core.schema import Check, Constraint, Table, Unique
from instar.core.types import Column

NO_COLLATIONS: Mapping[str, str] = MappingProxyType({})


def create_step(table: Table) -> Step:
    """One transaction: the schema where it is missing, the table, its comments."""
    name = qualified(table.name)
    return Step(
        id=f"{table.name}/1",
        kind="create",
        rung=Rung.METADATA,
        title=f"create table {table.name}",
        sql=(
            f"CREATE SCHEMA IF NOT EXISTS {quote_double(table.name.schema)}",
            f"CREATE TABLE {name} {table_body(table)}",
            *comments(table, name),
        ),
        after=table,
    )


def table_body(table: Table, collations: Mapping[str, str] = NO_COLLATIONS) -> str:
    """The parenthesis after CREATE TABLE name."""
    parts = [column_sql(c, collations.get(c.name)) for c in table.columns]
    if table.primary_key:
        parts.append(f"PRIMARY KEY ({names(table.primary_key)})")
    parts += [constraint_sql(c) for c in table.constraints]
    return "(" + ", ".join(parts) + ")"


def column_sql(column: Column, collation: str | None = None) -> str:
    text = f"{quote_double(column.name)} {type_sql(column.type)}"
    if column.generated is not None:
        return f"{text} GENERATED ALWAYS AS ({column.generated})"
    if collation is not None:
        text += f" COLLATE {collation}"
    if column.default is not None:
        text += f" DEFAULT ({column.default})"
    return text if column.nullable else f"{text} NOT NULL"


def constraint_sql(constraint: Constraint) -> str:
    match constraint:
        case Check(name, expression):
            return f"CONSTRAINT {quote_double(name)} CHECK ({expression})"
        case Unique(name, columns):
            return f"CONSTRAINT {quote_double(name)} UNIQUE ({names(columns)})"


def names(columns: tuple[str, ...]) -> str:
    return ", ".join(quote_double(c) for c in columns)


def comments(table: Table, name: str) -> Iterator[str]:
    if table.comment is not None:
        yield comment_table(name, table.comment)
    for column in table.columns:
        if column.comment is not None:
            yield comment_column(name, column.name, column.comment)


def comment_table(name: str, text: str | None) -> str:
    return f"COMMENT ON TABLE {name} IS {literal(text)}"


def comment_column(name: str, column: str, text: str | None) -> str:
    return f"COMMENT ON COLUMN {name}.{quote_double(column)} IS {literal(text)}"
