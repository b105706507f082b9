"""A table that is declared as change-tracked: the declaration counts, PostgreSQL keeps no mark of it."""

from __future__ import annotations

import pytest

from backends.postgres.world import World
from backends.world import REORDER, rung
from instar.core.plan import Rung
from instar.core.types import Column, Integer

A, B, C = (Column(name, Integer(32)) for name in "abc")


@pytest.fixture
def live(world: World) -> World:
    world.sql("CREATE TABLE t (a INT, b INT)")
    world.sql("INSERT INTO t VALUES (1, 2)")
    return world


def test_it_is_never_reordered_and_its_order_is_told(live: World) -> None:
    plan = live.plan(live.want(B, A, change_tracking=True), REORDER)
    assert plan.steps == ()
    assert plan.normalized_columns == ("a", "b")
    assert "F401" in [f.code for f in plan.findings]
    assert rung(live.plan(live.want(B, A), REORDER)) is Rung.REWRITE


def test_new_columns_come_at_its_end(live: World) -> None:
    plan = live.apply(live.want(C, A, B, change_tracking=True), REORDER)
    assert rung(plan) is Rung.METADATA
    assert plan.normalized_columns == ("a", "b", "c")
    assert live.sql("SELECT * FROM t") == [(1, 2, None)]


def test_it_is_never_recreated(live: World) -> None:
    wider = Column("a", Integer(64))
    plan = live.plan(live.want(wider, B, change_tracking=True))
    assert plan.blocked
    assert "F403" in [f.code for f in plan.findings]
    assert rung(live.plan(live.want(wider, B))) is Rung.REWRITE
