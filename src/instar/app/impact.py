"""Who else sees a change: readers of a column, the columns that it reaches, the change that broke a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from instar.app.between import planned
from instar.app.lineage import Place, Web
from instar.core.changes import (
    AddColumn,
    Change,
    DropColumn,
    ModifyColumn,
    Rename,
    TypeChange,
    modification,
)
from instar.core.findings import Finding, Severity
from instar.core.plan import Status, TablePlan
from instar.core.schema import TableName
from instar.core.types import Column, path_text, type_text
from instar.run.inferring import CannotInfer
from instar.sources.models import Model, Models

MANY = 12
"""More reached columns than this are counted, not named."""


def upstream_changes(
    models: Models,
    plans: Mapping[str, TablePlan],
    manifests: Mapping[TableName, TablePlan],
    model: Model,
    error: CannotInfer,
) -> Iterator[str]:
    """The changes of what a model reads that can have broken it, the named column first."""
    found: list[tuple[bool, str]] = []
    for target in models.behind(model.name):
        plan = planned(plans, manifests, target)
        for item in plan.changes if plan is not None else ():
            if item.accepted:
                found += [(hit, f"{target.table}: {t}") for hit, t in _said(item.change, error)]
    hits = [text for hit, text in found if hit]
    mentioned = model.body.casefold()
    rest = [t for _, t in found if t.split("'")[1].split(".")[-1].casefold() in mentioned]
    yield from dict.fromkeys(hits or rest)


def _said(change: Change, error: CannotInfer) -> Iterator[tuple[bool, str]]:
    missing = (error.column or "").casefold()
    match change:
        case DropColumn(path):
            yield path[-1].casefold() == missing, f"'{path_text(path)}' is removed"
        case ModifyColumn(path, old_path):
            if renamed := modification(change, Rename):
                told = f"'{path_text(old_path)}' is renamed to '{path[-1]}'"
                yield renamed.old.casefold() == missing, told
            if typed := modification(change, TypeChange):
                told = f"'{path_text(path)}' changes from {type_text(typed.old)} to {type_text(typed.new)}"
                yield path[-1].casefold() == missing, told
        case _:
            return


def going(
    shapes: Mapping[TableName, Sequence[Column]], plans: Iterable[TablePlan]
) -> dict[TableName, list[str]]:
    """The columns that tables have now and will not have, or that no query could tell to stay."""
    found: dict[TableName, list[str]] = {}
    for plan in plans:
        kept = {c.name.casefold() for c in shapes.get(plan.table, ())}
        live = plan.live.columns if plan.live is not None else ()
        if gone := [c.name for c in live if c.name.casefold() not in kept]:
            found[plan.table] = gone
    return found


def readers_of(models: Models, web: Web, plan: TablePlan, column: str) -> list[str]:
    """The models and live views that read a column, as their queries stand now."""
    wish = Place(plan.table, column).key
    found: list[str] = []
    for maker in web.readers(plan.table):
        lineage = web.lineage(maker)
        reads = any(p.key == wish for p in lineage.reads)
        if reads or lineage.partial:
            who = f"view {maker.table}"
            if maker.name is not None:
                who = f"model '{maker.name}' ({models.models[maker.name].origin})"
            found.append(who if reads else f"perhaps {who}")
    return found


def reached(web: Web, plan: TablePlan) -> Iterator[Finding]:
    """Which downstream columns each changed column flows into, to the last table.

    What is not carried out and blocks the plan is asked for: its reach is what the answer needs.
    """
    for item in plan.changes:
        if not (item.accepted or plan.status is Status.BLOCKED):
            continue
        match item.change:
            case ModifyColumn(path, old_path):
                yield from _reaches(web, plan, path[0], old_path[0])
            case DropColumn(path) | AddColumn(path):
                yield from _reaches(web, plan, path[0], path[0])
            case _:
                continue


def _reaches(web: Web, plan: TablePlan, column: str, old: str) -> Iterator[Finding]:
    """A reader may name the column as it was or as it will be."""
    starts = [Place(plan.table, name) for name in dict.fromkeys((column, old))]
    sure, unsure = web.downstream(starts), web.maybe_downstream(starts)
    every = [*map(str, sure), *(f"perhaps {place}" for place in unsure)]
    if not every:
        return
    told = ", ".join(every[:MANY])
    more = f" and {len(every) - MANY} more" if len(every) > MANY else ""
    yield Finding(
        "F705",
        Severity.INFO,
        f"[{plan.table}] the change of '{column}' reaches {told}{more}.",
        None,
        (column,),
    )
