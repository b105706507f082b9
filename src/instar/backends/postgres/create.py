"""CREATE TABLE with everything, and the comments that go with it."""

from __future__ import annotations

from collections.abc import Iterator

from instar.backends.postgres.facts import Facts
from instar.backends.postgres.types import type_sql
from instar.backends.sql import literal, qualified, quote_double
from instar.core.plan import Rung, Step
from instar.core.schema import Check, Constraint, Table, Unique
from instar.core.types import Column


def create_step(table: Table) -> Step:
    """One transaction: the schema where it is missing, the table, its comments."""
    name = qualified(table.name)
    parts = [column_sql(c) for c in table.columns]
    if table.primary_key:
        parts.append(f"PRIMARY KEY ({names(table.primary_key)})")
    parts += [constraint_sql(c) for c in table.constraints]
    return Step(
        id=f"{table.name}/1",
        kind="create",
        rung=Rung.METADATA,
        title=f"create table {table.name}",
        sql=(
            *schema_sql(table.name.schema),
            f"CREATE TABLE {name} ({', '.join(parts)})",
            *comments(table, name),
        ),
        after=table,
    )


def schema_sql(schema: str) -> Iterator[str]:
    if schema != "public":
        yield f"CREATE SCHEMA IF NOT EXISTS {quote_double(schema)}"


def column_sql(column: Column, facts: Facts = Facts(), origin: str | None = None) -> str:
    """A column as it is declared; `origin` is the live column whose engine facts it inherits."""
    text = f"{quote_double(column.name)} {type_sql(column.type)}"
    if origin is not None:
        text = f"{quote_double(column.name)} {facts.types.get(origin, type_sql(column.type))}"
        if collation := facts.collations.get(origin):
            text += f" COLLATE {collation}"
    if column.generated is not None:
        kind = "VIRTUAL" if origin in facts.virtual else "STORED"
        text += f" GENERATED ALWAYS AS ({column.generated}) {kind}"
    elif column.default is not None:
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
