"""`instar run` on DuckDB: built in graph order, evolved on the way, skipped where nothing changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from cli.running import instar
from instar import Plan, Project
from instar.app.events import Silent
from instar.cli import main, screen
from instar.cli.reports import event_document
from instar.errors import Blocked, UsageError
from instar.run.options import RunOptions
from models.world import PROJECT, World, statuses

SOURCE = (
    "CREATE TABLE raw AS SELECT * FROM (VALUES"
    " (1, 'a', 10, TIMESTAMP '2024-01-01 10:00'), (2, 'b', 20, TIMESTAMP '2024-01-02 11:00'),"
    " (3, 'a', 30, TIMESTAMP '2024-01-03 12:00')) AS t(id, kind, n, seen)"
)


def three_layers(world: World) -> None:
    world.sql(SOURCE)
    world.model("clean", "SELECT id, kind, n, seen FROM raw", "materialization: view")
    world.model("sums", "SELECT kind, sum(n)::BIGINT AS total FROM ref('clean') GROUP BY kind")
    world.model("top", "SELECT kind FROM sums WHERE total = (SELECT max(total) FROM sums)")


def test_models_are_built_parents_first_and_then_skipped(world: World) -> None:
    three_layers(world)
    first = world.run()
    assert statuses(first) == {"clean": "created", "sums": "built", "top": "built"}
    assert [r.rows for r in first.results] == [None, 2, 1]
    assert world.sql("SELECT * FROM sums ORDER BY kind") == [("a", 40), ("b", 20)]
    second = world.run()
    assert set(statuses(second).values()) == {"skipped"}
    assert second.results[1].reason == "neither its query nor its inputs changed"

    world.sql("INSERT INTO raw VALUES (4, 'b', 100, now())")
    third = world.run()
    assert statuses(third) == {"clean": "skipped", "sums": "built", "top": "built"}
    assert world.sql("SELECT * FROM top") == [("b",)]


def test_a_changed_layer_evolves_and_ripples_down(world: World) -> None:
    three_layers(world)
    world.run()
    world.model(
        "sums", "SELECT kind, sum(n)::BIGINT AS total, count(*) AS c FROM clean GROUP BY kind"
    )
    report = world.run()
    assert statuses(report) == {"clean": "skipped", "sums": "built", "top": "built"}
    assert world.sql("SELECT kind, total, c FROM sums ORDER BY kind") == [
        ("a", 40, 2),
        ("b", 20, 1),
    ]


def test_a_failing_model_stops_only_what_is_behind_it(world: World) -> None:
    world.sql(SOURCE)
    world.model("bad", "SELECT kind::INTEGER AS x FROM raw")
    world.model("behind", "SELECT x FROM bad")
    world.model("well", "SELECT id FROM raw")
    report = world.run()
    assert statuses(report) == {"bad": "failed", "behind": "behind", "well": "built"}
    assert "Could not convert" in (report.results[0].error or "")
    world.model("bad", "SELECT id AS x FROM raw")
    again = world.run(resume=True)
    assert statuses(again) == {"bad": "built", "behind": "built", "well": "skipped"}
    assert again.run == report.run


def test_fail_fast_begins_nothing_more(world: World) -> None:
    world.sql(SOURCE)
    world.model("a_bad", "SELECT kind::INTEGER AS x FROM raw")
    world.model("b_well", "SELECT id FROM raw")
    world.model("c_behind", "SELECT x FROM a_bad")
    world.model("d_behind", "SELECT x FROM c_behind")
    report = world.run(options=RunOptions(fail_fast=True))
    assert {r.table.name: r.reason or r.status for r in report.results} == {
        "a_bad": "failed",
        "b_well": "not begun: another model failed",
        "c_behind": "behind a_bad",
        "d_behind": "behind c_behind",
    }


def test_a_table_that_was_never_filled_is_replaced_freely(world: World) -> None:
    world.sql(SOURCE)
    for front in ("", MERGE):
        world.model("m", "SELECT kind::INTEGER AS x, id FROM raw", front)
        assert not world.run().ok
        world.model("m", "SELECT kind AS x, id FROM raw", front)
        assert [r.status for r in world.run().results] == ["built"]
        assert world.sql("SELECT count(*) FROM m") == [(3,)]
        world.model("m", "SELECT id FROM raw", front)
        with pytest.raises(Blocked):
            world.run()
        world.sql("DROP TABLE m")


def test_nothing_is_touched_while_a_model_is_blocked(world: World) -> None:
    three_layers(world)
    world.run()
    world.model("sums", "SELECT kind FROM clean GROUP BY kind")
    world.model("other", "SELECT id FROM raw")
    with pytest.raises(Blocked):
        world.run()
    assert "other" not in {r[0] for r in world.sql("SELECT table_name FROM duckdb_tables()")}


def test_a_dry_run_touches_nothing(world: World) -> None:
    three_layers(world)
    report = world.run(dry_run=True)
    assert len(report.plan.pending) == 3
    assert world.sql("SELECT count(*) FROM duckdb_tables()") == [(1,)]


SELECTIONS = {
    "one": (("sums",), (), {"sums"}),
    "by its table": (("main.sums+",), ("main.top",), {"sums"}),
    "with what is upstream": (("+sums",), (), {"clean", "sums"}),
    "with what is downstream": (("sums+",), (), {"sums", "top"}),
    "by tag": (("tag:x",), (), {"clean"}),
    "by path": (("path:models",), ("top",), {"clean", "sums"}),
    "by pattern": (("*o*",), (), {"top"}),
    "by change": (("state:changed",), (), {"top"}),
    "by change, downstream": (("state:changed+", "clean"), (), {"top", "clean"}),
}


def test_selection(world: World) -> None:
    three_layers(world)
    world.model("clean", "SELECT id, kind, n, seen FROM raw", "materialization: view\ntags: [x]")
    world.run()
    world.model("top", "SELECT kind, 1 AS x FROM sums")
    for name, (select, exclude, expected) in SELECTIONS.items():
        report = world.run(options=RunOptions(select, exclude), dry_run=True)
        planned = {t.table.name for t in report.plan.tables}
        assert planned == expected, name
    with pytest.raises(UsageError) as raised:
        world.run(options=RunOptions(("smus",)))
    assert raised.value.code == "E432"
    assert raised.value.hint == "Did you mean 'sums'?"


UNSEEN_BY_THE_TEXT = {
    "nullable: false": lambda w: w.model("m", "SELECT id, n FROM raw", NOT_NULL),
    "a model's entry in instar.yml": lambda w: (w.root / "instar.yml").write_text(
        PROJECT + "models: {m: {columns: {id: {nullable: false}}}}\n"
    ),
    "a table dropped by hand": lambda w: w.sql("DROP TABLE m"),
    "a table changed by hand": lambda w: w.sql("ALTER TABLE m DROP COLUMN n"),
    "a table that blocks the plan": lambda w: w.sql("ALTER TABLE m ADD COLUMN extra INT"),
}
NOT_NULL = "columns: {id: {nullable: false}}"


@pytest.mark.parametrize("case", UNSEEN_BY_THE_TEXT.values(), ids=UNSEEN_BY_THE_TEXT.keys())
def test_a_model_whose_table_would_change_has_changed(
    world: World, case: Callable[[World], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT id, n FROM raw")
    world.model("other", "SELECT id FROM raw")
    world.run()
    case(world)
    planned: list[frozenset[str]] = []
    plan = Project.planned_models

    def counted(*args: Any, **named: Any) -> Any:
        planned.append(args[4])
        return plan(*args, **named)

    monkeypatch.setattr(Project, "planned_models", counted)
    shown: list[Plan] = []
    try:
        world.run(options=RunOptions(("state:changed",)), show=shown.append)
    except Blocked:
        assert "extra" in world.types("m")
    assert [t.table.name for t in shown[0].tables] == ["m"]
    assert planned == [{"m", "other"}], "once"


def test_what_changed_but_is_left_out_is_planned_as_it_is(world: World) -> None:
    world.sql(SOURCE)
    world.model("a", "SELECT id, n FROM raw")
    world.model("b", "SELECT id, n FROM a")
    world.run()
    world.model("a", "SELECT id, n::BIGINT AS n FROM raw")
    report = world.run(options=RunOptions(("state:changed+",), ("a",)))
    assert [t.table.name for t in report.plan.tables] == ["b"]
    assert world.types("b")["n"] == "INTEGER"


MERGE = "materialization: incremental\nincremental: {unique_key: id}"


def test_merge_by_unique_key_keeps_rows_that_the_source_forgot(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT id, n FROM raw", MERGE)
    world.run()
    world.sql("DELETE FROM raw WHERE id = 1", "UPDATE raw SET n = 21 WHERE id = 2")
    world.sql("INSERT INTO raw VALUES (4, 'z', 40, now())")
    assert world.run().results[0].rows == 3
    assert world.sql("SELECT * FROM m ORDER BY id") == [(1, 10), (2, 21), (3, 30), (4, 40)]
    world.run(options=RunOptions(full_refresh=True))
    assert world.sql("SELECT * FROM m ORDER BY id") == [(2, 21), (3, 30), (4, 40)]


KEYS = {
    "NULL": (
        "SELECT CASE WHEN id > 1 THEN id END AS id, kind FROM raw",
        "id",
        "the incremental key 'id' of main.m is NULL in some rows: 1 of them, such as (kind = a)",
    ),
    "NULL in a part": (
        "SELECT CASE WHEN id > 1 THEN id END AS id, kind FROM raw",
        "[kind, id]",
        "the incremental key 'id' of main.m is NULL in some rows: 1 of them, such as (a, NULL)",
    ),
    "twice": (
        "SELECT 1 AS id FROM raw",
        "id",
        "the unique key (id) of main.m stands twice in the new rows: 1 key in 3 rows, such as 1",
    ),
    "many, twice": (
        "SELECT unnest(range(8)) AS id, 'x' AS kind FROM raw WHERE n < 30",
        "[id, kind]",
        "stands twice in the new rows: 8 keys in 16 rows,"
        " such as (0, x), (1, x), (2, x), (3, x), (4, x)",
    ),
}


@pytest.mark.parametrize("case", KEYS.values(), ids=KEYS.keys())
def test_a_key_that_is_null_or_stands_twice(world: World, case: tuple[str, str, str]) -> None:
    query, key, words = case
    world.sql(SOURCE)
    world.model("m", query, MERGE.replace("key: id", f"key: {key}"))
    (result,) = world.run().results
    assert result.status == "failed"
    error = result.error.splitlines()[0]
    assert error.startswith("E430: ")
    assert error.endswith(words)
    assert world.sql("SELECT count(*) FROM m") == [(0,)]


FAILING = {
    "a table": "tags: [x]",
    "merged": "incremental: {unique_key: id}",
    "by intervals": "incremental: {event_time_column: seen}",
}


@pytest.mark.parametrize("front", ["", "incremental: {unique_key: id}\n"], ids=["table", "merged"])
def test_a_null_in_a_required_column_is_told_by_the_line_that_requires_it(
    world: World, front: str
) -> None:
    world.sql(SOURCE)
    world.model(
        "m",
        "SELECT n AS id, NULL::INT AS n FROM raw",
        f"{front}columns: {{N: {{nullable: false}}}}",
    )
    (result,) = world.run().results
    words, place, line = result.error.splitlines()
    assert words.endswith("NOT NULL constraint failed: m.n")
    assert place.startswith("--> models/m.sql:")
    assert line.endswith("columns: {N: {nullable: false}}")


@pytest.mark.parametrize("case", FAILING.values(), ids=FAILING.keys())
def test_a_failing_query_is_told_by_its_own_line(world: World, case: str) -> None:
    world.sql(SOURCE)
    world.model("m", "\nSELECT id, seen,\n  CAST(kind AS INT) AS v\nFROM raw", case)
    (result,) = world.run().results
    error = (result.error or "").splitlines()
    assert error[0].startswith("E220: DuckDB refused a statement: Conversion Error: Could not")
    assert error[1:] == ["--> models/m.sql:6", "6 │   CAST(kind AS INT) AS v"]


def test_a_failing_view_is_not_told_by_a_line_of_its_reader(world: World) -> None:
    world.sql(SOURCE)
    world.sql("CREATE VIEW v AS\nSELECT id,\nCAST(kind AS INT) AS n FROM raw")
    world.model("m", "SELECT id, n\nFROM v\nWHERE n > 0")
    (result,) = world.run().results
    assert (result.error or "").splitlines()[-1] == "--> models/m.sql"
    assert "LINE" not in (result.error or "")


def test_a_refresh_that_is_refused_names_the_keys_too(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT id, n FROM raw", MERGE)
    world.run()
    world.model("m", "SELECT 7 AS id, kind AS n FROM raw", MERGE)
    (result,) = world.run(flags=("allow_full_refresh",)).results
    assert "1 key in 3 rows, such as 7" in (result.error or "")
    assert world.sql("SELECT count(*) FROM m") == [(3,)]


def test_partitions_that_the_query_returns_are_replaced(world: World) -> None:
    world.sql(SOURCE)
    front = "materialization: incremental\nincremental: {partition_column: kind}"
    world.model("m", "SELECT kind, n FROM raw", front)
    world.run()
    world.sql("DELETE FROM raw WHERE kind = 'b'", "UPDATE raw SET n = n + 1")
    world.run()
    assert world.sql("SELECT * FROM m ORDER BY ALL") == [("a", 11), ("a", 31), ("b", 20)]


EVENTS = "materialization: incremental\nincremental: {event_time_column: seen, granularity: day}"


def test_intervals_are_replaced_as_a_whole(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT seen, n FROM raw", EVENTS)
    assert world.run().results[0].rows == 3
    # A late row of a closed day waits until the day is asked for; the open day and new ones come in.
    world.sql(
        "INSERT INTO raw VALUES (9, 'x', 900, TIMESTAMP '2024-01-01 23:00'),"
        " (5, 'x', 31, TIMESTAMP '2024-01-03 13:00'), (6, 'x', 40, TIMESTAMP '2024-01-04 01:00')",
    )
    assert world.run().results[0].rows == 3
    assert [r[0] for r in world.sql("SELECT n FROM m ORDER BY n")] == [10, 20, 30, 31, 40]
    world.run(options=RunOptions(start="2024-01-01", end="2024-01-02"))
    world.run(options=RunOptions(start="2024-01-01", end="2024-01-02"))
    assert [r[0] for r in world.sql("SELECT n FROM m ORDER BY n")] == [10, 20, 30, 31, 40, 900]


def test_intervals_that_are_done_keep_their_rows_and_that_is_said(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT seen, n FROM raw", EVENTS)
    world.run()
    world.model("m", "SELECT seen, n * 2 AS n FROM raw", EVENTS)
    (result,) = world.run().results
    assert "its query changed" in result.reason
    assert [r[0] for r in world.sql("SELECT n FROM m ORDER BY n")] == [10, 20, 60]
    (result,) = world.run(options=RunOptions(full_refresh=True)).results
    assert result.reason == ""
    assert [r[0] for r in world.sql("SELECT n FROM m ORDER BY n")] == [20, 40, 60]


BAD_RANGES = {
    "no date": ("someday", None),
    "inside an interval": ("2024-01-01 12:00", None),
    "backwards": ("2024-01-03", "2024-01-01"),
    "an end alone": (None, "2024-01-02"),
}


@pytest.mark.parametrize("case", BAD_RANGES.values(), ids=BAD_RANGES.keys())
def test_a_range_that_is_no_range(world: World, case: tuple[str | None, str | None]) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT seen, n FROM raw", EVENTS)
    world.run()
    with pytest.raises(UsageError) as raised:
        world.run(options=RunOptions(start=case[0], end=case[1]))
    assert raised.value.code == "E433"


def test_a_range_that_one_model_does_not_fit_names_it(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT seen, n FROM raw", EVENTS)
    world.model("months", "SELECT seen, n FROM raw", EVENTS.replace("day", "month"))
    world.run()
    with pytest.raises(UsageError) as raised:
        world.run(options=RunOptions(start="2024-01-02"))
    assert (
        raised.value.message == "--start is not the beginning of a month, the interval of 'months'"
    )
    assert "--exclude" in (raised.value.hint or "")
    assert world.run(options=RunOptions(start="2024-01-02", exclude=("months",))).ok


def test_the_history_as_json_has_the_rows_of_each_build(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.sql("CREATE TABLE raw AS SELECT * FROM range(7) AS t(n)")
    world.model("m", "SELECT n FROM raw")
    world.model("v", "SELECT n FROM m", "materialization: view")
    world.run()
    screen.use(screen.Screen())
    assert main.run(["history", "--format", "json", "--project", str(world.root)]) == 0
    events = json.loads(capsys.readouterr().out)
    assert {(e["table"], e["what"], e["rows"]) for e in events} == {
        ("main.m", "built 7 rows", 7),
        ("main.m", "create table main.m", None),
        ("main.v", "created", None),
        ("main.v", "create view main.v", None),
    }


def test_the_run_log_is_in_the_history(world: World) -> None:
    three_layers(world)
    world.run()
    told = {(e.table.name, e.what) for e in world.project.history() if e.command == "instar run"}
    assert {("sums", "built 2 rows"), ("top", "built 1 row")} <= told


def test_a_failure_is_said_once_and_so_is_what_is_behind_it(world: World) -> None:
    world.sql(SOURCE)
    world.model("bad", "SELECT kind::INTEGER AS x FROM raw")
    world.model("after", "SELECT x FROM bad")
    world.model("one", "SELECT 1 AS x")
    found = instar("run", cwd=world.root)
    assert (found.out + found.err).count("Could not convert") == 1
    assert "main.one  built  1 row  (" in found.out
    assert "main.one: 1 row in" in found.err
    assert "✗ main.after  behind bad\n" in found.out
    history = {e.table.name: e.what for e in world.project.history() if e.command == "instar run"}
    assert history["after"] == "behind bad"


def test_manifests_evolve_before_the_models_that_read_them(world: World) -> None:
    world.manifest("orders", "name: id, type: INT", "name: n, type: INT")
    world.model("m", "SELECT id, n FROM orders")
    world.run()
    world.sql("INSERT INTO orders VALUES (1, 2)")
    world.manifest("orders", "name: id, type: INT", "name: m, type: INT, renamed_from: n")
    world.model("m", "SELECT id, m FROM orders", "columns: {m: {renamed_from: n}}")
    report = world.run()
    assert statuses(report) == {"m": "built"}
    assert world.sql("SELECT * FROM m") == [(1, 2)]
    assert list(world.types("m")) == ["id", "m"]


class Heard:
    """A listener that remembers what is being done."""

    def __init__(self) -> None:
        self.said: list[tuple[str, int, int | None]] = []

    def note(self, text: str) -> None:
        del text

    def progress(self, what: str, done: int, total: int | None) -> None:
        self.said.append((what, done, total))


def test_what_is_being_built_is_said(world: World) -> None:
    world.model("a", "SELECT 1 AS x")
    world.model("b", "SELECT x FROM a")
    heard = Heard()
    Project.load(world.root, heard).run(confirm=lambda _: True)
    built = [said for said in heard.said if said[0].startswith("building")]
    assert built == [("building main.a", 0, 2), ("building main.b", 1, 2)]


class Notes(Silent):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def note(self, text: str) -> None:
        self.heard.append(text)


def test_duckdb_says_that_it_has_one_writer(world: World) -> None:
    world.model("a", "SELECT 1 AS id")
    world.model("b", "SELECT 1 AS id")
    notes = Notes()
    for threads in (1, 4):
        options = RunOptions(threads=threads, full_refresh=True)
        Project.load(world.root, notes).run(options=options, confirm=lambda _: True)
    said = [text for text in notes.heard if "one writer" in text]
    assert said == ["DuckDB has one writer: models are built one after the other"]


def test_history_tells_what_became_of_each_model_and_why(world: World) -> None:
    three_layers(world)
    world.run()
    world.model("top", "SELECT CAST(kind AS INT) AS kind FROM sums")
    world.run(flags=("allow_full_refresh",))
    rows = [event_document(e) for e in world.project.history()]
    told = [(r["table"], r["status"], r["reason"], r["what"]) for r in rows]
    same = "neither its query nor its inputs changed"
    assert ("main.sums", "skipped", same, f"skipped: {same}") in told
    assert ("main.sums", "built", None, "built 2 rows") in told
    assert ("main.top", "failed") in [t[:2] for t in told]


def test_a_plan_with_models_ends_with_the_run_that_carries_it_out(world: World) -> None:
    world.sql(SOURCE)
    world.model("m", "SELECT id FROM raw")
    world.manifest("declared", "name: id, type: INT")
    text = instar("plan", cwd=world.root).out
    assert text.endswith("Next: instar run --env dev\n")
    assert instar("plan", "m", cwd=world.root).out.endswith(
        "Next: instar run --select m --env dev\n"
    )
    assert instar("plan", "declared", cwd=world.root).out.endswith(
        "Next: instar apply declared --env dev\n"
    )
