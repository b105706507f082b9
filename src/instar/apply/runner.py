"""One step after the other: journalled before and after, verified on the live table.

A backend tells what it leaves behind through the step's `data` or memo: `kept` names the old copy (in
the table's schema) that a rewrite keeps, `old_rows` and `new_rows` what its verification has counted in
both, `verified` how many rows were compared with the copy by content, `followed` how many keys were compared
later, because writers had changed them, `lock_ms` how long its swap kept writers waiting, `forgets` names a
copy that the step has dropped.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from instar.apply.report import Counted, Result, TableReport
from instar.apply.words import changes_text
from instar.backends.base import (
    VIEW,
    Backend,
    NotATable,
    Outcome,
    Progress,
    RunContext,
    differences,
)
from instar.backends.keeping import KINDS, Keeper
from instar.core.numbers import plural
from instar.core.plan import Rung, Step
from instar.core.schema import Table, TableName
from instar.errors import InstarError, Interrupted, OutcomeUnknown, StateError, VerificationFailed
from instar.state import JournalRun, Lock, Store

Note = Callable[[str], None]
Failpoint = Callable[[str], None]


def no_progress(what: str, done: int, total: int | None) -> None:
    del what, done, total


def no_note(text: str) -> None:
    del text


@dataclass(frozen=True, slots=True)
class Voice:
    """How the work speaks and where it may be killed."""

    progress: Progress
    note: Note
    failpoint: Failpoint


@dataclass(slots=True)
class Runner:
    """A table's run on its backend, from its first step to its last."""

    backend: Backend
    store: Store
    run: JournalRun
    lock: Lock
    voice: Voice
    resumed: bool = False
    notes: list[str] = field(default_factory=list)
    counted: Counted | None = None
    _since: float = field(default_factory=time.monotonic)

    def go(self, done: int, steps: Sequence[Step], live: Table | None) -> TableReport:
        """Run `steps`, `done` being applied already; `live` is the table right before them."""
        total = done + len(steps)
        try:
            for step, following in zip_longest(steps, steps[1:]):
                try:
                    live = self.step(step, live, look=_look_after(step, following))
                except (StateError, Interrupted):
                    raise
                except InstarError as error:
                    return self._failed(step, error, done, total)
                done += 1
            self.finish(live)
        except KeyboardInterrupt:
            with contextlib.suppress(Exception):
                self.backend.interrupt()
            raise self._interrupted(done, total) from None
        return self.report(Result.APPLIED, done, total)

    def step(self, step: Step, before: Table | None, *, look: bool = True) -> Table:
        """Carry out one step; the table as it is afterwards, which is what the step promised."""
        point = self.voice.failpoint
        self.lock.check()
        point(f"{step.kind}:before")
        self.run.applying(step, before)
        point(f"{step.kind}:applying")
        context = RunContext(self.run.memo(step), self.voice.progress, point)
        try:
            doer(self.backend, step).run(step, context)
            live = verified(self.backend, step) if look else step.after
        except (InstarError, KeyboardInterrupt):
            raise
        except Exception as error:
            self.run.failed(step, f"{type(error).__name__}: {error}")
            raise
        point(f"{step.kind}:ran")
        self.mark_applied(step)
        point(f"{step.kind}:after")
        return live

    def mark_applied(self, step: Step) -> None:
        said = {**step.data, **self.run.memo(step)}
        table = self.run.table
        if kept := said.get("kept"):
            self.store.keep(self.run.env, table, TableName(table.schema, kept), self.run.run)
        if forgets := said.get("forgets"):
            self.store.forget(self.run.env, TableName(table.schema, forgets))
        self.recall(step)
        self.run.applied(step)

    def recall(self, step: Step) -> None:
        """What a step that is applied, by this process or an earlier one, has to tell of its rows."""
        said = {**step.data, **self.run.memo(step)}
        if "kept" in said and "old_rows" in said:
            name = TableName(self.run.table.schema, said["kept"])
            self.counted = Counted(name, int(said["old_rows"]), int(said["new_rows"]))
        if "verified" in said:
            followed = int(said.get("followed", "0"))
            self.notes.append(_verified_text(int(said["verified"]), followed))
        if "lock_ms" in said:
            self.notes.append(f"the cut-over held its lock for {int(said['lock_ms']):,} ms")

    def finish(self, live: Table | None) -> None:
        self.run.finished(live)
        self.voice.failpoint("journal:finished")

    def say(self, text: str) -> None:
        self.notes.append(text)
        self.voice.note(f"[{self.run.table}] {text}")

    def report(
        self,
        result: Result,
        done: int,
        total: int,
        error: InstarError | None = None,
        following: str | None = None,
    ) -> TableReport:
        return TableReport(
            self.run.table,
            result,
            done,
            total,
            time.monotonic() - self._since,
            error,
            following,
            tuple(self.notes),
            self.resumed,
            self.counted,
        )

    def _failed(self, step: Step, error: InstarError, done: int, total: int) -> TableReport:
        env = self.run.env
        if isinstance(error, OutcomeUnknown):
            # Nobody knows what became of it: it stays 'applying', and the table is asked later.
            following = f"Run `instar apply --env {env}`: it asks the table first, then goes on."
            return self.report(Result.FAILED, done, total, error, following)
        self.run.failed(step, f"{error.code}: {error.message}")
        if done == 0 and self._untouched(step):
            self.run.close_failed()
            following = f"Nothing was changed. Mend the cause, then run `instar apply --env {env}`."
            return self.report(Result.FAILED, done, total, error, following)
        following = (
            f"{done} of {total} steps are applied. Mend the cause, then run `instar apply --env {env}`"
            f" to go on; or `instar recover --env {env} --forget` to plan anew from what is live."
        )
        return self.report(Result.FAILED, done, total, error, following)

    def _untouched(self, step: Step) -> bool:
        """The first step left nothing behind, as far as the engine can still be asked."""
        memo = self.run.memo(step)
        try:
            outcome = doer(self.backend, step).outcome(step, self.run.before, memo)
        except InstarError:
            return False
        return outcome is Outcome.NOT_DONE

    def _interrupted(self, done: int, total: int) -> Interrupted:
        env = self.run.env
        return Interrupted(
            "E406",
            f"[{self.run.table}] interrupted: {done} of {total} steps are applied",
            hint=f"Run `instar apply --env {env}` to go on where it stopped.",
        )


def _verified_text(rows: int, followed: int) -> str:
    said = f"verified: {plural(rows, 'row')}, checksums equal"
    if not followed:
        return said
    return f"{said}; {plural(followed, 'key')} that writers changed meanwhile compared as they were taken over"


def _look_after(step: Step, following: Step | None) -> bool:
    """Always before rows are touched or lost, and at the end; between two ALTERs a look costs as much as one."""
    if following is None or following.destructive:
        return True
    return step.rung is not Rung.METADATA or following.rung is not Rung.METADATA


def doer(backend: Backend, step: Step) -> Backend | Keeper:
    """Who runs a step: what concerns old copies is the keeper's."""
    keeper = backend.keeper() if step.kind in KINDS else None
    return keeper or backend


def inspected(backend: Backend, name: TableName) -> Table | NotATable | None:
    return backend.inspect([name]).get(name)


def verified(backend: Backend, step: Step) -> Table:
    """The live table, if it is what the step promised; engines have said OK and done nothing."""
    live = inspected(backend, step.after.name)
    if step.kind == VIEW and isinstance(live, NotATable):
        return step.after
    if live is None or isinstance(live, NotATable):
        found = "there is no such table" if live is None else f"there is a {live.kind}"
        raise _broken(step, found)
    if left := differences(live, step.after):
        raise _broken(step, f"still missing: {changes_text(left)}")
    return live


def _broken(step: Step, found: str) -> VerificationFailed:
    return VerificationFailed(
        "E402",
        f"[{step.after.name}] the engine accepted '{step.title}', but {found}",
        hint="The engine did not do what it said, or somebody else changed the table meanwhile."
        " Look with `instar plan`.",
    )
