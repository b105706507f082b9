"""Who else sees a change: readers of a column, the columns that it reaches, the change that broke a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from instar.app.between import planned
from instar.app.lineage import Web
from instar.app.tracing import Place
from instar.core.changes import (
    AddColumn,
    Change,
    DropColumn,
    ModifyColumn,
    Rename,
    TypeChange,
    modification,
)
from instar.core.classify import Classified
from instar.core.findings import Finding, Severity
from instar.core.plan import Status, TablePlan
from instar.core.reach import REACHES, Reached, reach_words
from instar.core.schema import TableName
from instar.core.types import Path, path_text, type_text
from instar.run.inferring import CannotInfer
from instar.sources.models import Model, Models


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


def readers_of(models: Models, web: Web, plan: TablePlan, path: Path) -> list[str]:
    """The models and live views that read a column or field, as their queries stand now."""
    wish = Place(plan.table, path[0], path[1:])
    found: list[str] = []
    for maker in web.readers(plan.table):
        lineage = web.lineage(maker)
        reads = any(wish.meets(p) for p in lineage.reads)
        if reads or lineage.partial:
            who = f"view {maker.table}"
            if maker.name is not None:
                who = f"model '{maker.name}' ({models.models[maker.name].origin})"
            found.append(who if reads else f"perhaps {who}")
    return found


def with_reach(web: Web, plan: TablePlan) -> TablePlan:
    """Which downstream columns each changed column flows into, and whose rows it decides, to the last table.

    What is not carried out and blocks the plan is asked for: its reach is what the answer needs.
    """
    blocked = plan.status is Status.BLOCKED
    changes = tuple(
        replace(item, reaches=_reaches(web, plan.table, item.change))
        if item.accepted or blocked
        else item
        for item in plan.changes
    )
    told = dict.fromkeys(_told(plan.table, item) for item in changes if item.reaches)
    return replace(plan, changes=changes, findings=(*plan.findings, *told))


def _reaches(web: Web, table: TableName, change: Change) -> tuple[Reached, ...]:
    """A reader may name the column as it was or as it will be."""
    match change:
        case ModifyColumn(path, old_path):
            starts = dict.fromkeys((path, old_path))
        case DropColumn(path) | AddColumn(path):
            starts = {path: None}
        case _:
            return ()
    return tuple(
        Reached(
            str(hop.place.table),
            None if hop.place.is_rows else hop.place.path,
            tuple(map(str, hop.sources)),
            hop.perhaps,
        )
        for hop in web.reach([Place(table, path[0], path[1:]) for path in starts])
    )


def _told(table: TableName, item: Classified) -> Finding:
    change = item.change
    assert isinstance(change, ModifyColumn | DropColumn | AddColumn)
    words = reach_words(str(table), path_text(change.path), item.reaches)
    return Finding(REACHES, Severity.INFO, words, None, change.path)
