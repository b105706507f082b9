"""A table that is declared as change-tracked, where the format keeps no mark of it: without an engine."""

from __future__ import annotations

import pytest

from backends.spark.lake import IN_ORDER, col
from instar.backends.spark.iceberg_rules import IcebergRules
from instar.backends.spark.parquet_rules import ParquetRules
from instar.core.capabilities import Rules
from instar.core.plan import Cost, TablePlan
from instar.core.planner import draft, finish
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import Column

RULES: dict[str, Rules] = {"iceberg": IcebergRules(), "parquet": ParquetRules()}
A, B, C = col("a", "int"), col("b", "int"), col("c", "int")


def planned(format_: str, *columns: Column, tracked: bool | None) -> TablePlan:
    """From a live table (a, b)."""
    name = TableName("db", "t")
    live = Table(name, (A, B), format_, extras={"external": "yes", "location": "/w/t"})
    wanted = Wanted(Table(name, columns, format_, change_tracking=tracked))
    rules = RULES[format_]
    return finish(draft(wanted, live, rules, IN_ORDER), (), Cost(), rules)


@pytest.mark.parametrize("format_", RULES)
def test_the_declaration_counts(format_: str) -> None:
    moved = planned(format_, B, A, tracked=True)
    assert moved.steps == ()
    assert moved.normalized_columns == ("a", "b")
    assert "F401" in [f.code for f in moved.findings]
    assert planned(format_, B, A, tracked=None).steps
    assert planned(format_, C, A, B, tracked=True).normalized_columns == ("a", "b", "c")
    retyped = planned(format_, col("a", "string"), B, tracked=True)
    assert "F403" in [f.code for f in retyped.findings]
