"""What is skipped: only a model whose rows cannot have changed."""

from __future__ import annotations

import pytest

from instar import Plan
from instar.errors import Blocked
from instar.run.options import RunOptions
from models.world import World, statuses, told

FORMS = ["SELECT * FROM read_csv('{}')", "SELECT * FROM '{}'", "SELECT * FROM ref('v')"]


@pytest.mark.parametrize("query", FORMS, ids=["a function", "a file", "a view of a file"])
def test_a_file_may_change_unseen(world: World, query: str) -> None:
    file = world.root / "f.csv"
    file.write_text("id\n1\n")
    world.model("v", f"SELECT * FROM read_csv('{file}')", "materialization: view")
    world.model("m", query.format(file))
    world.run()
    file.write_text("id\n1\n2\n")
    world.run()
    assert world.sql("SELECT count(*) FROM m") == [(2,)]


def run_twice(world: World, query: str) -> str:
    """What the second run says of a model whose query stays as it is."""
    world.model("m", query)
    world.run()
    return statuses(world.run())["m"]


def test_a_view_hands_on_that_it_depends_on_the_clock(world: World) -> None:
    world.model("v", "SELECT now() AS seen", "materialization: view")
    world.model("middle", "SELECT seen FROM v", "materialization: view")
    world.model("m", "SELECT seen FROM middle")
    world.model("series", "SELECT i FROM range(3) AS t(i)")
    world.run()
    again = statuses(world.run())
    assert again == {"v": "skipped", "middle": "skipped", "m": "built", "series": "skipped"}


MOVING = {
    "the local clock": "localtimestamp",
    "the local time": "localtime",
    "a local clock that is called": "current_localtimestamp()",
    "the transaction's clock": "transaction_timestamp()",
    "an age until now": "age(TIMESTAMP '2024-01-01')",
    "an age until now, as a method": "(TIMESTAMP '2024-01-01').age()",
    "an identifier by chance": "uuidv4()",
    "an identifier by time": "UUIDv7()",
    "a macro of DuckDB's that asks the clock": "ago(INTERVAL 1 DAY)",
    "a macro that asks the clock": "yesterday()",
    "a macro that reads a table": "biggest()",
    "a quoted function": '"random"()',
}


@pytest.mark.parametrize("value", MOVING.values(), ids=MOVING.keys())
def test_the_clock_and_chance_are_never_skipped(world: World, value: str) -> None:
    world.sql(
        "CREATE TABLE src AS SELECT 1 AS id",
        "CREATE MACRO today_() AS current_date",
        "CREATE MACRO yesterday() AS today_() - 1",
        "CREATE MACRO biggest() AS (SELECT max(id) FROM src)",
    )
    assert run_twice(world, f"SELECT {value} AS x") == "built"


SAMPLES = ["SELECT id FROM src TABLESAMPLE 50%", "SELECT id FROM src USING SAMPLE 1 ROWS"]


@pytest.mark.parametrize("query", SAMPLES)
def test_a_sample_is_never_skipped(world: World, query: str) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id")
    assert run_twice(world, query) == "built"


STILL = {
    "an age between two times": "age(ts, TIMESTAMP '2024-01-01')",
    "columns that only sound so": "now, today, t.current_date",
    "words in a text": "'now() random() current_date'",
    "a macro that only computes": "twice(id)",
}


@pytest.mark.parametrize("value", STILL.values(), ids=STILL.keys())
def test_what_only_looks_like_the_clock_is_skipped(world: World, value: str) -> None:
    world.sql(
        "CREATE TABLE src AS SELECT 1 AS id, 1 AS now, 2 AS today, 3 AS current_date,"
        " TIMESTAMP '2024-02-01' AS ts",
        "CREATE MACRO twice(n) AS n * 2",
    )
    assert run_twice(world, f"SELECT {value} FROM src AS t") == "skipped"


def test_a_macro_that_is_written_anew(world: World) -> None:
    world.sql(
        "CREATE TABLE src AS SELECT 1 AS id",
        "CREATE MACRO twice(n) AS n * 2",
        "CREATE MACRO outer_(n) AS twice(n)",
    )
    world.model("v", "SELECT outer_(id) AS id FROM src", "materialization: view")
    world.model("m", "SELECT id FROM v")
    world.run()
    world.sql("CREATE OR REPLACE MACRO twice(n) AS n * 20")
    world.run()
    assert world.sql("SELECT id FROM m") == [(20,)]


def test_a_column_named_like_an_alias_hides_no_change(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS t, 'a' AS u")
    world.model("m", "SELECT u FROM src")
    world.run()
    world.sql("UPDATE src SET u = 'b'")
    world.run()
    assert world.sql("SELECT u FROM m") == [("b",)]


TEXTS = {
    "blanks between dollars": ("$$a b$$", "$$a  b$$"),
    "what looks like a comment between dollars": ("$x$a --b\n$x$", "$x$a --c\n$x$"),
    "blanks behind an escaped quote": (r"E'\' a b'", r"E'\' a  b'"),
    "what looks like a comment behind an escaped quote": (r"E'\' /*a*/'", r"E'\' /*b*/'"),
}


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS.keys())
def test_a_text_that_changes_is_a_change(world: World, texts: tuple[str, str]) -> None:
    world.model("m", f"SELECT {texts[0]} AS x")
    world.run()
    world.model("m", f"SELECT {texts[1]} AS x")
    assert statuses(world.run()) == {"m": "built"}


def test_layout_and_comments_are_no_change(world: World) -> None:
    world.model("m", "SELECT 'a  b' AS x, 2 AS y")
    world.run()
    world.model("m", "SELECT  'a  b' AS x, -- said\n/* so */ 2 AS y ;\n")
    assert statuses(world.run()) == {"m": "skipped"}


def test_a_view_that_is_not_deployed_yet(world: World) -> None:
    """A run of the reader alone reads the view as it is, and must not take it for the new one."""
    world.sql("CREATE TABLE src AS SELECT 1 AS id, 5 AS n")
    world.model("v", "SELECT id FROM src", "materialization: view")
    world.model("m", "SELECT id FROM v")
    world.run()
    world.model("v", "SELECT id + 10 AS id FROM src", "materialization: view")
    world.sql("INSERT INTO src VALUES (2, 5)")
    only = RunOptions(("m",))
    world.run(options=only)
    assert world.sql("SELECT max(id) FROM m") == [(2,)]
    world.sql("INSERT INTO src VALUES (3, 5)")
    world.run(options=only)
    assert world.sql("SELECT max(id) FROM m") == [(3,)]
    world.run()
    assert world.sql("SELECT max(id) FROM m") == [(13,)]


def test_a_view_that_is_not_deployed_yet_has_its_old_columns(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id, 5 AS n")
    world.model("v", "SELECT id FROM src", "materialization: view")
    world.model("m", "SELECT id FROM v")
    world.run()
    world.model("v", "SELECT id, n FROM src", "materialization: view")
    world.model("m", "SELECT id, n FROM v")
    with pytest.raises(Blocked):
        world.run(options=RunOptions(("m",)))
    assert world.run().ok


def test_a_parent_that_was_never_built(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id")
    world.model("a", "SELECT id FROM src")
    world.model("b", "SELECT id FROM a")
    for dry in (True, False):
        shown: list[Plan] = []
        with pytest.raises(Blocked):
            world.run(options=RunOptions(("b",)), dry_run=dry, show=shown.append)
        assert told(shown[0]) == ["F707 [main.b] reads the model 'a', which is not there yet."]
    assert world.run(options=RunOptions(("+b",))).ok


def test_a_range_is_for_models_of_event_time_only(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id, DATE '2024-01-01' AS day")
    world.model("timed", "SELECT * FROM src", "incremental: {event_time_column: day}")
    world.model("merged", "SELECT * FROM src", "incremental: {unique_key: id}")
    world.model("whole", "SELECT * FROM src")
    world.run()
    options = RunOptions(start="2024-01-01", end="2024-01-02")
    dry = world.project.run(options=options, dry_run=True)
    assert {e.table.name: e.status for e in dry.expected} == {
        "timed": "built",
        "merged": "skipped",
        "whole": "skipped",
    }
    again = statuses(world.run(options=options))
    assert again == {"timed": "built", "merged": "skipped", "whole": "skipped"}


def test_what_is_said_to_be_deterministic_is_skipped(world: World) -> None:
    file = world.root / "f.csv"
    file.write_text("id\n1\n")
    query = f"SELECT * FROM read_csv('{file}')"
    world.model("a", query)
    world.model("b", query, "deterministic: true")
    world.run()
    assert statuses(world.run()) == {"a": "built", "b": "skipped"}
