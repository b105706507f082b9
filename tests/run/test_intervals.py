"""Which intervals a run builds: marks go with the table, a part is no whole, no row is lost in silence."""

from __future__ import annotations

import pytest

from instar.errors import ProjectError, UsageError
from instar.run.building import Failpoint, Order
from instar.run.duckdb_build import DuckDBBuilder
from instar.run.options import RunOptions
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
    world.sql("DROP TABLE ev")
    world.run()
    assert count(world) == 240
    world.sql("DROP TABLE ev")
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
    world.sql("INSERT INTO src VALUES (999, TIMESTAMP '2024-01-15')")
    world.run(options=RunOptions(start="2024-01-01", end="2024-01-02"))
    assert count(world) == 240
    world.run()
    assert count(world) == 241


def test_another_granularity_has_other_intervals(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id, TIMESTAMP '2024-01-01' AS ts")
    world.sql("INSERT INTO src VALUES (2, TIMESTAMP '2024-01-02')")
    world.model("ev", QUERY, DAYS)
    world.run()
    world.model("ev", QUERY, MONTHS)
    world.run()
    world.sql("INSERT INTO src VALUES (3, TIMESTAMP '2024-01-20')")
    world.run()
    assert count(world) == 3


@pytest.mark.parametrize("full", [False, True], ids=["intervals", "full refresh"])
def test_a_row_without_an_event_time_is_an_error(world: World, full: bool) -> None:
    world.sql(TEN_DAYS)
    world.model("ev", QUERY, DAYS)
    world.run()
    world.sql("INSERT INTO src VALUES (900, NULL), (901, TIMESTAMP '2024-02-01')")
    (result,) = world.run(options=RunOptions(full_refresh=full)).results
    assert result.status == "failed"
    assert (result.error or "").startswith("E430: the incremental key 'ts' of main.ev is NULL")
    assert count(world) == 240


HOURS = DAYS.replace("day", "hour")
MANY_HOURS = (
    "CREATE TABLE src AS SELECT i AS id, TIMESTAMP '2020-01-01' + to_hours(i::INTEGER) AS ts"
    " FROM range(12000) AS t(i)"
)


def test_any_number_of_intervals_is_built_at_once(world: World) -> None:
    world.sql(MANY_HOURS)
    world.model("ev", QUERY, HOURS)
    assert world.run().ok
    world.sql(
        "INSERT INTO src SELECT 12000, max(ts) + INTERVAL 1 HOUR FROM src",
        "INSERT INTO src VALUES (12001, TIMESTAMP '2020-01-01 00:30')",
        "INSERT INTO src VALUES (12002, TIMESTAMP '2019-12-31 23:30')",
    )
    (result,) = world.run().results
    assert (result.status, result.rows) == ("built", 3), (
        "the last hour again, a new one, an old one"
    )
    assert count(world) == 12002, "a late row of a closed hour waits"


def test_intervals_without_rows_are_done_without_being_built(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[str] = []
    build = DuckDBBuilder.build

    def counting(self: DuckDBBuilder, order: Order, failpoint: Failpoint) -> int:
        built.append(str(order.interval))
        return build(self, order, failpoint)

    monkeypatch.setattr(DuckDBBuilder, "build", counting)
    days = ("2024-01-01", "2024-03-01", "2024-06-01")
    world.sql("CREATE TABLE src AS SELECT 0 AS id, TIMESTAMP '2023-12-31 12:00' AS ts")
    world.model("ev", QUERY, HOURS)
    world.run()
    built.clear()
    world.sql(*(f"INSERT INTO src VALUES (1, TIMESTAMP '{day} 10:30')" for day in days), "SELECT 1")
    (result,) = world.run().results
    assert (result.rows, len(built)) == (4, 4), "three new hours, and the last one again"
    world.sql("INSERT INTO src VALUES (2, TIMESTAMP '2024-02-01')", "SELECT 1")
    world.run()
    assert count(world) == 4, "an hour that was empty is done as any other"
    world.sql(f"DELETE FROM src WHERE ts = TIMESTAMP '{days[1]} 10:30'", "SELECT 1")
    world.run(options=RunOptions(start="2024-02-01", end="2024-05-01"))
    assert count(world) == 4, "one that came late is there, one that is gone has left"


def test_too_many_intervals_one_by_one_fail_that_model_only(world: World) -> None:
    world.sql(MANY_HOURS)
    world.model("ev", QUERY, HOURS)
    world.model("well", "SELECT id FROM src")
    world.run(options=RunOptions(("ev",), start="2020-01-01", end="2020-01-02"))
    statuses = {r.table.name: (r.status, r.error) for r in world.run().results}
    assert statuses["ev"][0] == "failed"
    assert "E433: more than 10,000 intervals of one hour" in (statuses["ev"][1] or "")
    assert statuses["well"][0] == "built"
    world.run(options=RunOptions(full_refresh=True))
    assert count(world) == 12000


FAR_TIMES = {
    "the last day that there is": "TIMESTAMP '9999-12-31'",
    "for ever": "TIMESTAMP 'infinity'",
    "before Christ": "TIMESTAMP '0044-03-15 (BC)'",
    "behind the last year": "TIMESTAMP '10000-01-01'",
}


@pytest.mark.parametrize("first", [True, False], ids=["first build", "later"])
@pytest.mark.parametrize("when", FAR_TIMES.values(), ids=FAR_TIMES.keys())
def test_an_event_time_without_an_interval(world: World, when: str, first: bool) -> None:
    world.sql(TEN_DAYS)
    world.model("ev", QUERY, DAYS)
    world.model("well", "SELECT id FROM src")
    if not first:
        world.run()
    world.sql(f"INSERT INTO src VALUES (900, {when})")
    result, well = world.run().results
    assert (result.error or "").startswith("E430: the event time 'ts' of main.ev is outside")
    assert "models/ev.sql:3" in (result.error or "")
    assert well.status == "built"
    assert count(world) == (0 if first else 240)


RANGES = {
    "no date": ("someday", None),
    "inside an interval": ("2024-01-01 12:00", None),
    "backwards": ("2024-01-03", "2024-01-01"),
    "an end alone": (None, "2024-01-02"),
    "a year too far": ("9999-01-01", None),
    "in another time zone": ("2024-01-01T00:00:00+02:00", None),
}


@pytest.mark.parametrize("case", RANGES.values(), ids=RANGES.keys())
def test_a_bad_range_is_seen_before_anything_is_built(
    world: World, case: tuple[str | None, str | None]
) -> None:
    world.sql(TEN_DAYS)
    world.model("a_first", "SELECT id FROM src")
    world.model("ev", QUERY, DAYS)
    with pytest.raises(UsageError) as raised:
        world.run(options=RunOptions(start=case[0], end=case[1]))
    assert raised.value.code == "E433"
    assert world.sql("SELECT count(*) FROM duckdb_tables()") == [(1,)]
    with pytest.raises(UsageError) as raised:
        world.run(resume=True)
    assert raised.value.code == "E431", "no run was begun"


TIMES = {
    "hours of a DATE": ("DATE '2024-01-01'", HOURS, "a DATE has no hours"),
    "a text": ("'2024-01-01'", DAYS, "'ts' is a STRING"),
    "a number": ("1704067200", DAYS, "'ts' is a INT"),
}


@pytest.mark.parametrize("case", TIMES.values(), ids=TIMES.keys())
def test_an_event_time_must_be_one(world: World, case: tuple[str, str, str]) -> None:
    value, front, words = case
    world.model("ev", f"SELECT 1 AS id, {value} AS ts", front)
    with pytest.raises(ProjectError) as raised:
        world.plan()
    assert raised.value.code == "E160"
    assert words in raised.value.message
    assert str(raised.value.where).startswith("models/ev.sql:3")


def test_days_of_a_date(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id, DATE '2024-01-01' AS ts")
    world.model("ev", QUERY, DAYS)
    world.run()
    world.sql("INSERT INTO src VALUES (2, DATE '2024-01-01'), (3, DATE '2024-01-02')")
    world.run()
    assert count(world) == 3


REFRESHED = {
    "a key that stands twice": ("1 AS id, DATE '2024-01-01' AS ts", "unique_key: id"),
    "a key that is NULL": ("NULL::INT AS id, DATE '2024-01-01' AS ts", "unique_key: id"),
    "a partition that is NULL": (
        "NULL::INT AS id, DATE '2024-01-01' AS ts",
        "partition_column: id",
    ),
    "an event time that is NULL": ("1 AS id, NULL::DATE AS ts", "event_time_column: ts"),
    "an event time for ever": ("1 AS id, DATE 'infinity' AS ts", "event_time_column: ts"),
}


@pytest.mark.parametrize("how", ["run", "apply"])
@pytest.mark.parametrize("case", REFRESHED.values(), ids=REFRESHED.keys())
def test_a_refresh_of_the_table_keeps_to_the_key(
    world: World, case: tuple[str, str], how: str
) -> None:
    """The column `n` becomes a number, so that the table is recomputed as a whole."""
    columns, way = case
    front = f"materialization: incremental\nincremental: {{{way}}}"
    world.model("ev", "SELECT 7 AS id, DATE '2024-01-01' AS ts, 'x' AS n", front)
    world.run()
    world.model("ev", f"SELECT {columns}, 1 AS n FROM range(2)", front)
    if how == "run":
        (result,) = world.run(flags=("allow_full_refresh",)).results
        said = result.error or ""
    else:
        plan = world.plan("allow_full_refresh")
        (report,) = world.project.apply(plan, confirm=lambda _: True).tables
        said = f"{report.error.code}: " if report.error else ""
    assert said.startswith("E430: ")
    assert world.sql("SELECT id, n FROM ev") == [(7, "x")]


def test_a_view_that_becomes_a_table_keeps_to_the_key(world: World) -> None:
    world.model("ev", "SELECT 1 AS id FROM range(2)", "materialization: view")
    world.run()
    front = "materialization: incremental\nincremental: {unique_key: id}"
    world.model("ev", "SELECT 1 AS id FROM range(2)", front)
    (result,) = world.run().results
    assert (result.error or "").startswith("E430: ")


@pytest.mark.parametrize("dry", [True, False])
def test_a_range_beside_a_full_refresh_is_refused(world: World, dry: bool) -> None:
    world.sql("CREATE TABLE raw AS SELECT 1 AS id, DATE '2024-01-01' AS day")
    way = "incremental: {event_time_column: day}"
    world.model("ev", "SELECT id, day FROM raw", way)
    world.run()
    world.sql("UPDATE raw SET id = 2")
    options = RunOptions(full_refresh=True, start="2024-01-01", end="2024-01-02")
    with pytest.raises(UsageError) as raised:
        world.run(options=options, dry_run=dry)
    assert raised.value.code == "E433"
    assert world.sql("SELECT id FROM ev") == [(1,)]


def test_late_rows_of_closed_intervals_are_not_silent(world: World) -> None:
    world.sql(
        "CREATE TABLE raw AS SELECT i AS id, DATE '2024-01-01' + i::INT AS day FROM range(3) AS t(i)"
    )
    world.model("ev", "SELECT id, day FROM raw", "incremental: {event_time_column: day}")
    assert world.run().results[0].reason == ""
    world.sql("INSERT INTO raw VALUES (9, DATE '2024-01-01')")
    (result,) = world.run().results
    stays = "its inputs changed; rows of closed intervals stay (--full-refresh, --start)"
    assert (result.status, result.reason) == ("built", stays)
    assert world.sql("SELECT count(*) FROM ev") == [(3,)]
    (named,) = world.run(options=RunOptions(start="2024-01-01", end="2024-01-02")).results
    assert named.reason == ""
    assert world.sql("SELECT count(*) FROM ev") == [(4,)]
