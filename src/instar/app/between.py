"""Live views between models: found on the engine, and analysed against tables as they will be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from instar.core.plan import TablePlan
from instar.core.schema import TableName
from instar.core.types import Column
from instar.run.building import Builder
from instar.run.inferring import CannotInfer, Inferrer
from instar.run.rendering import stand_in
from instar.sources.models import LiveView, Model, Models, Target
from instar.sources.models_sql import Read
from instar.sources.models_views import ViewText, with_views

if TYPE_CHECKING:
    from instar.app.modelling import Modelling


def between(
    models: Models,
    declared: Callable[[], Iterable[TableName]],
    builder: Builder,
    dialect: str,
    home: str,
) -> Models:
    """The models with the live views of every schema that they or these views read."""
    own = frozenset(m.table for m in models.models.values())
    texts: dict[TableName, ViewText] = {}
    seen = models
    asked: dict[str, str] = {}
    wish = {home, *(t.table.schema for reads in models.targets.values() for _, t in reads)}
    while new := {s.casefold(): s for s in sorted(wish) if s.casefold() not in asked}:
        asked |= new
        for schema in new.values():
            texts |= builder.views(schema, own)
        if texts:
            seen = with_views(models, declared(), texts, dialect, home)
        wish = {t.table.schema for view in seen.views.values() for _, t in view.reads}
    return seen


def declare_views(work: Modelling, model: Model, inferrer: Inferrer) -> None:
    """The views that a model reads, as they will be; `CannotInfer` where the plan breaks one."""
    for target in work.models.upstream(model.name):
        _declare(work, target, inferrer)


def _declare(work: Modelling, target: Target, inferrer: Inferrer) -> None:
    view = work.models.views.get(target.table)
    if view is None or view.table in work.shapes:
        return
    for _, inner in view.reads:
        _declare(work, inner, inferrer)
    columns = _columns(work, view, inferrer)
    if columns is not None:
        work.shapes[view.table] = columns
        inferrer.declare(view.table, columns)


def _columns(work: Modelling, view: LiveView, inferrer: Inferrer) -> tuple[Column, ...] | None:
    """By its query; where the engine itself does not take that, what the catalog says."""

    def outside(read: Read, target: Target) -> str | None:
        return None if target.table in work.shapes else work.builder.outside_place(read, target)

    try:
        return inferrer.infer(stand_in(view.body, view.reads, inferrer, outside))
    except CannotInfer as error:
        read = Read((view.table.schema, view.table.name), False, 0, 0)
        target = Target(view.table, "outside", view.table.name)
        if _changes(work, view) and _works(work, read, target, inferrer):
            words = f"the view {view.table}, which it reads, would no longer work: {error.message}"
            raise CannotInfer(words, None, error.column) from None
        live = work.builder.outside([(read, target)]).get(view.table)
        return live.columns if live is not None else None


def _works(work: Modelling, read: Read, target: Target, inferrer: Inferrer) -> bool:
    """Whether the view can be read now; if not, this plan takes nothing from anybody."""
    try:
        inferrer.infer(f"SELECT * FROM {work.builder.outside_place(read, target)}")
    except CannotInfer:
        return False
    return True


def _changes(work: Modelling, view: LiveView) -> bool:
    """Whether this plan changes what the view reads, at any depth."""
    for _, target in view.reads:
        inner = work.models.views.get(target.table)
        if inner is not None and _changes(work, inner):
            return True
        plan = planned(work.plans, work.manifests, target)
        if plan is not None and any(item.accepted for item in plan.changes):
            return True
    return False


def planned(
    plans: Mapping[str, TablePlan], manifests: Mapping[TableName, TablePlan], target: Target
) -> TablePlan | None:
    """What becomes of a model or a declared table."""
    return plans.get(target.name) if target.kind == "model" else manifests.get(target.table)
