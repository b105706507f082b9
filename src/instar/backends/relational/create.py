"""CREATE TABLE with everything, and the comments that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from instar.backends.sql import literal, qualified, quote_double
from instar.core.plan import Rung, Step
from instar.core.schema import Check, Constraint, Table, Unique
from instar.core.types import Column


def create_step(table: Table, column_sql: Callable[[Column], str], schema: Iterable[str]) -> Step:
    """One transaction: `schema` makes the schema where it is missing, then the table, its comments."""
    name = qualified(table.name)
    return Step(
        id=f"{table.name}/1",
        kind="create",
        rung=Rung.METADATA,
        title=f"create table {table.name}",
        sql=(
            *schema,
            f"CREATE TABLE {name} {table_body(table, column_sql)}",
            *comments(table, name),
        ),
        after=table,
    )


def schema_sql(schema: str) -> str:
    return f"CREATE SCHEMA IF NOT EXISTS {quote_double(schema)}"


def table_body(table: Table, column_sql: Callable[[Column], str]) -> str:
    """The parenthesis after CREATE TABLE name."""
    parts = [column_sql(c) for c in table.columns]
    if table.primary_key:
        parts.append(f"PRIMARY KEY ({names(table.primary_key)})")
    parts += [constraint_sql(c) for c in table.constraints]
    return "(" + ", ".join(parts) + ")"


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
