"""DuckDB passes the conformance suite of all backends."""

from __future__ import annotations

import pytest

from backends.duckdb.harness import DuckDBHarness
from backends.duckdb.world import World
from instar.testing import DEEP_EXTREMES, SCENARIOS, NotKept, Scenario, emptied, run_scenario

NOT_KEPT = {
    "text becomes varchar, too long": NotKept("F602", "DuckDB keeps no length"),
    "make a field of a struct NOT NULL, with NULLs": NotKept("F603", "NOT NULL is kept at the top"),
}


@pytest.mark.parametrize("scenario", [DEEP_EXTREMES, *SCENARIOS, *map(emptied, SCENARIOS)], ids=str)
def test_conformance(world: World, scenario: Scenario) -> None:
    run_scenario(DuckDBHarness(world.connection), scenario, NOT_KEPT.get(scenario.name))
