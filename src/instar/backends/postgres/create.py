"""CREATE TABLE, with what only PostgreSQL says of a column."""

from __future__ import annotations

from dataclasses import replace

from instar.backends.postgres.facts import Facts
from instar.backends.postgres.script import Part, has_schema, has_table, script
from instar.backends.postgres.types import type_sql
from instar.backends.relational import create
from instar.backends.sql import quote_double
from instar.core.plan import Step
from instar.core.schema import Table
from instar.core.types import Column


def create_step(table: Table) -> Step:
    schema = table.name.schema
    if schema == "public":
        return create.create_step(table, column_sql, ())
    step = create.create_step(table, column_sql, (create.schema_sql(schema),))
    first, *rest = step.sql
    parts = [Part((first,), has_schema(schema)), Part(tuple(rest), has_table(table.name))]
    return replace(step, data=script(parts))


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
