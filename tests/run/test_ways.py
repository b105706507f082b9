"""A model whose rows come another way than before: by a key, by intervals, as a whole."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from instar.apply import Question
from instar.errors import ConfirmationNeeded
from instar.run.options import RunOptions
from models.world import World, statuses

BY_ID = "incremental: {unique_key: id}"


def rows(world: World, what: str = "*") -> list[tuple[object, ...]]:
    return world.sql(f"SELECT {what} FROM m ORDER BY ALL")


def test_what_was_incremental_is_not_built_as_a_whole_without_a_word(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id UNION ALL SELECT 2")
    world.model("m", "SELECT id FROM src", BY_ID)
    world.run()
    world.sql("DELETE FROM src WHERE id = 1")
    world.model("m", "SELECT id FROM src")
    with pytest.raises(ConfirmationNeeded):
        world.project.run(confirm=None)
    assert rows(world) == [(1,), (2,)]
    asked: list[Question] = []

    def yes(questions: Sequence[Question]) -> bool:
        asked.extend(questions)
        return True

    world.project.run(confirm=yes)
    assert [q.text.split("] ")[1] for q in asked] == [
        "to build what was incremental as a whole replaces 2 rows by 1 that its query gives now"
    ]
    world.sql("INSERT INTO src VALUES (3)")
    world.project.run(confirm=None)
    assert rows(world) == [(2,), (3,)]


@pytest.mark.parametrize("first", ["", "incremental: {unique_key: [id, n]}"])
def test_rows_that_break_the_new_key_are_not_left_beside_new_ones(world: World, first: str) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id, unnest([1, 2]) AS n")
    world.model("m", "SELECT id, n FROM src", first)
    world.run()
    world.model("m", "SELECT id, max(n) AS n FROM src GROUP BY id", BY_ID)
    (result,) = world.run().results
    told = "stands twice in the rows that are there: 1 key in 2 rows, such as 1; --full-refresh"
    assert told in str(result.error)
    assert rows(world) == [(1, 1), (1, 2)]
    assert world.run(options=RunOptions(full_refresh=True)).ok
    assert rows(world) == [(1, 2)]
    assert statuses(world.run()) == {"m": "skipped"}


SOURCE = """CREATE TABLE src AS SELECT * FROM (VALUES
(1, TIMESTAMP '2024-01-01 10:00', TIMESTAMP '2024-01-03 10:00'),
(2, TIMESTAMP '2024-01-02 10:00', TIMESTAMP '2024-01-02 10:00'),
(3, TIMESTAMP '2024-01-03 10:00', TIMESTAMP '2024-01-04 10:00')) AS t(id, made, seen)"""


def by_time(world: World, column: str) -> None:
    world.model("m", "SELECT * FROM src", f"incremental: {{event_time_column: {column}}}")


@pytest.mark.parametrize("between", ["made", "key"])
def test_another_event_time_has_other_intervals(world: World, between: str) -> None:
    """Row 4 lies in an interval that was done by the other column, or before the table went by a key."""
    world.sql(SOURCE)
    by_time(world, "seen" if between == "key" else "made")
    world.run()
    if between == "key":
        world.model("m", "SELECT * FROM src WHERE id < 4", BY_ID)
        world.run()
    world.sql("INSERT INTO src VALUES (4, '2024-01-05 10:00', '2024-01-02 11:00')")
    by_time(world, "seen")
    (told,) = world.run(dry_run=True).expected
    assert told.reason == "its rows come another way than before"
    assert told.intervals is not None
    assert told.intervals.count == 3
    world.run()
    assert rows(world, "id") == [(1,), (2,), (3,), (4,)]
    assert statuses(world.run()) == {"m": "skipped"}


def test_an_event_time_that_is_renamed_keeps_its_intervals(world: World) -> None:
    world.sql(SOURCE)
    by_time(world, "made")
    world.run()
    world.sql("INSERT INTO src VALUES (4, '2024-01-01 11:00', NULL), (5, '2024-01-04 11:00', NULL)")
    world.model(
        "m",
        "SELECT id, made AS born, seen FROM src",
        "incremental: {event_time_column: born}\ncolumns: {born: {renamed_from: made}}",
    )
    (result,) = world.run().results
    assert "intervals done before keep their rows" in result.reason
    assert rows(world, "id") == [(1,), (2,), (3,), (5,)]
