"""A run that was cut off after a commit: what is resumed later is built from what there is then."""

from __future__ import annotations

import pytest

from instar.apply.failpoints import Failpoints
from instar.run.options import RunOptions
from models.world import World, statuses

MERGE = "materialization: incremental\nincremental: {unique_key: id}"
EVENTS = "materialization: incremental\nincremental: {event_time_column: ts, granularity: day}"
FRONTS = {"table": "", "merge": MERGE, "intervals": EVENTS}


class Killed(BaseException):
    """What a SIGKILL leaves behind is what an error that nobody catches leaves behind."""


def cut_off(world: World, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    def reached(self: Failpoints, name: str) -> None:
        if name == point:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Failpoints, "__call__", reached)
        with pytest.raises(Killed):
            world.run()


def shop(world: World, front: str) -> None:
    world.sql(
        "CREATE TABLE src (id INT, ts TIMESTAMP)",
        "INSERT INTO src VALUES (1, '2024-01-01 10:00'), (2, '2024-01-02 10:00')",
    )
    world.model("m", "SELECT id, ts FROM src", front)
    world.run()
    world.sql("INSERT INTO src VALUES (3, '2024-01-02 11:00')")


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS.keys())
def test_rows_that_came_after_the_commit(
    world: World, monkeypatch: pytest.MonkeyPatch, front: str
) -> None:
    shop(world, front)
    committed = "interval:committed" if front == EVENTS else "build:committed"
    cut_off(world, monkeypatch, committed)
    assert world.sql("SELECT count(*) FROM m") == [(3,)]
    world.sql("INSERT INTO src VALUES (4, '2024-01-02 12:00')")
    world.run(resume=True)
    assert world.sql("SELECT count(*) FROM m") == [(4,)]


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS.keys())
def test_a_query_that_changed_after_the_commit(
    world: World, monkeypatch: pytest.MonkeyPatch, front: str
) -> None:
    shop(world, front)
    committed = "interval:committed" if front == EVENTS else "build:committed"
    cut_off(world, monkeypatch, committed)
    world.model("m", "SELECT id + 100 AS id, ts FROM src", front)
    world.run(resume=True)
    assert world.sql("SELECT max(id) FROM m") == [(103,)]


def test_what_was_committed_is_not_built_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(world, MERGE)
    cut_off(world, monkeypatch, "build:committed")
    marks = world.sql("SELECT * FROM __instar_marks")
    (result,) = world.run(resume=True).results
    assert (result.status, result.rows) == ("built", 3)
    assert len(marks) == 1


def test_a_model_that_was_done_and_has_changed_since(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id")
    world.model("a", "SELECT id FROM src")
    world.model("b", "SELECT id FROM a")
    world.model("c", "SELECT id FROM src WHERE error('not yet') IS NULL")
    world.model("d", "SELECT id FROM src")
    assert not world.run().ok
    world.model("a", "SELECT id, id * 2 AS twice FROM src")
    world.model("b", "SELECT id + 1 AS id, twice FROM a")
    world.model("c", "SELECT id FROM src")
    report = world.run(resume=True)
    assert statuses(report) == {
        "a": "built",
        "b": "built",
        "c": "built",
        "d": "skipped",
    }
    assert world.sql("SELECT id, twice FROM b") == [(2, 2)]


def test_what_reads_a_model_that_is_done_again(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id")
    world.model("a", "SELECT id FROM src")
    world.model("b", "SELECT id FROM a")
    world.model("c", "SELECT id FROM src WHERE error('not yet') IS NULL")
    world.run()
    world.model("a", "SELECT id + 1 AS id FROM src")
    world.model("c", "SELECT id FROM src")
    world.run(resume=True)
    assert world.sql("SELECT id FROM b") == [(2,)]


def test_a_first_build_of_very_many_intervals(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql(
        "CREATE TABLE src AS SELECT i AS id, TIMESTAMP '2020-01-01' + to_hours(i::INTEGER) AS ts"
        " FROM range(12000) AS t(i)",
    )
    world.model("m", "SELECT id, ts FROM src", EVENTS.replace("day", "hour"))
    cut_off(world, monkeypatch, "build:committed")
    assert world.run(resume=True).ok
    assert world.sql("SELECT count(*) FROM m") == [(12000,)]


def test_how_to_work_is_as_it_is_given_now_and_what_to_do_is_the_runs(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id")
    world.model("a_bad", "SELECT id FROM src WHERE error('not yet') IS NULL")
    for name in ("b_well", "c_well", "other"):
        world.model(name, "SELECT id FROM src")
    work = RunOptions(exclude=("other",), fail_fast=True)
    assert statuses(world.run(options=work)) == {
        "a_bad": "failed",
        "b_well": "behind",
        "c_well": "behind",
    }
    again = world.run(options=RunOptions(select=("other",)), resume=True)
    assert statuses(again) == {"a_bad": "failed", "b_well": "built", "c_well": "built"}
    world.model("b_well", "SELECT id + 1 AS id FROM src")
    third = world.run(options=RunOptions(fail_fast=True), resume=True)
    assert statuses(third) == {"a_bad": "failed", "b_well": "behind", "c_well": "skipped"}


def test_rows_that_were_mended_reach_the_model_that_failed_by_them(world: World) -> None:
    world.sql(
        "CREATE TABLE src AS SELECT 1 AS id, 'one' AS n", "CREATE TABLE other AS SELECT 1 AS id"
    )
    world.model("first", "SELECT id, n FROM src")
    world.model("apart", "SELECT id FROM other")
    world.model("next", "SELECT id, CAST(n AS INT) AS n FROM first")
    world.model("after", "SELECT id, n FROM first JOIN apart USING (id)")
    failed = statuses(world.run())
    assert failed == {"first": "built", "apart": "built", "next": "failed", "after": "built"}
    world.sql("UPDATE src SET n = '1'")
    told = world.run(resume=True, dry_run=True).expected
    assert {e.table.name for e in told if e.status == "built"} == {"first", "next", "after"}
    again = statuses(world.run(resume=True))
    assert again == {"first": "built", "apart": "skipped", "next": "built", "after": "built"}
    assert world.sql("SELECT n FROM next") == [(1,)]


def test_an_interval_that_was_named_is_not_done_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(world, EVENTS)
    world.model("then", "SELECT error('no')::INT AS id FROM m WHERE id = 3")
    options = RunOptions(start="2024-01-02", end="2024-01-03")
    assert statuses(world.run(options=options)) == {"m": "built", "then": "failed"}
    world.model("then", "SELECT id FROM m")
    assert statuses(world.run(resume=True)) == {"m": "skipped", "then": "built"}
