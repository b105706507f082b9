"""Applies a plan: under the table's lock, only if nothing moved, every step journalled and verified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from instar.apply.failpoints import Failpoints
from instar.apply.report import Result, TableReport
from instar.apply.runner import (
    Failpoint,
    Note,
    Runner,
    Voice,
    inspected,
    no_note,
    no_progress,
)
from instar.apply.words import changes_text
from instar.backends.base import SWITCH, VIEW, Backend, NotATable, Progress
from instar.core.diff import diff
from instar.core.plan import Plan, Status, TablePlan
from instar.core.schema import Table, Wanted
from instar.errors import Blocked, PlanMoved
from instar.state import Store
from instar.state.journal import unfinished_run
from instar.state.store import new_run


def apply_table(
    table_plan: TablePlan,
    backend: Backend,
    store: Store,
    env: str,
    *,
    progress: Progress = no_progress,
    note: Note = no_note,
    failpoint: Failpoint | None = None,
    run: str = "",
    command: str = "instar apply",
) -> TableReport:
    """Bring one table to its plan's target. What the engine refuses is in the report, not raised."""
    refuse_blocked([table_plan])
    name = table_plan.table
    voice = Voice(progress, note, failpoint or Failpoints.from_environment())
    if not table_plan.steps:
        _sync_renames(table_plan, store, env)
        return TableReport(name, Result.NOTHING)
    with store.lock(env, name, command) as lock:
        if store.unfinished(env, name):
            raise unfinished_run(name)
        live = _unmoved(table_plan, inspected(backend, name))
        journal = store.begin(
            env,
            name,
            table_plan.steps,
            live,
            run=run,
            command=command,
            backend=table_plan.backend,
            origin=table_plan.origin,
            renames=table_plan.renames,
        )
        voice.failpoint("journal:begun")
        return Runner(backend, store, journal, lock, voice).go(0, table_plan.steps, live)


def _sync_renames(table: TablePlan, store: Store, env: str) -> None:
    """A hint that left the manifest must be forgotten, or the same swap could not come again."""
    if table.target is None or store.unfinished(env, table.table):
        return
    if store.done_renames(env, table.table) != table.renames:
        store.remember_renames(env, table.table, table.renames)


def apply_plan(
    plan: Plan,
    backend_for: Callable[[TablePlan], Backend],
    store: Store,
    *,
    progress: Progress = no_progress,
    note: Note = no_note,
    failpoint: Failpoint | None = None,
    command: str = "instar apply",
) -> tuple[TableReport, ...]:
    """All tables in order. Nothing is touched if any has moved; after a failure no other is begun."""
    refuse_blocked(plan.tables)
    # A table alone is looked at once, under its lock.
    if len(plan.pending) > 1:
        _all_unmoved(plan.pending, backend_for)
    point = failpoint or Failpoints.from_environment()
    run, reports, going = new_run(), [], True
    for table in plan.tables:
        if not going:
            reports.append(TableReport(table.table, Result.SKIPPED, total=len(table.steps)))
            continue
        backend = backend_for(table)
        report = apply_table(
            table,
            backend,
            store,
            plan.env,
            progress=progress,
            note=note,
            failpoint=point,
            run=run,
            command=command,
        )
        reports.append(report)
        going = report.ok
    return tuple(reports)


def refuse_blocked(tables: Iterable[TablePlan]) -> None:
    blocked = [t for t in tables if t.blocked or t.status is Status.BLOCKED]
    if blocked:
        raise Blocked(
            "E405",
            f"the plan is blocked for {', '.join(str(t.table) for t in blocked)}; nothing was touched",
            hint="See the findings with `instar plan`.",
        )


def _all_unmoved(tables: Sequence[TablePlan], backend_for: Callable[[TablePlan], Backend]) -> None:
    """One look for all tables of an engine."""
    groups: dict[int, tuple[Backend, list[TablePlan]]] = {}
    for table in tables:
        backend = backend_for(table)
        groups.setdefault(id(backend), (backend, []))[1].append(table)
    for backend, group in groups.values():
        found = backend.inspect([table.table for table in group])
        for table in group:
            _unmoved(table, found.get(table.table))


def _unmoved(table: TablePlan, live: Table | NotATable | None) -> Table | None:
    """The live table, if it is still the one that was planned for (identities count where there are)."""
    was_view = table.live is None or table.live.format == VIEW
    if is_view(table) and was_view and not isinstance(live, Table):
        return None
    if isinstance(live, NotATable) and table.steps[0].kind == SWITCH:
        return None
    if isinstance(live, NotATable):
        raise _moved(table, f"there is a {live.kind} of that name now")
    match live, table.live:
        case None, None:
            return None
        case None, _:
            raise _moved(table, "it is gone")
        case _, None:
            raise _moved(table, "it exists already")
        case Table(), Table() as planned:
            said = diff(planned, Wanted(replace(live, name=planned.name)), fold=str)
            # The other way round sees what is gone: absent properties are no wish.
            said = said or diff(live, Wanted(planned), fold=str)
            if said:
                raise _moved(table, changes_text(said))
    return live


def is_view(table: TablePlan) -> bool:
    return any(step.kind == VIEW for step in table.steps)


def _moved(table: TablePlan, what: str) -> PlanMoved:
    return PlanMoved(
        "E401",
        f"[{table.table}] has moved since it was planned: {what}",
        hint="Run `instar plan` again and look at the new plan.",
    )
