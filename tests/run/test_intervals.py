"""Which intervals a run builds: marks go with the table, a part is no whole, no row is lost in silence."""

from __future__ import annotations

import pytest

from instar.run.running import RunOptions
from models.world import World

DAYS = "materialization: incremental\nincremental: {event_time_column: ts, granularity: day}"
MONTHS = DAYS.replace("day", "month")
TEN_DAYS = (
    "CREATE TABLE src AS SELECT i AS id, TIMESTAMP '2024-01-01' + to_hours(i::INTEGER) AS ts"
    " FROM range(240) AS t(i)"
)
QUERY = "SELECT id, ts FROM src"


def count(world: World) -> int:
    return int(world.sql("SELECT count(*) FROM ev")[0][0])


def test_a_table_that_is_gone_takes_its_intervals_with_it(world: World) -> None:
    world.sql(TEN_DAYS)
    world.model("ev", QUERY, DAYS)
    world.run()
    world.sql("DROP TABLE ev", "SELECT 1")
    world.run()
    assert count(world) == 240
    world.sql("DROP TABLE ev", "SELECT 1")
    world.apply()
    world.run()
    assert count(world) == 240, "created by an apply"


def test_a_table_that_was_built_as_a_whole_in_between(world: World) -> None:
    world.sql(TEN_DAYS)
    world.model("ev", QUERY, DAYS)
    world.run()
    world.model("ev", f"{QUERY} WHERE id < 24")
    world.run()
    world.model("ev", QUERY, DAYS)
    world.run()
    assert count(world) == 240


def test_a_first_run_of_some_intervals_is_no_whole_build(world: World) -> None:
    world.sql(TEN_DAYS)
    world.model("ev", QUERY, DAYS)
    world.run(options=RunOptions(start="2024-01-02", end="2024-01-03"))
    assert count(world) == 24
    world.run()
    assert count(world) == 240
    assert [r.status for r in world.run().results] == ["skipped"]


def test_what_is_new_waits_for_the_run_after_a_range(world: World) -> None:
    world.sql(TEN_DAYS)
    world.model("ev", QUERY, DAYS)
    world.run()
    world.sql("INSERT INTO src VALUES (999, TIMESTAMP '2024-01-15')", "SELECT 1")
    world.run(options=RunOptions(start="2024-01-01", end="2024-01-02"))
    assert count(world) == 240
    world.run()
    assert count(world) == 241


def test_another_granularity_has_other_intervals(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id, TIMESTAMP '2024-01-01' AS ts", "SELECT 1")
    world.sql("INSERT INTO src VALUES (2, TIMESTAMP '2024-01-02')", "SELECT 1")
    world.model("ev", QUERY, DAYS)
    world.run()
    world.model("ev", QUERY, MONTHS)
    world.run()
    world.sql("INSERT INTO src VALUES (3, TIMESTAMP '2024-01-20')", "SELECT 1")
    world.run()
    assert count(world) == 3


@pytest.mark.parametrize("full", [False, True], ids=["intervals", "full refresh"])
def test_a_row_without_an_event_time_is_an_error(world: World, full: bool) -> None:
    world.sql(TEN_DAYS)
    world.model("ev", QUERY, DAYS)
    world.run()
    world.sql("INSERT INTO src VALUES (900, NULL), (901, TIMESTAMP '2024-02-01')", "SELECT 1")
    (result,) = world.run(options=RunOptions(full_refresh=full)).results
    assert result.status == "failed"
    assert (result.error or "").startswith("E430: the incremental key 'ts' of main.ev is NULL")
    assert count(world) == 240
