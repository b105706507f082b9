"""The conformance suite on PostgreSQL, and what is otherwise there, each with its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backends.postgres.harness import PostgresHarness
from backends.postgres.world import World
from instar.core.types import Array, Column, Json, Map, Struct, Type
from instar.testing import SCENARIOS, Scenario, emptied, run_scenario
from instar.testing.scenario import Row, Shape

# What is another thing on PostgreSQL: no row is lost, but the scenario's rows do not apply.
OTHERWISE: dict[str, str] = {
    "narrow int to tinyint, out of range": "there is no tinyint: smallint holds 128 and 300",
    "make a field of a struct NOT NULL, with NULLs": "jsonb has no NOT NULL inside",
    "add a NOT NULL field with no value for old rows": "jsonb has no NOT NULL inside",
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
