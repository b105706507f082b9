"""Which models a run is about, and their plan: `state:changed` is answered by the plan of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from instar.app.modelling import Modelling, build_mark
from instar.core.plan import Plan, Status, TablePlan
from instar.core.policy import Policy
from instar.core.schema import TableName
from instar.errors import UsageError
from instar.run.intervals import check_range
from instar.run.options import RunOptions
from instar.run.selecting import asks_for_changes, select
from instar.sources.models import Model, Models
from instar.state.models import Build

if TYPE_CHECKING:
    from instar.app.opening import World
    from instar.app.project import Project


def planned_choice(
    project: Project,
    world: World,
    models: Models,
    policy: Policy,
    options: RunOptions,
    adopts: bool,
) -> tuple[Plan, Modelling | None, frozenset[str]]:
    """The plan of the models that are selected; of all of them first where it must say what changed."""
    _one_way(options)
    plan = work = None
    rebuilt = other_text(models, world.store.models.builds(world.env.name))
    if asks_for_changes((*options.select, *options.exclude)) and models.models:
        every = frozenset(models.models)
        plan, work = project.planned_models(world, models, policy, every, adopts)
    found = work.plans if work is not None else {}

    def changed(model: Model) -> bool:
        return rebuilt(model) or (model.name in found and _acts(found[model.name]))

    chosen = select(models, options.select, options.exclude, changed)
    _check_range(models, options, chosen)
    if plan is not None and work is not None and _stands_alone(work, chosen):
        return _narrowed(plan, work, chosen), work, chosen
    return (*project.planned_models(world, models, policy, chosen, adopts), chosen)


def other_text(models: Models, builds: Mapping[TableName, Build]) -> Callable[[Model], bool]:
    """Whether a model's rows were built from another text, or never."""

    def changed(model: Model) -> bool:
        known = builds.get(model.table)
        return known is None or known.fingerprint != build_mark(models, model)

    return changed


def _acts(plan: TablePlan) -> bool:
    """What the query's text does not tell: settings, and a table that was changed or dropped by hand."""
    return plan.status is not Status.NO_CHANGE or bool(plan.steps)


def _stands_alone(work: Modelling, chosen: frozenset[str]) -> bool:
    """Whether what is chosen reads nothing that the plan of all changes and the run leaves as it is."""
    open_, known = list(chosen), set(chosen)
    while open_:
        for parent in work.models.parents(open_.pop()):
            if parent not in known:
                if _acts(work.plans[parent]):
                    return False
                known.add(parent)
                open_.append(parent)
    return True


def _narrowed(plan: Plan, work: Modelling, chosen: frozenset[str]) -> Plan:
    """The part of a plan of everything that is about chosen models and what they read."""
    work.chosen = chosen
    work.plans = {n: p for n, p in work.plans.items() if n in chosen}
    meant = {work.models.models[n].table for n in chosen}
    meant |= {t.table for n in chosen for t in work.models.behind(n) if t.kind != "model"}
    return replace(plan, tables=tuple(t for t in plan.tables if t.table in meant))


def _one_way(options: RunOptions) -> None:
    if options.full_refresh and (options.start or options.end):
        raise UsageError(
            "E433",
            "--full-refresh replaces all rows, and --start and --end name some of them",
            hint="Leave out --full-refresh to build these intervals anew; the others keep their rows.",
        )


def _check_range(models: Models, options: RunOptions, chosen: frozenset[str]) -> None:
    """Before anything is touched: the range must fit every model that is built by intervals."""
    timed: dict[str, list[str]] = {}
    for name in sorted(chosen):
        way = models.models[name].incremental
        if way is not None and way.event_time_column:
            timed.setdefault(way.granularity, []).append(name)
    check_range(options.start, options.end, timed)
