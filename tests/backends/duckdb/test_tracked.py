"""A table that is declared as change-tracked: the declaration counts, DuckDB keeps no mark of it."""

from __future__ import annotations

import pytest

from backends.duckdb.world import World, want
from backends.world import REORDER, rung
from instar.core.plan import Rung
from instar.core.schema import Check
from instar.core.types import Column, Integer

A, B, C = (Column(name, Integer(32)) for name in "abc")


@pytest.fixture
def live(world: World) -> World:
    world.sql("CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 2)")
    return world


def test_it_is_never_reordered_and_its_order_is_told(live: World) -> None:
    plan = live.plan(want(B, A, change_tracking=True), REORDER)
    assert plan.steps == ()
    assert plan.normalized_columns == ("a", "b")
    assert "F401" in [f.code for f in plan.findings]
    assert rung(live.plan(want(B, A), REORDER)) is Rung.REWRITE


def test_new_columns_come_at_its_end(live: World) -> None:
    plan = live.apply(want(C, A, B, change_tracking=True), REORDER)
    assert rung(plan) is Rung.METADATA
    assert plan.normalized_columns == ("a", "b", "c")
    assert live.sql("SELECT * FROM t") == [(1, 2, None)]


def test_it_is_never_rewritten(live: World) -> None:
    plan = live.plan(want(A, B, constraints=(Check("k", "a > 0"),), change_tracking=True))
    assert plan.blocked
    assert "F403" in [f.code for f in plan.findings]


def test_it_is_created_and_then_there_is_nothing_to_do(world: World) -> None:
    world.apply(want(A, B, change_tracking=True))
