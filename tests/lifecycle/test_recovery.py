"""The state store is lost: the tables themselves tell what a crash has left, and nothing is lost with it."""

from __future__ import annotations

import pytest

from cli.running import in_terminal, instar
from lifecycle.test_copies import NEW, OLD, ROWS, rewritten, tables
from lifecycle.world import World


def made(world: World, *names: str) -> World:
    """Of the table, its old self and its copy only these are there, and nobody remembers why."""
    world.apply(OLD)
    world.fill(ROWS)
    for name in names:
        if name != "t":
            world.sql(f"CREATE TABLE {name} AS SELECT * FROM t")
            world.sql(f"INSERT INTO {name} VALUES (9, '{name}')")
    if "t" not in names:
        world.sql("DROP TABLE t")
    world.lose_state()
    return world


@pytest.mark.parametrize(
    ("there", "words", "rows", "left"),
    [
        (
            ["t", "t__instar_new"],
            ["drop main.t__instar_new: it was never swapped in, and main.t is there"],
            ROWS,
            ["t"],
        ),
        (
            ["t__instar_old_1"],
            ["main.t is gone and main.t__instar_old_1 is what is left of it: put it back"],
            [*ROWS, "9 | 't__instar_old_1'"],
            ["t"],
        ),
        (
            ["t__instar_new"],
            ["main.t is gone and main.t__instar_new is what is left of it: put it back"],
            [*ROWS, "9 | 't__instar_new'"],
            ["t"],
        ),
        (
            ["t__instar_old_1", "t__instar_new"],
            [
                "main.t is gone and main.t__instar_old_1 is what is left of it: put it back",
                "drop main.t__instar_new: it was never swapped in, and main.t is there",
            ],
            [*ROWS, "9 | 't__instar_old_1'"],
            ["t"],
        ),
        (["t", "t__instar_old_1"], [], ROWS, ["t", "t__instar_old_1"]),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else str(value),
)
def test_what_is_left_is_put_back_or_dropped(
    world: World, there: list[str], words: list[str], rows: list[str], left: list[str]
) -> None:
    made(world, *there)
    reports = world.project.recover()
    assert [r.notes[-1] for r in reports] == words
    assert all(r.ok for r in reports)
    assert (world.rows(), tables(world)) == (rows, left)
    assert world.project.recover() == ()


def test_of_several_old_ones_none_is_guessed(world: World) -> None:
    made(world, "t__instar_old_1", "t__instar_old_2")
    (report,) = world.project.recover()
    assert report.error is not None
    assert report.error.code == "E442"
    assert tables(world) == ["t__instar_old_1", "t__instar_old_2"]


def test_a_plan_never_creates_a_table_anew_over_its_rows(world: World) -> None:
    made(world, "t__instar_old_1")
    (table,) = world.plan().blocked
    assert [f.code for f in table.findings] == ["F504"]


def test_apply_puts_the_table_back_first_and_then_goes_on(world: World) -> None:
    made(world, "t__instar_old_1")
    world.declare(NEW)
    done = instar("apply", "--allow-rewrite", "--yes", cwd=world.root)
    assert done.code == 0, done.err
    assert "is what is left of it: put it back" in done.out
    assert world.rows() == [*ROWS, "9 | 't__instar_old_1'"]
    assert world.plan().pending == ()


def test_dropping_takes_a_whole_yes(world: World) -> None:
    rewritten(world)
    question = "Do you want to proceed? (yes/no)"
    code, seen = in_terminal(["cleanup"], b"y\n", world.root, when=question)
    assert code == 0
    assert "0 old copies dropped, 1 kept" in seen
    code, seen = in_terminal(["cleanup"], b"yes\n", world.root, when=question)
    assert "1 old copy dropped" in seen
    assert tables(world) == ["t"]


def test_the_command_line_lists_reverts_and_needs_a_word(world: World) -> None:
    rewritten(world)
    listed = instar("cleanup", "--dry-run", cwd=world.root)
    assert listed.out.startswith("main.t__instar_old_1  of main.t, 2 rows")
    unasked = instar("revert", "t", cwd=world.root)
    assert unasked.code == 4
    done = instar("revert", "t", "--yes", cwd=world.root)
    assert "main.t is as main.t__instar_old_1 was: 2 rows." in done.out
    shown = instar("history", "t", cwd=world.root)
    assert "kept: main.t__instar_old_2, until `instar cleanup`" in shown.out
