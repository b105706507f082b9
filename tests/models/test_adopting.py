"""What bears a model's name and was not made by Instar: left alone, unless a word adopts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.running import instar
from instar.apply.failpoints import POINT
from instar.core.plan import Status
from instar.errors import Blocked, ConfirmationNeeded
from instar.run.options import RunOptions
from models.world import World, errors

VIEW = "materialization: view"
MERGE = "materialization: incremental\nincremental: {unique_key: id}"


def stranger(world: World) -> None:
    world.sql(
        "CREATE TABLE src AS SELECT 2 AS id, 20 AS v",
        "CREATE TABLE keep AS SELECT 1 AS id, 10 AS v",
    )


@pytest.mark.parametrize("front", ["", VIEW, MERGE], ids=["table", "view", "incremental"])
def test_a_table_that_no_model_made_is_left_alone(world: World, front: str) -> None:
    stranger(world)
    world.model("keep", "SELECT id, v FROM src", front)
    plan = world.table("keep")
    assert errors(plan) == ["F706"]
    assert "1 row " in plan.findings[0].message
    with pytest.raises(Blocked):
        world.run()
    assert world.sql("SELECT * FROM keep") == [(1, 10)]


def test_a_word_adopts_it_and_the_old_rows_are_kept(world: World) -> None:
    stranger(world)
    world.model("keep", "SELECT id, v FROM src")
    with pytest.raises(ConfirmationNeeded):
        world.project.run(policy=world.plan("allow_full_refresh").policy)
    world.run(flags=["allow_full_refresh"])
    assert world.sql("SELECT * FROM keep") == [(2, 20)]
    assert world.sql("SELECT * FROM keep__instar_old_1") == [(1, 10)]
    assert [k.kept_name.name for k in world.project.kept()] == ["keep__instar_old_1"]
    assert [r.status for r in world.run().results] == ["skipped"]


@pytest.mark.parametrize("front", ["", VIEW, MERGE], ids=["table", "view", "incremental"])
def test_an_index_does_not_hold_a_table_in_its_place(world: World, front: str) -> None:
    stranger(world)
    world.sql("CREATE UNIQUE INDEX by_id ON keep (id)", "SELECT 1")
    world.model("keep", "SELECT id, v FROM src", front)
    world.run(flags=["allow_full_refresh"])
    assert world.sql("SELECT * FROM keep") == [(2, 20)]
    assert world.sql("SELECT * FROM keep__instar_old_1") == [(1, 10)]
    indexes = world.sql("SELECT table_name FROM duckdb_indexes()")
    assert indexes == ([] if front == VIEW else [("keep",)])


def test_an_adoption_that_fails_leaves_it_somebody_elses(world: World) -> None:
    stranger(world)
    world.model("keep", "SELECT id, ('x' || v)::INTEGER AS v FROM src")
    (result,) = world.run(flags=["allow_full_refresh"]).results
    assert result.status == "failed"
    world.model("keep", "SELECT id, v FROM src")
    assert errors(world.table("keep")) == ["F706"]
    assert world.sql("SELECT * FROM keep") == [(1, 10)]


def test_a_full_refresh_of_everything_adopts_nothing(world: World) -> None:
    stranger(world)
    world.model("keep", "SELECT id, v FROM src")
    with pytest.raises(Blocked):
        world.run(options=RunOptions(full_refresh=True))


@pytest.mark.parametrize("point", ["refresh:applying", "refresh:ran"])
def test_an_adoption_that_was_killed_keeps_the_old_rows(world: World, point: str) -> None:
    stranger(world)
    world.model("keep", "SELECT id, v FROM src")
    args = ("run", "--allow-full-refresh", "--yes", "--project", str(world.root))
    assert instar(*args, env={POINT: point}).code < 0
    assert instar(*args).code == 0
    assert world.sql("SELECT * FROM keep") == [(2, 20)]
    assert world.sql("SELECT * FROM keep__instar_old_1") == [(1, 10)]


def test_somebody_elses_view_is_not_replaced_by_a_view(world: World) -> None:
    stranger(world)
    world.sql("CREATE VIEW w AS SELECT 1 AS id")
    world.model("w", "SELECT id FROM src", VIEW)
    assert errors(world.table("w")) == ["F706"]
    (step,) = world.table("w", "allow_full_refresh").steps
    assert step.confirm is not None
    world.run(flags=["allow_full_refresh"])
    assert world.sql("SELECT * FROM w") == [(2,)]


def test_what_an_apply_created_is_a_models(world: World) -> None:
    stranger(world)
    world.model("made", "SELECT id FROM src", MERGE)
    world.apply()
    world.sql("INSERT INTO made VALUES (7)")
    assert world.table("made").status is Status.NO_CHANGE


def test_a_lost_state_store_blocks_too(world: World) -> None:
    stranger(world)
    world.model("made", "SELECT id FROM src")
    world.run()
    for file in Path(world.root, ".instar").glob("state*"):
        file.unlink()
    plan = world.table("made")
    assert errors(plan) == ["F706"]
    assert "state store was lost" in (plan.findings[0].hint or "")


def test_a_full_refresh_of_an_incremental_model_asks_with_counts(world: World) -> None:
    stranger(world)
    world.model("m", "SELECT id, v FROM src", MERGE)
    world.run()
    world.sql("DELETE FROM src", "INSERT INTO src VALUES (3, 3), (4, 4)")
    world.run()
    asked: list[str] = []
    with pytest.raises(ConfirmationNeeded):
        world.project.run(
            options=RunOptions(full_refresh=True),
            confirm=lambda questions: asked.extend(q.text for q in questions) or False,
        )
    assert asked == ["[main.m] --full-refresh replaces 3 rows by 2 that its query gives now"]
    assert world.sql("SELECT count(*) FROM m") == [(3,)]
