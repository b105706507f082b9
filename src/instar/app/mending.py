"""What a crash left beside tables: finished or undone, as the names of the tables themselves show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from instar.app.lifecycle import LifecycleWorld, carried_out
from instar.apply import Result, TableReport
from instar.backends.base import Backend
from instar.backends.keeping import Keeper, Leftover
from instar.core.plan import UNFINISHED, Plan, Rung
from instar.core.schema import TableName
from instar.errors import InstarError

STRANDED = "F504"


def stranded(backend: Backend, names: Sequence[TableName]) -> Mapping[TableName, Leftover]:
    """Tables that are gone while a copy of them is there."""
    keeper = backend.keeper()
    found: dict[TableName, Leftover] = {}
    for schema in sorted({n.schema for n in names}) if keeper is not None else ():
        assert keeper is not None
        wish = {n.name.casefold(): n for n in names if n.schema == schema}
        for left in keeper.leftovers(schema):
            if left.stranded and (name := wish.get(left.table.name.casefold())):
                found[name] = replace(left, table=name)
    return found


def needs_mending(plan: Plan) -> bool:
    """A table is gone or half done; or a rewrite is to begin, where one may have ended early."""
    return any(
        any(f.code in (STRANDED, UNFINISHED) for f in t.findings)
        or any(s.rung is Rung.REWRITE for s in t.steps)
        for t in plan.tables
    )


def mend(world: LifecycleWorld) -> tuple[TableReport, ...]:
    """Finish or undo what the tables' names show to be unfinished; the only copy is never dropped."""
    reports: list[TableReport] = []
    for backend in world.backends:
        keeper = backend.keeper()
        for schema in world.schemas if keeper is not None else ():
            assert keeper is not None
            for left in keeper.leftovers(schema):
                reports += _mended(world, backend, keeper, left)
    return tuple(reports)


def _mended(
    world: LifecycleWorld, backend: Backend, keeper: Keeper, left: Leftover
) -> Iterator[TableReport]:
    spelled = next((t for t in world.declared if t.folded == left.table.folded), left.table)
    now: Leftover | None = replace(left, table=spelled)
    while now is not None:
        if world.store.unfinished(world.env.name, spelled):
            return
        report = _mend_once(world, backend, keeper, now)
        if report is None:
            return
        yield report
        if not report.ok:
            return
        again = keeper.leftovers(spelled.schema)
        now = next(
            (replace(a, table=spelled) for a in again if a.table.folded == spelled.folded), None
        )


def _mend_once(
    world: LifecycleWorld, backend: Backend, keeper: Keeper, left: Leftover
) -> TableReport | None:
    """Nothing where somebody else's run has ended meanwhile, and left nothing."""
    try:
        found = keeper.awaited(left)
        if found is None:
            return None
        step = keeper.mend_step(found)
        live = step.after if found.there else None
        report = carried_out(world, backend, step, live, "instar recover")
    except InstarError as error:
        return TableReport(left.table, Result.FAILED, error=error)
    return replace(report, notes=(*report.notes, step.title))
