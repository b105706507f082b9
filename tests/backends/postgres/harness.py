"""Rows into a PostgreSQL table and out again, apart from Instar."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from psycopg import sql
from psycopg.types.json import Jsonb, set_json_loads

from backends.postgres.world import SchemaWorld
from instar.backends.base import Backend
from instar.backends.sql import quote_double
from instar.core.schema import Table
from instar.core.types import Json, Type
from instar.testing.scenario import Row

set_json_loads(json.loads)


class PostgresHarness:
    def __init__(self, world: SchemaWorld) -> None:
        self.world = world
        self.backend: Backend = world.backend
        self.schema = world.schema

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        types = {c.name: c.type for c in table.columns}
        for row in rows:
            # A percent sign in a name would be read as a place for a value.
            quoted = ", ".join(quote_double(n).replace("%", "%%") for n in row)
            names = sql.SQL(quoted)
            marks = sql.SQL(", ").join(sql.Placeholder() for _ in row)
            place = sql.SQL(sql.Identifier(*_place(table)).as_string().replace("%", "%%"))
            values = [_value(v, types[n]) for n, v in row.items()]
            self.world.connection.execute(
                sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(place, names, marks), values
            )

    def rows(self, table: Table) -> list[dict[str, Any]]:
        # As binary: the text of a real is shorter than its value.
        cursor = self.world.connection.cursor(binary=True)
        cursor.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(*_place(table))))
        names = [d.name for d in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _place(table: Table) -> tuple[str, str]:
    return table.name.schema, table.name.name


def _value(value: Any, type_: Type) -> Any:
    return Jsonb(value) if isinstance(type_, Json) and value is not None else value
