"""Resume: what was cut off is finished, seen to be done, or left to a person; never guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from apply.worlds import ENV, ID, NAME, PLAIN, STATUS, plan, wanted
from instar.apply import Result, apply_table, resume
from instar.backends.base import Backend, Outcome
from instar.backends.memory import MemoryBackend
from instar.core.plan import Rung, Step
from instar.core.schema import Table, Wanted
from instar.core.types import Column, Integer, String
from instar.errors import StateError
from instar.state import JournalRun, Store

NOTE = wanted(*PLAIN.columns, Column("note", String()))


class Cut(BaseException):
    """Ends a run as a crash would, without ending the test."""


def cut_at(name: str) -> Callable[[str], None]:
    def point(reached: str) -> None:
        if reached == name:
            raise Cut

    return point


def cut_run(backend: MemoryBackend, store: Store, place: str, wish: Wanted = NOTE) -> JournalRun:
    with pytest.raises(Cut):
        apply_table(plan(backend, store, wish), backend, store, ENV, failpoint=cut_at(place))
    (run,) = store.unfinished(ENV)
    return run


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("journal:begun", "0 of 1 steps had been applied"),
        ("alter:before", "0 of 1 steps had been applied"),
        ("alter:applying", "was begun but not done"),
        ("alter:begun", "was begun but not done"),
        ("alter:ran", "the table shows that it was done"),
        ("alter:after", "only the end was not written down"),
    ],
)
def test_resume_says_what_it_found_and_finishes(
    full: MemoryBackend, store: Store, place: str, said: str
) -> None:
    run = cut_run(full, store, place)
    heard: list[str] = []
    report = resume(full, store, ENV, run, note=heard.append)
    assert (report.result, report.applied, report.resumed) == (Result.APPLIED, 1, True)
    assert said in report.notes[0]
    assert heard == [f"[{NAME}] {note}" for note in report.notes]
    assert [r["note"] for r in full.rows(NAME)] == [None, None, None]
    assert store.unfinished(ENV) == ()
    assert [len(v.table.columns) for v in store.versions(ENV, NAME)] == [3, 4]


def test_a_run_that_another_process_has_finished_is_left_alone(
    full: MemoryBackend, store: Store
) -> None:
    run = cut_run(full, store, "alter:ran")
    (same,) = store.unfinished(ENV)
    assert resume(full, store, ENV, same).ok
    report = resume(full, store, ENV, run)
    assert report.result is Result.NOTHING
    assert "another process" in report.notes[0]


def test_a_run_that_had_not_begun_is_forgotten_when_the_table_moved(
    full: MemoryBackend, store: Store
) -> None:
    run = cut_run(full, store, "journal:begun")
    _change_behind_its_back(full)
    report = resume(full, store, ENV, run)
    assert report.result is Result.NOTHING
    assert store.unfinished(ENV) == ()


def _change_behind_its_back(backend: MemoryBackend) -> None:
    """Somebody alters the table without Instar's journal."""
    stored = backend._store.get(NAME)
    assert stored is not None
    columns = (*stored.table.columns, Column("extra", Integer(32), identity=99))
    rows = [{**r, "extra": None} for r in stored.rows]
    backend._store.put(replace(stored, table=replace(stored.table, columns=columns), rows=rows))


def test_between_two_steps_a_moved_table_needs_a_person(full: MemoryBackend, store: Store) -> None:
    both = wanted(ID, STATUS, Column("amount", String()), Column("note", String()))
    run = cut_run(full, store, "alter:after", both)
    assert [s.status.value for s in run.steps] == ["applied", "pending"]
    _change_behind_its_back(full)
    with pytest.raises(StateError) as caught:
        resume(full, store, ENV, run)
    assert caught.value.code == "E304"
    assert "extra INT" in caught.value.message


class Forgetful(MemoryBackend):
    """An engine that cannot tell what became of a step."""

    def outcome(self, step: Step, before: Table | None, memo: object) -> Outcome:
        del step, before, memo
        return Outcome.UNCLEAR


def test_an_unclear_outcome_tells_a_person_all_there_is_to_know(
    full: MemoryBackend, store: Store, tmp_path: Path
) -> None:
    run = cut_run(full, store, "alter:ran")
    backend = Forgetful(tmp_path / "engine.json")
    with pytest.raises(StateError) as caught:
        resume(backend, store, ENV, run)
    error = caught.value
    assert error.code == "E304"
    for words in (
        "live now:        (id BIGINT NOT NULL, status STRING, amount INT, note STRING)",
        "before the step: (id BIGINT NOT NULL, status STRING, amount INT)",
        "after the step:  (id BIGINT NOT NULL, status STRING, amount INT, note STRING)",
        "to be as before: drop_column note",
        "statement:       main.orders: add note STRING",
    ):
        assert words in error.message
    assert "instar recover --env dev --forget" in (error.hint or "")
    assert store.unfinished(ENV) != (), "nothing is decided until a person decides"
    store.abandon(run)
    assert plan(full, store, NOTE).steps == (), "the next plan starts from what is live"


def test_a_repeatable_step_is_run_again_whatever_became_of_it(
    full: MemoryBackend, store: Store, tmp_path: Path
) -> None:
    change = plan(full, store, NOTE)
    steps = tuple(
        replace(s, kind="drop_old", after=PLAIN, data=MappingProxyType({}), repeatable=True)
        for s in change.steps
    )
    cut = cut_at("drop_old:ran")
    with pytest.raises(Cut):
        apply_table(replace(change, steps=steps), full, store, ENV, failpoint=cut)
    (run,) = store.unfinished(ENV)
    report = resume(Forgetful(tmp_path / "engine.json"), store, ENV, run)
    assert report.ok
    assert "run again" in report.notes[0]


def test_a_step_that_leaves_the_schema_as_it_was_is_never_taken_for_done(
    full: MemoryBackend,
) -> None:
    """A swap of two like columns looks the same before and after: only the engine's mark can tell."""
    live = full.inspect([NAME])[NAME]
    assert isinstance(live, Table)
    step = Step("1", "alter", Rung.METADATA, "swap two like columns", (), live)
    assert Backend.outcome(full, step, live, {}) is Outcome.UNCLEAR
