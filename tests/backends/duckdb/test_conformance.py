"""DuckDB passes the conformance suite of all backends."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

from backends.duckdb.world import World
from instar.backends.duckdb.backend import DuckDBBackend
from instar.backends.duckdb.types import type_sql
from instar.backends.sql import qualified, quote_double
from instar.core.schema import Table
from instar.core.types import Array, Map, Struct, Type
from instar.testing import DEEP_EXTREMES, SCENARIOS, NotKept, Scenario, emptied, run_scenario

NOT_KEPT = {
    "text becomes varchar, too long": NotKept("F602", "DuckDB keeps no length"),
    "make a field of a struct NOT NULL, with NULLs": NotKept("F603", "NOT NULL is kept at the top"),
}


class DuckDBHarness:
    schema = "main"

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.connection.execute("SET TimeZone = 'UTC'")
        self.backend = DuckDBBackend(connection)

    def insert(self, table: Table, rows: Sequence[Any]) -> None:
        types = {c.name: c.type for c in table.columns}
        for row in rows:
            columns = ", ".join(quote_double(name) for name in row)
            values: list[Any] = []
            marks = ", ".join(_value(types[name], value, values) for name, value in row.items())
            sql = f"INSERT INTO {qualified(table.name)} ({columns}) VALUES ({marks})"
            self.connection.execute(sql, values)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        cursor = self.connection.execute(f"SELECT * FROM {qualified(table.name)}")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _value(type_: Type, value: Any, values: list[Any]) -> str:
    """The value in SQL, its scalars as parameters."""
    sql = type_sql(type_)
    if value is None:
        return f"CAST(NULL AS {sql})"
    match type_:
        case Struct(fields):
            inner = [
                f"{quote_double(f.name)} := {_value(f.type, value[f.name], values)}" for f in fields
            ]
            return f"struct_pack({', '.join(inner)})"
        case Array(element):
            return f"CAST([{', '.join(_value(element.type, v, values) for v in value)}] AS {sql})"
        case Map(key, inner_value):
            keys = ", ".join(_value(key.type, k, values) for k in value)
            items = ", ".join(_value(inner_value.type, v, values) for v in value.values())
            return f"CAST(map([{keys}], [{items}]) AS {sql})"
        case _:
            # A long decimal would go through a double on its way in.
            values.append(str(value) if isinstance(value, decimal.Decimal) else value)
            return f"CAST(? AS {sql})"


@pytest.mark.parametrize("scenario", [DEEP_EXTREMES, *SCENARIOS, *map(emptied, SCENARIOS)], ids=str)
def test_conformance(world: World, scenario: Scenario) -> None:
    run_scenario(DuckDBHarness(world.connection), scenario, NOT_KEPT.get(scenario.name))
