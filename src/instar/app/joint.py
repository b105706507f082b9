"""One plan for declared tables and models: manifests first, then models from the first layer to the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from instar.app.modelling import Modelling, plan_models, with_impact
from instar.app.placing import placed
from instar.app.planning import plan_tables
from instar.core.plan import Plan
from instar.core.policy import Policy
from instar.core.schema import Wanted
from instar.dialects import DIALECTS
from instar.run.builders import open_builder
from instar.sources.models import Models

if TYPE_CHECKING:
    from instar.app.opening import World
    from instar.app.project import Project


def declared_inputs(
    models: Models, chosen: frozenset[str], wanted: Sequence[Wanted]
) -> tuple[Wanted, ...]:
    """The declared tables that chosen models read."""
    read = {t.table for n in chosen for t in models.behind(n)}
    return tuple(w for w in wanted if w.table.name in read)


def plan_jointly(
    project: Project,
    world: World,
    models: Models,
    policy: Policy,
    chosen: frozenset[str],
    wanted: Sequence[Wanted],
    adopts: bool | None = None,
) -> tuple[Plan, Modelling | None]:
    """The plan of chosen models and of these declared tables; no `Modelling` where there are no models."""
    env, store, listener = world.env, world.store, project.listener
    own = {m.table for m in models.models.values()}
    found = plan_tables(wanted, world.engine, store, env.name, policy, listener, own)
    root = project.config.root
    if not models.models:
        return Plan(env.name, policy, placed(found, root)), None
    work = Modelling(
        models=models,
        manifests={p.table: p for p in found},
        builder=open_builder(world.engine, env),
        store=store,
        env=env.name,
        policy=policy,
        listener=listener,
        chosen=chosen,
        dialect=DIALECTS[env.type],
        adopts=policy.allow_full_refresh if adopts is None else adopts,
    )
    plans = plan_models(work)
    told = tuple(with_impact(work, p) for p in found)
    return Plan(env.name, policy, placed((*told, *plans), root, models.models)), work
