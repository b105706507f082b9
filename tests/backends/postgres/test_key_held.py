"""A primary key by which others group is held by them; an index whose key is not made is dropped, or used later."""

from __future__ import annotations

import psycopg
import pytest

from backends.postgres.world import World
from backends.world import INT, TEXT
from instar.core.schema import Wanted
from instar.core.types import Column
from instar.errors import EngineError, OutcomeUnknown

GROUPED = {
    "a view": ("CREATE VIEW g AS SELECT id, code FROM t GROUP BY id", "the view {s}.g"),
    "a function": (
        "CREATE FUNCTION g() RETURNS text LANGUAGE sql BEGIN ATOMIC SELECT code FROM t GROUP BY id; END",
        "function {s}.g()",
    ),
}


def keyed_by_code(world: World) -> Wanted:
    columns = (Column("id", INT, nullable=False), Column("code", TEXT, nullable=False))
    return world.want(*columns, primary_key=("code",))


@pytest.mark.parametrize("case", GROUPED)
def test_a_key_by_which_others_group_stays(world: World, case: str) -> None:
    ddl, words = GROUPED[case]
    world.sql(f"CREATE TABLE t (id int PRIMARY KEY, code text NOT NULL); {ddl}")
    plan = world.plan(keyed_by_code(world))
    said = next(f.message for f in plan.findings if f.code == "F601")
    assert f"{words.format(s=world.schema)} groups by the primary key" in said
    assert plan.steps == ()


def test_a_key_that_is_refused_leaves_no_index(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, code text NOT NULL)")
    plan = world.plan(keyed_by_code(world))
    world.sql(GROUPED["a view"][0])
    with pytest.raises(EngineError, match="other objects depend on it"):
        world.run(plan)
    names = "SELECT relname FROM pg_class WHERE relkind = 'i' AND relnamespace = %s::regnamespace"
    assert world.sql(names, [world.schema]) == [("t_pkey",)]


def test_an_index_that_waits_for_a_lock_is_not_forgotten(
    world: World, other: psycopg.Connection[tuple[object, ...]]
) -> None:
    """It refuses rows already: the step stays open, and goes on with it."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, code text NOT NULL)")
    plan = world.plan(keyed_by_code(world))
    other.execute("BEGIN; SELECT * FROM t")
    with pytest.raises(OutcomeUnknown) as caught:
        world.run(plan)
    assert caught.value.code == "E253"
    assert "goes on with it" in str(caught.value.hint)
    other.execute("ROLLBACK")
    world.run(plan)
    live = world.live()
    assert live is not None
    assert live.primary_key == ("code",)
