"""Old copies on DuckDB: told, listed, put back, dropped; killed anywhere, nothing is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from instar.apply import QuestionKind
from instar.apply.failpoints import POINT, TRACE, Failpoints
from instar.cli.main import run as instar
from instar.errors import ConfirmationNeeded, StateError, UsageError
from lifecycle.worker import KILLED, failpoints, run
from lifecycle.world import World, duckdb_world

OLD = """table: t
primary_key: [id]
columns:
  - {name: id, type: INTEGER, nullable: false}
  - {name: name, type: VARCHAR}
"""
NEW = OLD.replace("primary_key: [id]", "primary_key: [id, name]").replace(
    "{name: name, type: VARCHAR}", "{name: name, type: VARCHAR, nullable: false}"
)
ROWS = ["1 | 'Ada'", "2 | 'Bob'"]


def rewritten(world: World) -> World:
    """A table whose key was changed by a rewrite: its old self is kept."""
    world.apply(OLD)
    world.fill(ROWS)
    world.apply(NEW)
    return world


def tables(world: World) -> list[str]:
    return sorted(r[0] for r in world.sql("SELECT table_name FROM duckdb_tables()"))


def test_apply_tells_the_rows_of_both_tables_and_what_may_be_done(world: World) -> None:
    world.apply(OLD)
    world.fill(ROWS)
    (report,) = world.apply(NEW).tables
    assert report.notes[-1] == (
        "Original table has 2 rows (kept as main.t__instar_old_1), new table has 2 rows."
        " `instar revert t` puts it back, `instar cleanup t` drops it for good."
    )
    assert report.notes[-2] == "verified: 2 rows, checksums equal"
    assert [q.kind for q in world.asked] == [QuestionKind.REWRITE, QuestionKind.BACKUP]


class Killed(BaseException):
    pass


def killed_at(point: str) -> Callable[[Failpoints, str], None]:
    def reached(self: Failpoints, name: str) -> None:
        del self
        if name == point:
            raise Killed

    return reached


@pytest.mark.parametrize("point", ["rewrite:ran", "rewrite:after"])
def test_a_rewrite_that_was_cut_off_is_told_in_the_same_words(
    world: World, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    world.apply(OLD)
    world.fill(ROWS)
    with monkeypatch.context() as patch:
        patch.setattr(Failpoints, "__call__", killed_at(point))
        with pytest.raises(Killed):
            world.apply(NEW)
    (report,) = world.project.recover()
    assert "verified: 2 rows, checksums equal" in report.notes
    assert report.notes[-1].startswith("Original table has 2 rows (kept as main.t__instar_old_1)")


def test_history_names_the_copy_until_it_is_dropped(world: World) -> None:
    rewritten(world)
    (kept,) = world.project.kept()
    assert kept.run == world.project.history()[0].run
    world.project.cleanup(confirm=world.yes)
    assert world.project.kept() == ()


def test_the_last_copy_is_dropped_after_the_words_of_its_own(world: World) -> None:
    rewritten(world)
    world.fill(["3 | 'Cy'"])
    world.asked.clear()
    done = world.project.cleanup(confirm=world.yes)
    (question,) = world.asked
    assert question.text == (
        "[main.t] Original table has 2 rows, new table has 3 rows. Proceeding will DROP the original"
        " table (main.t__instar_old_1). This action is IRREVERSIBLE. Do you want to proceed? (yes/no)"
    )
    assert [str(c.name) for c in done.dropped] == ["main.t__instar_old_1"]
    assert tables(world) == ["t"]
    assert world.rows() == [*ROWS, "3 | 'Cy'"]
    assert world.project.history()[0].command == "instar cleanup"


def test_a_no_leaves_the_copy_and_nobody_to_ask_is_no_yes(world: World) -> None:
    rewritten(world)
    assert world.project.cleanup(confirm=lambda _: False).dropped == ()
    with pytest.raises(ConfirmationNeeded):
        world.project.cleanup()
    assert tables(world) == ["t", "t__instar_old_1"]


def test_copies_are_found_by_their_names_when_the_state_is_lost(world: World) -> None:
    rewritten(world)
    (known,) = world.project.copies()
    assert (known.cost.rows, known.live_rows) == (2, 2)
    assert known.when is not None
    world.lose_state()
    (found,) = world.project.copies()
    assert (found.name, found.cost.rows, found.when) == (known.name, 2, None)
    assert len(world.project.cleanup(confirm=world.yes).dropped) == 1
    assert tables(world) == ["t"]


def test_the_only_copy_is_never_dropped(world: World) -> None:
    rewritten(world)
    world.sql("DROP TABLE t")
    (report,) = world.project.cleanup(confirm=world.yes).reports
    assert report.error is not None
    assert report.error.code == "E441"
    assert tables(world) == ["t__instar_old_1"]


def test_a_copy_that_somebody_dropped_is_forgotten(world: World) -> None:
    rewritten(world)
    world.sql("DROP TABLE t__instar_old_1")
    assert world.project.cleanup(confirm=world.yes).reports == ()
    assert world.project.kept() == ()


def test_revert_says_what_it_costs_and_keeps_it_aside(world: World) -> None:
    rewritten(world)
    world.sql("INSERT INTO t VALUES (3, 'Cy')")
    world.sql("DELETE FROM t WHERE id = 1")
    world.asked.clear()
    done = world.project.revert("t", confirm=world.yes)
    assert world.asked[0].text == (
        "[main.t] put main.t__instar_old_1 back (2 rows instead of 2). 1 row written or changed since"
        " would be lost from the table (compared by id; a row where only name was changed is not"
        " counted); kept in t__instar_old_2; 1 row would come back"
    )
    assert (done.since.only_now, done.since.only_then) == (1, 1)
    assert world.rows() == ROWS
    assert world.rows("t__instar_old_2") == ["2 | 'Bob'", "3 | 'Cy'"]
    (pending,) = world.plan().pending
    assert pending.steps[0].kind == "rewrite"


def test_values_of_every_type_are_compared(world: World) -> None:
    """A change in a document alone is one that a revert takes out of the table."""
    more = "  - {name: doc, type: JSON}\n  - {name: tags, type: 'MAP<STRING, INT>'}\n"
    world.apply(OLD + more)
    world.fill([f"{row} | '{{}}' | MAP {{'a': 1}}" for row in ROWS])
    world.apply(NEW + more)
    world.sql("UPDATE t SET doc = '[]' WHERE id = 1; UPDATE t SET tags = MAP {} WHERE id = 2")
    done = world.project.revert("t", confirm=world.yes)
    assert (done.since.only_now, done.since.only_then) == (2, 2)
    assert done.since.unseen == ("name",)


@pytest.mark.parametrize("reverts", [1, 2], ids=["back", "forward again"])
def test_what_a_revert_put_aside_is_not_called_the_original(
    world: World, capsys: pytest.CaptureFixture[str], reverts: int
) -> None:
    rewritten(world)
    for _ in range(reverts):
        assert instar(["revert", "t", "--yes", "--project", str(world.root)]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == "`instar plan` shows what its manifest wants otherwise, if anything."
    assert bool(world.plan().pending) is (reverts == 1)
    (copy,) = world.project.copies()
    world.fill(["3 | 'Cy'"])
    world.asked.clear()
    world.project.cleanup(confirm=world.yes)
    assert [q.text for q in world.asked] == [
        f"[main.t] The copy has 2 rows, the table has 3 rows. Proceeding will DROP the copy ({copy.name})."
        " This action is IRREVERSIBLE. Do you want to proceed? (yes/no)"
    ]


def test_a_copy_that_nobody_knows_is_not_called_the_original(world: World) -> None:
    rewritten(world)
    world.lose_state()
    world.asked.clear()
    world.project.cleanup(confirm=world.yes)
    assert "Original" not in world.asked[0].text


def test_a_revert_that_was_cut_off_is_told_in_words_of_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewritten(world)
    world.fill(["3 | 'Cy'"])
    with monkeypatch.context() as patch:
        patch.setattr(Failpoints, "__call__", killed_at("revert:after"))
        with pytest.raises(Killed):
            world.project.revert("t", confirm=world.yes)
    (report,) = world.project.recover()
    assert report.notes[-1] == (
        "The table has 2 rows, what it was before 3 (kept as main.t__instar_old_2)."
        " `instar revert t` puts that back, `instar cleanup t` drops it for good."
    )


def test_revert_brings_indexes_along(world: World) -> None:
    world.apply(OLD)
    world.fill(ROWS)
    world.sql("CREATE INDEX by_name ON t (name); COMMENT ON INDEX by_name IS 'for people'")
    world.apply(NEW)
    world.project.revert("t", confirm=world.yes)
    found = world.sql("SELECT table_name, index_name, comment FROM duckdb_indexes()")
    assert found == [("t", "by_name", "for people")]


def test_revert_refuses_what_it_cannot_do_and_says_why(world: World) -> None:
    world.apply(OLD)
    with pytest.raises(StateError, match="there is no old copy of t") as none:
        world.project.revert("t", confirm=world.yes)
    assert none.value.code == "E440"
    with pytest.raises(UsageError, match="there is no table 'nothing'"):
        world.project.revert("nothing", confirm=world.yes)
    world.apply(NEW)
    with pytest.raises(ConfirmationNeeded):
        world.project.revert("t", confirm=lambda _: False)
    assert tables(world) == ["t", "t__instar_old_1"]


def test_with_several_copies_and_no_memory_a_name_is_needed(world: World) -> None:
    rewritten(world)
    world.apply(OLD)
    world.lose_state()
    with pytest.raises(UsageError, match="nobody knows which is the newest"):
        world.project.revert("t", confirm=world.yes)
    world.project.revert("t", to="t__instar_old_1", confirm=world.yes)
    (table,) = world.plan().tables
    assert table.live is not None
    assert table.live.primary_key == ("id",)


def test_a_bare_name_that_two_schemas_have_is_refused(world: World) -> None:
    world.sql("CREATE SCHEMA other")
    other = OLD.replace("table: t", "table: other.t")
    (world.root / "tables").mkdir()
    (world.root / "tables" / "other.yml").write_text(other)
    rewritten(world)
    with pytest.raises(UsageError, match=r"'t' is the name of several tables: main\.t, other\.t"):
        world.project.revert("t", confirm=world.yes)
    (world.root / "tables" / "other.yml").write_text(NEW.replace("table: t", "table: other.t"))
    notes = [r.notes[-1] for r in world.apply().tables if r.notes]
    assert "`instar revert other.t` puts it back, `instar cleanup other.t` drops" in notes[-1]
    done = world.project.revert("main.t", confirm=world.yes)
    assert str(done.copy.name) == "main.t__instar_old_1"
    done = world.project.revert("t", to="other.t__instar_old_1", confirm=world.yes)
    assert str(done.copy.table) == "other.t"


def test_a_rename_that_was_undone_is_planned_again(world: World) -> None:
    """The memory of done renames goes back with the table."""
    world.apply(
        "table: t\nprimary_key: [id]\ncolumns:\n  - {name: id, type: INTEGER, nullable: false}\n"
        "  - {name: a, type: VARCHAR}\n  - {name: b, type: VARCHAR}\n"
    )
    world.fill(["1 | 'x' | 'y'"])
    world.apply(
        "table: t\nprimary_key: [id, a]\ncolumns:\n  - {name: id, type: INTEGER, nullable: false}\n"
        "  - {name: a, type: VARCHAR, nullable: false, renamed_from: b}\n"
        "  - {name: c, type: VARCHAR, renamed_from: a}\n"
    )
    after = world.sql("SELECT id, a, c FROM t")
    assert after == [(1, "y", "x")]
    world.project.revert("t", confirm=world.yes)
    assert world.sql("SELECT id, a, b FROM t") == [(1, "x", "y")]
    world.apply()
    assert world.sql("SELECT id, a, c FROM t") == after


@pytest.mark.parametrize("what", ["cleanup", "revert"])
def test_killed_anywhere_it_is_finished_later(what: str, tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.mkdir()
    rewritten(duckdb_world(start))
    calm, trace = shutil.copytree(start, tmp_path / "calm"), tmp_path / "trace"
    assert run(calm, what, **{TRACE: str(trace)}) == 0
    expected = tables(duckdb_world(calm)), duckdb_world(calm).rows()
    points = failpoints(trace)
    assert len(points) > 8
    for number, point in enumerate(points):
        root = shutil.copytree(start, tmp_path / f"killed {number}")
        assert run(root, what, **{POINT: point}) == KILLED, point
        assert run(root, "recover") == 0, point
        world = duckdb_world(root)
        assert world.project.resume() == ()
        assert (tables(world), world.rows()) == expected, point
