"""A dry run tells what the run after it does: the order, what is built and skipped, and by which intervals."""

from __future__ import annotations

import json

import pytest

from cli.running import instar
from instar.app.running import RunReport
from instar.run.intervals import counted, covering, parse_time
from instar.run.options import RunOptions
from models.world import World, statuses

SOURCE = (
    "CREATE TABLE raw AS SELECT * FROM (VALUES"
    " (1, 'a', 10, TIMESTAMP '2024-01-01 10:00'), (2, 'b', 20, TIMESTAMP '2024-01-02 11:00'),"
    " (3, 'a', 30, TIMESTAMP '2024-01-03 12:00')) AS t(id, kind, n, seen)"
)
NEW = "INSERT INTO raw VALUES (4, 'b', 40, TIMESTAMP '2024-01-05 09:00')"
EVENTS = "materialization: incremental\nincremental: {event_time_column: seen, granularity: day}"


def shop(world: World) -> None:
    world.sql(SOURCE)
    world.model("clean", "SELECT id, kind, n, seen FROM raw", "materialization: view")
    world.model("days", "SELECT seen, n FROM ref('clean')", EVENTS)
    world.model(
        "keyed",
        "SELECT id, n FROM raw",
        "materialization: incremental\nincremental: {unique_key: id}",
    )
    world.model("sums", "SELECT kind, sum(n)::BIGINT AS total FROM clean GROUP BY kind")
    world.model("top", "SELECT kind FROM sums WHERE total = (SELECT max(total) FROM sums)")
    world.model("alone", "SELECT 1 AS one")


def foretold(report: RunReport) -> dict[str, str]:
    assert report.dry
    assert not report.results
    return {e.table.name: e.status for e in report.expected}


def agrees(world: World, **options: object) -> RunReport:
    """What is foretold comes true, in the same order."""
    dry = world.run(dry_run=True, **options)
    real = world.run(**options)
    assert list(foretold(dry).items()) == list(statuses(real).items())
    return dry


CHANGES = {
    "nothing": (),
    "new rows": (NEW,),
    "a source that is written anew": (f"CREATE OR REPLACE {SOURCE.removeprefix('CREATE ')}",),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_foretold_comes_true(world: World, change: tuple[str, ...]) -> None:
    shop(world)
    agrees(world)
    for statement in change:
        world.sql(statement)
    agrees(world)
    agrees(world, options=RunOptions(full_refresh=True))
    world.model("clean", "SELECT id, kind, n + 1 AS n, seen FROM raw", "materialization: view")
    agrees(world)


def test_new_rows_are_built_though_no_table_changes(world: World) -> None:
    shop(world)
    world.run()
    world.sql(NEW)
    report = world.run(dry_run=True)
    assert not report.plan.pending
    told = {e.table.name: (e.status, e.how, e.reason) for e in report.expected}
    assert told == {
        "clean": ("skipped", "", "the view is as its query says"),
        "days": ("built", "intervals of seen", "its inputs changed: main.raw"),
        "keyed": ("built", "merged by id", "its inputs changed: main.raw"),
        "sums": ("built", "all rows", "its inputs changed: main.raw"),
        "top": ("built", "all rows", "its inputs changed: main.sums"),
        "alone": ("skipped", "", "neither its query nor its inputs changed"),
    }
    (days,) = (e.intervals for e in report.expected if e.intervals)
    assert (days.count, days.first, days.last) == (3, "2024-01-03 00:00:00", "2024-01-05 00:00:00")
    assert not days.estimate


def test_declared_tables_that_change_are_inputs_that_change(world: World) -> None:
    world.manifest("orders", "name: id, type: INT")
    world.model("m", "SELECT id FROM orders")
    agrees(world)
    world.sql("INSERT INTO orders VALUES (1)")
    world.run()
    world.manifest("orders", "name: id, type: INT", "name: n, type: INT")
    agrees(world)


def test_intervals_behind_a_model_that_is_built_first_are_an_estimate(world: World) -> None:
    shop(world)
    world.model("later", "SELECT seen, n FROM days", EVENTS)
    world.run()
    world.sql(NEW)
    report = world.run(options=RunOptions(("days", "later")), dry_run=True)
    later = report.expected[1]
    assert later.after == ("main.days",)
    assert later.intervals is not None
    assert later.intervals.estimate


def test_a_failure_that_can_be_seen_is_told(world: World) -> None:
    shop(world)
    world.model("behind", "SELECT n FROM days")
    world.run()
    world.sql("INSERT INTO raw VALUES (5, 'x', 1, NULL)")
    report = agrees(world)
    found = {e.table.name: e for e in report.expected}
    assert found["days"].reason.startswith("E430: ")
    assert found["behind"].reason == "behind days"
    assert not report.ok


def test_what_a_resumed_run_would_skip(world: World) -> None:
    shop(world)
    world.model("bad", "SELECT error('no') AS x FROM raw")
    assert not world.run().ok
    world.model("bad", "SELECT 1 AS x FROM raw")
    report = world.run(dry_run=True, resume=True)
    assert {e.reason for e in report.expected if e.status == "skipped"} == {
        "done before the interruption"
    }
    assert foretold(report)["bad"] == "built"


def test_the_words_and_the_document(world: World) -> None:
    shop(world)
    world.run()
    world.sql(NEW)
    told = instar("run", "--dry-run", cwd=world.root).out
    assert "nothing to do" not in told
    assert "built    intervals of seen, 3 days: 2024-01-03 .. 2024-01-05" in told
    assert "Dry run: 2 skipped, 4 to build; nothing was touched." in told
    document = json.loads(instar("run", "--dry-run", "--format", "json", cwd=world.root).out)
    days = next(m for m in document["models"] if m["table"] == "main.days")
    assert (days["status"], days["intervals"]["count"]) == ("built", 3)


@pytest.mark.parametrize("granularity", ["hour", "day", "week", "month", "year"])
def test_intervals_are_counted_without_walking_them(granularity: str) -> None:
    first, last = "2023-05-01 10:30", "2024-04-30 10:59"
    walked = covering(parse_time(first, ""), parse_time(last, ""), granularity)
    assert counted(first, last, granularity) == len(list(walked))
