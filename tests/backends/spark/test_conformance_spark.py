"""Delta, Iceberg and Parquet on Spark pass the conformance suite.

A telling sample by default; INSTAR_ALL=1 runs every scenario, and each on an empty table too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from backends.spark.harness import BACKENDS, SparkHarness, own_schema
from instar.spark import SparkHandle
from instar.testing import (
    DEEP_EXTREMES,
    SCENARIOS,
    NotKept,
    Refused,
    Scenario,
    emptied,
    run_scenario,
)
from instar.testing.runner import Exceptional

pytestmark = pytest.mark.spark

_LIMITED = "add text with a limit beside fields with odd names"

SAMPLE = (
    "add a column beside every type at its extremes",
    "drop a field of the values of a map",
    "swap the names of two columns",
    "rename a field inside a renamed struct",
    "widen float to double in a struct",
    "narrow the elements of an array, out of range",
    "several changes at once, in a new order",
    "split a column in two and drop it",
    "change fields with odd names",
    _LIMITED,
    "add a NOT NULL column with no value for old rows",
    "add a NOT NULL field with no value for old rows",
)

ALIKE = {
    "drop a field of the values of a map",
    "swap the names of two columns",
    "widen float to double in a struct",
    "split a column in two and drop it",
}
"""On Parquet each is the same copy of the table, and so is what else the sample has."""

_UNCHECKED = "Spark's Iceberg keeps a limited type as the wider one, and checks no limit"
_NO_CONSTRAINTS = "the format holds rows to no constraint"
_ALL_NULLABLE = "a Parquet table on Spark has no NOT NULL"
_UNREADABLE = "Spark writes the limits of nested text down without quotes around names"
_ROWS = ({"id": 1, "a": "x"}, {"id": 2, "a": None})

_CONSTRAINTS: dict[str, Exceptional] = {
    "add a unique constraint, two rows share a value": NotKept("F603", _NO_CONSTRAINTS),
    "a unique column called n, zero twice": NotKept("F603", _NO_CONSTRAINTS),
    "add a check that a row fails": NotKept("F603", _NO_CONSTRAINTS),
}

EXCEPTIONS: dict[str, dict[str, Exceptional]] = {
    "delta": {_LIMITED: Refused("F601", _UNREADABLE)},
    "iceberg": {
        **_CONSTRAINTS,
        "narrow int to tinyint, out of range": NotKept("F602", _UNCHECKED),
        "text becomes varchar, too long": NotKept("F602", _UNCHECKED),
        _LIMITED: NotKept("F602", _UNCHECKED),
    },
    "parquet": {
        _LIMITED: Refused("F601", _UNREADABLE),
        **_CONSTRAINTS,
        "make a column NOT NULL, with NULLs": NotKept("F603", _ALL_NULLABLE),
        "make a field of a struct NOT NULL, with NULLs": NotKept("F603", _ALL_NULLABLE),
        "make a column NOT NULL and fill its NULLs": NotKept(
            "F603", _ALL_NULLABLE, ({"id": 1, "a": "x"}, {"id": 2, "a": "y"}, {"id": 3, "a": None})
        ),
        "add a NOT NULL column whose fill is NULL in one row": NotKept(
            "F603", _ALL_NULLABLE, tuple({**row, "b": row["a"]} for row in _ROWS)
        ),
    },
}
"""What a format cannot do, with the finding that says so."""


def _chosen() -> list[Scenario]:
    if os.environ.get("INSTAR_ALL"):
        return [DEEP_EXTREMES, *SCENARIOS, *map(emptied, SCENARIOS)]
    return [DEEP_EXTREMES, *(s for s in SCENARIOS if s.name in SAMPLE)]


def _left_out(format_: str, scenario: Scenario) -> bool:
    return format_ == "parquet" and scenario.name in ALIKE and not os.environ.get("INSTAR_ALL")


PAIRS = [
    pytest.param(format_, scenario, id=f"{format_}-{scenario}")
    for format_ in BACKENDS
    for scenario in _chosen()
    if not _left_out(format_, scenario)
]


@pytest.fixture(scope="module")
def harness(request: pytest.FixtureRequest, spark: SparkHandle) -> Iterator[SparkHarness]:
    with own_schema(spark, request.param, "conformance") as made:
        yield made


@pytest.mark.parametrize(("harness", "scenario"), PAIRS, indirect=["harness"])
def test_conformance(harness: SparkHarness, scenario: Scenario) -> None:
    known = EXCEPTIONS[harness.backend.rules.name]
    run_scenario(harness, scenario, known.get(scenario.name.removesuffix(", empty")))


def test_every_name_in_the_tables_is_a_scenario() -> None:
    names = {s.name for s in SCENARIOS}
    assert set(SAMPLE) <= names
    assert set(SAMPLE) >= ALIKE
    assert all(set(table) <= names for table in EXCEPTIONS.values())
