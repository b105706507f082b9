"""The conformance suite on PostgreSQL, and what is otherwise there, each with its reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb, set_json_loads

from backends.postgres.world import World
from instar.backends.base import Backend
from instar.backends.sql import quote_double
from instar.core.schema import Table
from instar.core.types import Array, Column, Json, Map, Struct, Type
from instar.testing import SCENARIOS, Scenario, emptied, run_scenario
from instar.testing.scenario import Row, Shape

set_json_loads(json.loads)


class PostgresHarness:
    def __init__(self, world: World) -> None:
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
            place = sql.Identifier(table.name.schema, table.name.name)
            values = [_value(v, types[n]) for n, v in row.items()]
            self.world.connection.execute(
                sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(place, names, marks), values
            )

    def rows(self, table: Table) -> list[dict[str, Any]]:
        place = sql.Identifier(table.name.schema, table.name.name)
        # As binary: the text of a real is shorter than its value.
        cursor = self.world.connection.cursor(binary=True)
        cursor.execute(sql.SQL("SELECT * FROM {}").format(place))
        names = [d.name for d in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _value(value: Any, type_: Type) -> Any:
    return Jsonb(value) if isinstance(type_, Json) and value is not None else value


# What is another thing on PostgreSQL: no row is lost, but the scenario's rows do not apply.
OTHERWISE: dict[str, str] = {
    "narrow int to tinyint, out of range": "there is no tinyint: smallint holds 128 and 300",
    "make a field of a struct NOT NULL, with NULLs": "jsonb has no NOT NULL inside",
    "narrow a field of a struct, out of range": "numbers in jsonb have no width",
    "narrow the values of a map, out of range": "numbers in jsonb have no width",
    "add a field with a fill to a struct": "jsonb has no fields to fill",
    "widen the keys of a map": "keys in jsonb are text",
    "two keys of a map would become one": "keys in jsonb are text",
    "widen float to double in a struct": "jsonb has no NaN",
    "widen a decimal in the values of a map": "the harness reads numbers in jsonb as floats",
}


def _is_document(type_: Type) -> bool:
    """A type that PostgreSQL keeps as jsonb."""
    match type_:
        case Struct() | Map():
            return True
        case Array(element):
            return _is_document(element.type) or isinstance(element.type, Array)
        case _:
            return False


def _as_json(shape: Shape) -> Shape:
    def kept(column: Column) -> Column:
        return replace(column, type=Json()) if _is_document(column.type) else column

    return replace(shape, columns=tuple(map(kept, shape.columns)))


def documents(scenario: Scenario) -> set[str]:
    columns = (*scenario.live.columns, *scenario.wanted.columns)
    return {c.name for c in columns if _is_document(c.type)}


def on_postgres(scenario: Scenario) -> Scenario:
    """Structs and maps are documents: what is declared inside them changes no value."""
    names = documents(scenario)
    if not names or scenario.after is None:
        return scenario
    before = {row["id"]: row for row in scenario.rows}
    renamed = {
        path[0]: hint.renamed_from for path, hint in scenario.hints.items() if len(path) == 1
    }

    def kept(row: Row) -> Row:
        was = before[row["id"]]
        return {
            name: was.get(renamed.get(name) or name) if name in names else value
            for name, value in row.items()
        }

    return replace(
        scenario,
        live=_as_json(scenario.live),
        wanted=_as_json(scenario.wanted),
        hints={path: hint for path, hint in scenario.hints.items() if len(path) == 1},
        after=tuple(map(kept, scenario.after)),
    )


ALL = [on_postgres(s) for s in SCENARIOS if s.name not in OTHERWISE]


@pytest.mark.parametrize("scenario", [*ALL, *map(emptied, ALL)], ids=str)
def test_conformance(world: World, scenario: Scenario) -> None:
    run_scenario(PostgresHarness(world), scenario)


def test_the_table_of_exceptions_has_no_stale_row() -> None:
    assert set(OTHERWISE) <= {s.name for s in SCENARIOS}
