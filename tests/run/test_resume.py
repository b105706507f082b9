"""A run that was cut off after a commit: what is resumed later is built from what there is then."""

from __future__ import annotations

import pytest

from instar.apply.failpoints import Failpoints
from models.world import World

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
        "SELECT 1",
    )
    world.model("m", "SELECT id, ts FROM src", front)
    world.run()
    world.sql("INSERT INTO src VALUES (3, '2024-01-02 11:00')", "SELECT 1")


@pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS.keys())
def test_rows_that_came_after_the_commit(
    world: World, monkeypatch: pytest.MonkeyPatch, front: str
) -> None:
    shop(world, front)
    committed = "interval:committed" if front == EVENTS else "build:committed"
    cut_off(world, monkeypatch, committed)
    assert world.sql("SELECT count(*) FROM m") == [(3,)]
    world.sql("INSERT INTO src VALUES (4, '2024-01-02 12:00')", "SELECT 1")
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


def test_a_model_that_was_done_and_has_changed_since(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id", "SELECT 1")
    world.model("a", "SELECT id FROM src")
    world.model("b", "SELECT id FROM a")
    world.model("c", "SELECT id FROM src WHERE error('not yet') IS NULL")
    world.model("d", "SELECT id FROM src")
    assert not world.run().ok
    world.model("a", "SELECT id, id * 2 AS twice FROM src")
    world.model("b", "SELECT id + 1 AS id, twice FROM a")
    world.model("c", "SELECT id FROM src")
    report = world.run(resume=True)
    assert {r.table.name: r.status for r in report.results} == {
        "a": "built",
        "b": "built",
        "c": "built",
        "d": "skipped",
    }
    assert world.sql("SELECT id, twice FROM b") == [(2, 2)]


def test_what_reads_a_model_that_is_done_again(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id", "SELECT 1")
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
        "SELECT 1",
    )
    world.model("m", "SELECT id, ts FROM src", EVENTS.replace("day", "hour"))
    cut_off(world, monkeypatch, "build:committed")
    assert world.run(resume=True).ok
    assert world.sql("SELECT count(*) FROM m") == [(12000,)]
