"""The conformance suite on the DSQL test bed. Tables have the key `id`: without one nothing is copied.

A telling sample by default; INSTAR_ALL=1 runs every scenario, and each on an empty table too.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from backends.dsql.world import World
from backends.postgres.harness import PostgresHarness
from backends.postgres.test_conformance_postgres import OTHERWISE, on_postgres
from instar.testing import SCENARIOS, NotKept, Refused, Scenario, emptied, run_scenario
from instar.testing.scenario import Shape

_NO_KEY = "a table without a key is never copied, and a key comes only with a new table"
EXCEPTIONS: dict[str, Refused | NotKept] = {
    "declare a primary key, clean": Refused("F601", _NO_KEY),
    "declare a primary key, rows share it": Refused("F601", _NO_KEY),
    "declare a primary key, NULLs in it": Refused("F601", _NO_KEY),
    "narrow the elements of an array, out of range": NotKept("F602", "arrays are kept as jsonb"),
    "comment on a column": NotKept("F604", "the service does not comment on columns"),
}
"""What the service has not: blocked by a finding, or not kept and said so."""

SAMPLE = (
    "add a column with a lasting default",
    "add a NOT NULL column with a fill",
    "add a NOT NULL column with no value for old rows",
    "add a column computed from the old row",
    "add a column in the middle and take over the order",
    "drop a column",
    "three columns pass their names round",
    "rename and widen a column in one go",
    "widen float to double",
    "narrow bigint to int, out of range",
    "text to timestamp, clean",
    "narrow the elements of an array, out of range",
    "make a column NOT NULL and fill its NULLs",
    "drop a default",
    "comment on a column",
    "comment on the table",
    "declare a primary key, clean",
    "change the primary key, clean",
    "drop the primary key",
    "add a unique constraint, clean",
    "add a unique constraint, two rows share a value",
    "add a check, NULL passes",
    "drop a check",
    "split a column in two and drop it",
    "several changes at once, in a new order",
    "widen columns with odd names",
    "rename odd names to odd names",
)


def _keyed(shape: Shape) -> Shape:
    columns = tuple(replace(c, nullable=False) if c.name == "id" else c for c in shape.columns)
    return replace(shape, columns=columns, primary_key=("id",))


def on_dsql(scenario: Scenario) -> Scenario:
    """With a key, unless the scenario is about keys or has no `id` to the end."""
    about = scenario.live.primary_key or scenario.wanted.primary_key
    if about or not any(c.name == "id" for c in scenario.wanted.columns):
        return scenario
    return replace(scenario, live=_keyed(scenario.live), wanted=_keyed(scenario.wanted))


ALL = [on_dsql(on_postgres(s)) for s in SCENARIOS if s.name not in OTHERWISE]
CHOSEN = (
    [*ALL, *map(emptied, ALL)]
    if os.environ.get("INSTAR_ALL")
    else [s for s in ALL if s.name in SAMPLE]
)


@pytest.mark.parametrize("scenario", CHOSEN, ids=str)
def test_conformance(world: World, scenario: Scenario) -> None:
    name = scenario.name.removesuffix(", empty")
    run_scenario(PostgresHarness(world), scenario, EXCEPTIONS.get(name))


def test_every_name_in_the_tables_is_a_scenario() -> None:
    assert {*SAMPLE, *EXCEPTIONS} <= {s.name for s in SCENARIOS}
