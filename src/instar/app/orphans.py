"""Tables that are no model's any more: their file is gone, or a manifest declares them now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from instar.app.leaving import LEFT_OUT
from instar.backends.base import NotATable
from instar.core.findings import Finding, Severity
from instar.core.plan import Plan, Status, TablePlan
from instar.core.schema import Table, TableName
from instar.run.builders import runs_models
from instar.sources.models import Models

if TYPE_CHECKING:
    from instar.app.opening import World

ORPHAN = "F708"


def orphans(world: World, known: Iterable[TableName]) -> tuple[TablePlan, ...]:
    """The live ones that no file makes; an engine is asked only where the state store knows of any."""
    if not runs_models(world.env):
        return ()
    files = {name.folded for name in known}
    builds = world.store.models.builds(world.env.name)
    names = sorted(name for name in builds if name.folded not in files)
    found: dict[TableName, TablePlan] = {}
    for backend in {id(b): b for b in world.engine.backends.values()}.values() if names else ():
        for name, live in backend.inspect(names).items():
            if isinstance(live, Table) or (live.kind == "view" and name not in found):
                found[name] = _told(name, backend.rules.name, live)
    return tuple(found[name] for name in names if name in found)


def release_declared(world: World, plan: Plan, models: Models) -> None:
    """What a manifest declares holds rows that no model wrote: to be a model's again takes a word (F706)."""
    if not runs_models(world.env):
        return
    own = {model.table for model in models.models.values()}
    told = (ORPHAN, LEFT_OUT)
    others = (t for t in plan.tables if not any(f.code in told for f in t.findings))
    world.store.models.release(plan.env, [t.table for t in others if t.table not in own])


def _told(name: TableName, backend: str, live: Table | NotATable) -> TablePlan:
    what = "table" if isinstance(live, Table) else "view"
    finding = Finding(
        ORPHAN,
        Severity.WARNING,
        f"[{name}] is the {what} of a model whose file is gone: no run builds it any more.",
        f"Drop the {what} by hand if nobody needs it: Instar does not."
        + (" To keep the table, `instar import` it." if what == "table" else ""),
    )
    shape = live if isinstance(live, Table) else None
    return TablePlan(name, backend, Status.NO_CHANGE, (), (finding,), (), shape, shape)
