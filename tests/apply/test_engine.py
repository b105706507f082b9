"""Apply: only what was planned, step by step, looked at afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import psycopg
import pytest

from apply.worlds import (
    CASES,
    DROP,
    ENV,
    ID,
    NAME,
    PLAIN,
    REWRITE,
    ROWS,
    STATUS,
    Case,
    plan,
    wanted,
)
from instar.apply import Result, TableReport, apply_plan, apply_table, resume
from instar.backends.base import RunContext
from instar.backends.memory import MemoryBackend
from instar.core.plan import Plan, Step
from instar.core.schema import Hint, TableName, Wanted
from instar.core.types import Column, Integer, String
from instar.errors import (
    Blocked,
    EngineError,
    Interrupted,
    OutcomeUnknown,
    PlanMoved,
    StateError,
    VerificationFailed,
)
from instar.state import Entry, Store
from instar.state.postgres import PostgresDatabase

THREE_STEPS = wanted(
    *PLAIN.columns, Column("label", String()), hints={("label",): Hint(using="upper(status)")}
)


def filled(backend: MemoryBackend, store: Store, case: Case | None = None) -> None:
    """The start of a case (or the plain table with its rows), made by apply itself."""
    start, rows = (case.start, case.rows) if case else (PLAIN, ROWS)
    if start is not None:
        assert apply_table(plan(backend, store, Wanted(start)), backend, store, ENV).ok
        backend.insert(NAME, rows)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_each_change_reaches_its_rows_and_leaves_nothing_to_do(
    backend: MemoryBackend, store: Store, case: Case
) -> None:
    filled(backend, store, case)
    report = apply_table(plan(backend, store, case.wish, case.policy), backend, store, ENV)
    assert (report.result, report.applied) == (Result.APPLIED, report.total)
    assert backend.rows(NAME) == list(case.result)
    again = plan(backend, store, case.wish, case.policy)
    assert again.steps == ()
    assert apply_table(again, backend, store, ENV).result is Result.NOTHING
    assert store.unfinished(ENV) == ()
    assert store.holder(ENV, NAME) is None


def test_versions_and_history_tell_what_was_applied(backend: MemoryBackend, store: Store) -> None:
    filled(backend, store)
    apply_table(plan(backend, store, THREE_STEPS), backend, store, ENV)
    assert [len(v.table.columns) for v in store.versions(ENV, NAME)] == [3, 4]
    assert store.versions(ENV, NAME)[1].origin == "tables/orders.yml"
    newest, oldest = store.history(ENV)
    assert (newest.steps, newest.outcome, oldest.what) == (3, "finished", "create main.orders")


def test_a_table_that_moved_since_the_plan_is_left_alone(
    backend: MemoryBackend, store: Store
) -> None:
    filled(backend, store)
    old = plan(backend, store, wanted(*PLAIN.columns, Column("note", String())))
    other = wanted(*PLAIN.columns, Column("extra", Integer(32)))
    apply_table(plan(backend, store, other), backend, store, ENV)
    with pytest.raises(PlanMoved) as caught:
        apply_table(old, backend, store, ENV)
    assert caught.value.code == "E401"
    assert "extra" in caught.value.message
    assert "note" not in backend.rows(NAME)[0]
    assert store.unfinished(ENV) == ()


def test_a_column_dropped_and_made_again_counts_as_moved(
    backend: MemoryBackend, store: Store
) -> None:
    filled(backend, store)
    old = plan(backend, store, wanted(*PLAIN.columns, Column("note", String())))
    for wish in (wanted(ID, STATUS), wanted(*PLAIN.columns)):
        assert apply_table(plan(backend, store, wish, DROP), backend, store, ENV).ok
    with pytest.raises(PlanMoved):
        apply_table(old, backend, store, ENV)


def test_a_table_that_appeared_or_a_view_in_its_place_is_left_alone(
    backend: MemoryBackend, store: Store
) -> None:
    create = plan(backend, store, Wanted(PLAIN))
    apply_table(create, backend, store, ENV)
    with pytest.raises(PlanMoved, match="exists already"):
        apply_table(create, backend, store, ENV)
    view = TableName("main", "v")
    other = plan(backend, store, Wanted(replace(PLAIN, name=view)))
    backend.create_view(view)
    with pytest.raises(PlanMoved, match="view"):
        apply_table(other, backend, store, ENV)


def test_a_table_that_is_gone_counts_as_moved(
    backend: MemoryBackend, store: Store, tmp_path: Path
) -> None:
    filled(backend, store)
    change = plan(backend, store, THREE_STEPS)
    with pytest.raises(PlanMoved, match="gone"):
        apply_table(change, MemoryBackend(tmp_path / "empty.json"), store, ENV)


class Lazy(MemoryBackend):
    """Says OK to a step of this kind and does nothing."""

    def __init__(self, file: Path, kind: str) -> None:
        super().__init__(file)
        self.kind = kind

    def run(self, step: Step, context: RunContext) -> None:
        if step.kind != self.kind:
            super().run(step, context)


def test_an_accepted_no_op_is_an_error_that_says_what_is_missing(
    store: Store, tmp_path: Path
) -> None:
    filled(MemoryBackend(tmp_path / "engine.json"), store)
    backend = Lazy(tmp_path / "engine.json", "alter")
    change = plan(backend, store, wanted(*PLAIN.columns, Column("note", String())))
    report = apply_table(change, backend, store, ENV)
    assert (report.result, report.applied, report.total) == (Result.FAILED, 0, 1)
    assert isinstance(report.error, VerificationFailed)
    assert report.error.code == "E402"
    assert "add_column note" in report.error.message
    assert store.unfinished(ENV) == (), "nothing was changed, so there is nothing to resume"
    assert [v.n for v in store.versions(ENV, NAME)] == [1]


def test_an_accepted_no_op_in_the_middle_stays_in_the_journal(store: Store, tmp_path: Path) -> None:
    filled(MemoryBackend(tmp_path / "engine.json"), store)
    backend = Lazy(tmp_path / "engine.json", "swap")
    report = apply_table(plan(backend, store, THREE_STEPS), backend, store, ENV)
    assert isinstance(report.error, VerificationFailed)
    (run,) = store.unfinished(ENV)
    assert [s.status.value for s in run.steps] == ["applied", "failed", "pending"]


def at(name: str, act: Callable[[], object]) -> Callable[[str], None]:
    """A failpoint that does something at a place instead of killing."""

    def point(reached: str) -> None:
        if reached == name:
            act()

    return point


GOOD = tuple({**r, "status": "ok"} for r in ROWS)
LABELLED = wanted(
    *PLAIN.columns,
    Column("label", String(), nullable=False),
    hints={("label",): Hint(using="status")},
)


def refused_in_step_two(backend: MemoryBackend, store: Store) -> TableReport:
    """A row that breaks the promise comes in after the copy: the engine refuses the swap."""
    apply_table(plan(backend, store, Wanted(PLAIN)), backend, store, ENV)
    backend.insert(NAME, GOOD)
    change = plan(backend, store, LABELLED)
    bad = {"id": 10, "status": None, "amount": 1}
    return apply_table(
        change,
        backend,
        store,
        ENV,
        failpoint=at("swap:before", lambda: backend.insert(NAME, [bad])),
    )


def test_a_failure_in_step_two_of_three_is_journalled_and_says_what_to_type(
    backend: MemoryBackend, store: Store
) -> None:
    report = refused_in_step_two(backend, store)
    assert (report.result, report.applied, report.total) == (Result.FAILED, 1, 3)
    assert isinstance(report.error, EngineError)
    assert "1 of 3 steps" in (report.next or "")
    assert "instar apply --env dev" in (report.next or "")
    (run,) = store.unfinished(ENV)
    assert [s.status.value for s in run.steps] == ["applied", "failed", "pending"]
    assert "E261" in (run.steps[1].error or "")
    assert len(backend.rows(NAME)) == 4, "the rows are all there, in the old shape"
    assert "label" not in backend.rows(NAME)[0]


def test_while_a_run_is_unfinished_no_other_is_begun(backend: MemoryBackend, store: Store) -> None:
    refused_in_step_two(backend, store)
    other = plan(backend, store, wanted(*PLAIN.columns, Column("note", String())))
    with pytest.raises(StateError) as caught:
        apply_table(other, backend, store, ENV)
    assert caught.value.code == "E309"
    (run,) = store.unfinished(ENV)
    store.abandon(run)
    assert apply_table(other, backend, store, ENV).ok


def test_a_step_that_fails_again_on_resume_stays_failed(
    backend: MemoryBackend, store: Store
) -> None:
    refused_in_step_two(backend, store)
    (run,) = store.unfinished(ENV)
    report = resume(backend, store, ENV, run)
    assert (report.result, report.applied, report.total) == (Result.FAILED, 1, 3)
    assert [s.status.value for s in run.steps] == ["applied", "failed", "pending"]


class Breaking(MemoryBackend):
    """Raises once, before or after it has carried out a step of this kind."""

    def __init__(self, file: Path, kind: str, error: BaseException, *, late: bool = False) -> None:
        super().__init__(file)
        self.kind, self.late = kind, late
        self.error: BaseException | None = error
        self.interrupted = False

    def run(self, step: Step, context: RunContext) -> None:
        now = self.error if step.kind == self.kind else None
        if now is None or self.late:
            super().run(step, context)
        if now is not None:
            self.error = None
            raise now

    def interrupt(self) -> None:
        self.interrupted = True


REFUSED = EngineError("E261", "the engine is tired")


def broken(
    tmp_path: Path, store: Store, kind: str, error: BaseException, *, late: bool = False
) -> Breaking:
    filled(MemoryBackend(tmp_path / "engine.json"), store)
    return Breaking(tmp_path / "engine.json", kind, error, late=late)


@pytest.mark.parametrize("late", [False, True], ids=["not done", "done all the same"])
@pytest.mark.parametrize("kind", ["copy", "swap", "drop_old"])
def test_a_failed_step_is_run_again_or_seen_to_be_done(
    tmp_path: Path, store: Store, kind: str, late: bool
) -> None:
    backend = broken(tmp_path, store, kind, REFUSED, late=late)
    change = plan(backend, store, THREE_STEPS)
    assert apply_table(change, backend, store, ENV).result is Result.FAILED
    for run in store.unfinished(ENV):
        assert resume(backend, store, ENV, run).result is Result.APPLIED
    if plan(backend, store, THREE_STEPS).steps:
        assert apply_table(plan(backend, store, THREE_STEPS), backend, store, ENV).ok
    assert [r["label"] for r in backend.rows(NAME)] == ["NEW", None, "IT'S Ü"]
    assert store.unfinished(ENV) == ()


def test_a_failure_that_changed_nothing_leaves_nothing_to_resume(
    tmp_path: Path, store: Store
) -> None:
    backend = broken(tmp_path, store, "alter", REFUSED)
    wish = wanted(*PLAIN.columns, Column("note", String()))
    report = apply_table(plan(backend, store, wish), backend, store, ENV)
    assert "Nothing was changed" in (report.next or "")
    assert store.unfinished(ENV) == ()
    assert store.history(ENV)[0].outcome == Entry.FAILED.value
    assert apply_table(plan(backend, store, wish), backend, store, ENV).ok


def test_an_unknown_outcome_is_neither_failed_nor_done_until_the_table_is_asked(
    tmp_path: Path, store: Store
) -> None:
    backend = broken(tmp_path, store, "alter", OutcomeUnknown("E211", "line dead"), late=True)
    wish = wanted(*PLAIN.columns, Column("note", String()))
    report = apply_table(plan(backend, store, wish), backend, store, ENV)
    assert isinstance(report.error, OutcomeUnknown)
    (run,) = store.unfinished(ENV)
    assert [s.status.value for s in run.steps] == ["applying"]
    said = resume(backend, store, ENV, run)
    assert said.result is Result.APPLIED
    assert "was done" in said.notes[0]


def test_ctrl_c_stops_the_engine_and_leaves_a_run_to_resume(tmp_path: Path, store: Store) -> None:
    backend = broken(tmp_path, store, "swap", KeyboardInterrupt())
    with pytest.raises(Interrupted) as caught:
        apply_table(plan(backend, store, THREE_STEPS), backend, store, ENV)
    assert (caught.value.code, caught.value.exit_code) == ("E406", 130)
    assert "1 of 3" in caught.value.message
    assert backend.interrupted
    assert store.holder(ENV, NAME) is None
    (run,) = store.unfinished(ENV)
    assert resume(backend, store, ENV, run).ok
    assert [r["label"] for r in backend.rows(NAME)] == ["NEW", None, "IT'S Ü"]


def test_a_defect_in_a_backend_is_journalled_and_not_swallowed(
    tmp_path: Path, store: Store
) -> None:
    backend = broken(tmp_path, store, "swap", RuntimeError("a defect"))
    with pytest.raises(RuntimeError, match="a defect"):
        apply_table(plan(backend, store, THREE_STEPS), backend, store, ENV)
    (run,) = store.unfinished(ENV)
    assert run.steps[1].error == "RuntimeError: a defect"
    assert resume(backend, store, ENV, run).ok


def unwritable(store: Store) -> tuple[str, Callable[[], object], Callable[[], object]]:
    """The code of a store that can be read but not written, and how it becomes one and whole again."""
    database = store._database
    if isinstance(database, PostgresDatabase):
        about = f"ALTER TABLE {database.schema}.%s RENAME TO %s"

        def rename(*names: str) -> None:
            with psycopg.connect(database._conninfo) as sql:
                sql.execute(about % names)

        return "E301", lambda: rename("about", "lost"), lambda: rename("lost", "about")
    only = "PRAGMA query_only = %s"
    return "E305", lambda: database.read(only % "ON"), lambda: database.read(only % "OFF")


@pytest.mark.parametrize(
    "place", ["journal:begun", "swap:before", "swap:applying", "swap:begun", "swap:ran"]
)
def test_a_journal_that_can_no_longer_be_written_loses_nothing(
    backend: MemoryBackend, store: Store, place: str
) -> None:
    filled(backend, store)
    change = plan(backend, store, THREE_STEPS)
    code, lock, unlock = unwritable(store)
    with pytest.raises(StateError) as caught:
        apply_table(change, backend, store, ENV, failpoint=at(place, lock))
    assert caught.value.code == code
    unlock()
    (run,) = store.unfinished(ENV)
    assert resume(backend, store, ENV, run).ok
    assert [r["label"] for r in backend.rows(NAME)] == ["NEW", None, "IT'S Ü"]


def test_a_blocked_plan_is_refused(backend: MemoryBackend, store: Store) -> None:
    filled(backend, store)
    bad = plan(backend, store, wanted(*PLAIN.columns, Column("k", String(), nullable=False)))
    with pytest.raises(Blocked):
        apply_table(bad, backend, store, ENV)


def test_a_swap_can_be_asked_for_again_once_its_hints_have_left_the_manifest(
    backend: MemoryBackend, store: Store
) -> None:
    swap = next(c for c in CASES if c.name == "swap")
    filled(backend, store, swap)
    without = replace(swap.wish, hints=MappingProxyType({}))
    seen = []
    for wish in (swap.wish, swap.wish, without, swap.wish):
        apply_table(plan(backend, store, wish), backend, store, ENV)
        seen.append(backend.rows(NAME)[0]["a"])
    assert seen == ["y", "y", "y", "x"]


def test_a_failed_swap_is_not_remembered_as_done(tmp_path: Path, store: Store) -> None:
    swap = next(c for c in CASES if c.name == "swap")
    filled(MemoryBackend(tmp_path / "engine.json"), store, swap)
    backend = Breaking(tmp_path / "engine.json", "alter", REFUSED)
    apply_table(plan(backend, store, swap.wish), backend, store, ENV)
    assert store.done_renames(ENV, NAME) == frozenset()
    assert apply_table(plan(backend, store, swap.wish), backend, store, ENV).ok
    assert backend.rows(NAME) == list(swap.result)


def test_a_whole_plan_stops_at_the_first_failure(tmp_path: Path, store: Store) -> None:
    backend = broken(tmp_path, store, "alter", REFUSED)
    wish = wanted(*PLAIN.columns, Column("note", String()))
    items = Wanted(replace(PLAIN, name=TableName("main", "items")))
    both = Plan(ENV, REWRITE, (plan(backend, store, wish), plan(backend, store, items)))
    first = apply_plan(both, lambda _: backend, store)
    assert [r.result for r in first] == [Result.FAILED, Result.SKIPPED]
    second = apply_plan(both, lambda _: backend, store)
    assert [r.result for r in second] == [Result.APPLIED, Result.APPLIED]
    assert len({e.run for e in store.history(ENV)[:2]}) == 1, "one command, one run"


def test_nothing_of_a_plan_is_touched_when_one_table_has_moved(
    backend: MemoryBackend, store: Store
) -> None:
    items = plan(backend, store, Wanted(replace(PLAIN, name=TableName("main", "items"))))
    orders = plan(backend, store, Wanted(PLAIN))
    filled(backend, store)
    with pytest.raises(PlanMoved):
        apply_plan(Plan(ENV, REWRITE, (items, orders)), lambda _: backend, store)
    assert backend.list_tables("main") == [NAME]


def test_a_second_process_is_kept_out(backend: MemoryBackend, store: Store) -> None:
    change = plan(backend, store, Wanted(PLAIN))
    with store.lock(ENV, NAME, "instar apply"), pytest.raises(StateError) as caught:
        apply_table(change, backend, store, ENV)
    assert caught.value.code == "E303"
    assert str(os.getpid()) in caught.value.message
