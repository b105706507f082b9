"""Goes on where a run was cut off: the table is asked what became of the step nobody saw end."""

from __future__ import annotations

from instar.apply.failpoints import Failpoints
from instar.apply.report import Result, TableReport
from instar.apply.runner import (
    Failpoint,
    Note,
    Runner,
    Voice,
    doer,
    inspected,
    no_note,
    no_progress,
)
from instar.apply.words import changes_text, table_text
from instar.backends.base import Backend, NotATable, Outcome, Progress, differences, same_schema
from instar.core.schema import Table
from instar.errors import StateError
from instar.state import Entry, JournalRun, JournalStep, StepStatus, Store


def resume(
    backend: Backend,
    store: Store,
    env: str,
    run: JournalRun,
    *,
    progress: Progress = no_progress,
    note: Note = no_note,
    failpoint: Failpoint | None = None,
) -> TableReport:
    """Finish one unfinished run, or say exactly why a person must look (E304)."""
    voice = Voice(progress, note, failpoint or Failpoints.from_environment())
    with store.lock(env, run.table, "instar recover") as lock:
        runner = Runner(backend, store, run, lock, voice, resumed=True)
        if run.status is not Entry.OPEN:
            runner.say("the unfinished run has been finished by another process")
            return runner.report(Result.NOTHING, 0, 0)
        return _resumed(runner, run.steps)


def _resumed(runner: Runner, steps: tuple[JournalStep, ...]) -> TableReport:
    done = next((n for n, s in enumerate(steps) if s.status is not StepStatus.APPLIED), len(steps))
    for applied in steps[:done]:
        runner.recall(applied.step)
    rest = tuple(s.step for s in steps[done:])
    expected = steps[done - 1].step.after if done else runner.run.before
    if not rest:
        runner.say("every step had been applied; only the end was not written down")
        live = inspected(runner.backend, runner.run.table)
        runner.finish(live if isinstance(live, Table) else expected)
        return runner.report(Result.APPLIED, done, done)
    first = steps[done]
    if first.status is StepStatus.PENDING:
        return _from_pending(runner, first, done, len(steps), expected)
    before = first.before
    if _is_done(runner, first):
        runner.mark_applied(first.step)
        live = inspected(runner.backend, runner.run.table)
        before = live if isinstance(live, Table) else first.step.after
        done, rest = done + 1, rest[1:]
    return runner.go(done, rest, before)


def _from_pending(
    runner: Runner, first: JournalStep, done: int, total: int, expected: Table | None
) -> TableReport:
    """Cut off between two steps: the table must be as the last one left it."""
    live = inspected(runner.backend, runner.run.table)
    if _is(live, expected):
        runner.say(f"{done} of {total} steps had been applied; going on with '{first.step.title}'")
        rest = tuple(s.step for s in runner.run.steps[done:])
        return runner.go(done, rest, live if isinstance(live, Table) else None)
    if done == 0:
        runner.say("nothing had been done, and the table has moved since: the run is forgotten")
        runner.run.close_failed()
        return runner.report(Result.NOTHING, 0, total)
    raise _must_look(runner, first, live, expected)


def _is_done(runner: Runner, first: JournalStep) -> bool:
    """What became of the step that was begun; when it is not done it is run (again)."""
    step = first.step
    if step.repeatable:
        runner.say(f"'{step.title}' was begun; it does no harm twice and is run again")
        return False
    match doer(runner.backend, step).outcome(step, first.before, runner.run.memo(step)):
        case Outcome.DONE:
            runner.say(f"'{step.title}' was begun, and the table shows that it was done")
            return True
        case Outcome.NOT_DONE:
            runner.say(f"'{step.title}' was begun but not done; it is run now")
            return False
        case Outcome.UNCLEAR:
            live = inspected(runner.backend, runner.run.table)
            raise _must_look(runner, first, live, first.before)


def _is(live: Table | NotATable | None, expected: Table | None) -> bool:
    if live is None or expected is None:
        return live is None and expected is None
    return isinstance(live, Table) and same_schema(live, expected)


def _must_look(
    runner: Runner, first: JournalStep, live: Table | NotATable | None, before: Table | None
) -> StateError:
    step, run = first.step, runner.run
    found = f"a {live.kind}" if isinstance(live, NotATable) else table_text(live)
    lines = [
        f"[{run.table}] cannot be resumed: nobody can tell whether '{step.title}' was done.",
        f"  live now:        {found}",
        f"  before the step: {table_text(before)}",
        f"  after the step:  {table_text(step.after)}",
    ]
    if isinstance(live, Table):
        if before is not None and (moved := differences(live, before)):
            lines.append(f"  to be as before: {changes_text(moved)}")
        if left := differences(live, step.after):
            lines.append(f"  to be as after:  {changes_text(left)}")
    lines += [f"  statement:       {sql}" for sql in step.sql]
    return StateError(
        "E304",
        "\n".join(lines),
        hint="Bring the table to the state before or after that step by hand, then run `instar recover"
        f" --env {run.env}`. As a last resort `instar recover --env {run.env} --forget` drops the run,"
        " and the next plan starts from what is live.",
    )
