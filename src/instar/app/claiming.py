"""What the state store is told of tables and views that become a model's."""

from __future__ import annotations

from collections.abc import Sequence

from instar.apply import Result, TableReport
from instar.core.plan import Plan, Rung, Status
from instar.errors import ProjectError
from instar.run.building import ADOPTS
from instar.sources.models import Models
from instar.state import Store
from instar.state.models import Build


def claim_tables(store: Store, plan: Plan, models: Models) -> None:
    """Before anything is touched: from now on these are tables and views of models."""
    own = {m.table: m for m in models.models.values()}
    for table in plan.pending:
        model = own.get(table.table)
        if model and model.python and any(s.rung is Rung.REFRESH for s in table.steps):
            raise ProjectError(
                "E161",
                f"{table.table} is a Python model, which only a run can recompute",
                hint="Use `instar run` with the same flags.",
            )
    for table in plan.pending:
        if table.table in own and not any(ADOPTS in step.data for step in table.steps):
            store.models.claim(plan.env, table.table, anew=table.status is Status.CREATE)


def remember_views(store: Store, plan: Plan, reports: Sequence[TableReport]) -> None:
    """What each view was made from: the next plan compares it."""
    done = {r.table for r in reports if r.result is Result.APPLIED}
    for table in plan.tables:
        if table.table in done and any(ADOPTS in step.data for step in table.steps):
            store.models.claim(plan.env, table.table, anew=False)
        mark = table.steps[0].data.get("mark") if table.steps else None
        if mark and table.table in done:
            store.models.built(plan.env, table.table, Build(mark, {}, mark))
