"""Old copies on DSQL: put back by two renames that may be cut off between any two transactions, and dropped."""

from __future__ import annotations

import os

import pytest

from backends.dsql.bed import DsqlBed
from instar.apply import failpoints
from lifecycle.worker import KILLED, run
from lifecycle.worker import failpoints as reached
from lifecycle.world import World

TABLE = """table: t
primary_key: [id]
constraints:
  one_mail: {unique: [mail]}
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: mail, type: VARCHAR}
  - {name: age, type: VARCHAR}
"""
NEW = TABLE.replace("{name: age, type: VARCHAR}", "{name: age, type: INTEGER}")
ROWS = ["1 | 'a@x' | '36'", "2 | 'b@x' | '41'"]
AFTER = ["1 | 'a@x' | 36", "2 | 'b@x' | 41"]
TELLING = ("revert:rename-now after:1", "revert:rename-old after:1", "name taken:1")


def tables(world: World) -> list[object]:
    found = world.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    return [row[0] for row in found]


def keys(world: World, table: str) -> list[object]:
    return [
        row[0]
        for row in world.sql(
            f"SELECT conname FROM pg_constraint WHERE conrelid = '{table}'::regclass ORDER BY 1"
        )
    ]


@pytest.fixture
def world(on_dsql: World) -> World:
    on_dsql.apply(TABLE)
    on_dsql.fill(ROWS)
    on_dsql.apply(NEW)
    return on_dsql


def test_a_revert_cut_off_anywhere_is_finished(world: World, bed: DsqlBed) -> None:
    """Each revert is killed at another place; the next process ends it. There and back and there again."""
    url = {"DATABASE_URL": bed.url()}
    trace = world.root / "trace"
    assert run(world.root, "revert", **url, **{failpoints.TRACE: str(trace)}) == 0
    points = reached(trace) if os.environ.get("INSTAR_KILL_ALL") else TELLING
    assert set(TELLING) <= set(reached(trace))
    before = True
    for point in points:
        assert run(world.root, "revert", **url, **{failpoints.POINT: point}) == KILLED, point
        assert run(world.root, "recover", **url) == 0, point
        rows = world.rows()
        assert rows in (ROWS, AFTER), point
        before = rows == ROWS
        assert keys(world, "t") == ["one_mail", "t_pkey"], point
        assert len(tables(world)) == 2, point
    if not before:
        assert run(world.root, "revert", **url) == 0
    assert world.rows() == ROWS


def test_names_that_were_cut_come_back_whole(on_dsql: World, bed: DsqlBed) -> None:
    """Also where the revert was cut off while one table had both kinds of names."""
    world, one, index = on_dsql, "u" * 63, "ä" * 30
    world.apply(TABLE.replace("one_mail", one))
    world.sql(f'CREATE INDEX ASYNC "{index}" ON t (age)')
    for _ in range(3):
        world.sql("SELECT * FROM sys.jobs")
    world.fill(ROWS)
    world.apply(NEW.replace("one_mail", one))
    for point in ("", "name taken:1", "name taken:4"):
        killed = {failpoints.POINT: point} if point else {}
        code = run(world.root, "revert", DATABASE_URL=bed.url(), **killed)
        assert code == (KILLED if point else 0), point
        assert run(world.root, "recover", DATABASE_URL=bed.url()) == 0
        found = {
            row[0] for row in world.sql("SELECT indexname FROM pg_indexes WHERE tablename = 't'")
        }
        assert found == {"t_pkey", one, index}, point


def test_cleanup_drops_the_old_table(world: World) -> None:
    assert keys(world, "t") == ["one_mail", "t_pkey"]
    assert keys(world, "t__instar_old_1") == ["one_mail__instar_o1", "t_pkey__instar_o1"]
    assert len(world.project.cleanup(confirm=world.yes).dropped) == 1
    assert tables(world) == ["t"]
    assert world.rows() == AFTER


def test_between_the_renames_without_a_journal_the_table_is_put_back(
    on_dsql: World, bed: DsqlBed
) -> None:
    world = on_dsql
    world.apply(TABLE)
    world.fill(ROWS)
    world.declare(NEW)
    killed = {failpoints.POINT: "recreate renamed aside", "DATABASE_URL": bed.url()}
    assert run(world.root, "apply", **killed) == KILLED
    assert tables(world) == ["t__instar_new", "t__instar_old_1", "t__instar_pos"]
    world.lose_state()
    reports = world.project.recover()
    assert all(report.ok for report in reports)
    assert tables(world) == ["t"]
    assert world.rows() == ROWS
    world.apply()
    assert world.rows() == AFTER


def test_the_question_says_that_writers_must_stop(world: World) -> None:
    said = [question.text for question in world.asked]
    assert any("[writers must stop]" in text for text in said)
