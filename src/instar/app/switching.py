"""A model that becomes a table where it was a view, or a view where it was a table."""

from __future__ import annotations

from dataclasses import replace

from instar.app.adopting import aside_name
from instar.core.changes import CreateTable
from instar.core.evolve import evolve
from instar.core.findings import Finding
from instar.core.plan import Status, Step, TablePlan
from instar.core.schema import Table
from instar.core.types import Column
from instar.run.building import Builder
from instar.run.inferring import Inferrer
from instar.run.wanting import wanted_table
from instar.sources.models import Model


def to_table(
    builder: Builder, model: Model, inferred: tuple[Column, ...], sql: str, inferrer: Inferrer
) -> TablePlan | None:
    """The plan that puts a computed table in the place of the model's view; None where none can."""
    backend = builder.backend(model.format)
    wanted = replace(wanted_table(model, inferred, None, inferrer), hints={})
    normalized, findings = backend.rules.normalize(wanted, None)
    target = evolve(None, (CreateTable(normalized.table),))
    steps = builder.to_table_steps(model, target, sql)
    if not steps:
        return None
    return _plan(model, backend.rules.name, findings, steps, None, target)


def to_view(
    builder: Builder, model: Model, inferred: tuple[Column, ...], live: Table, sql: str, mark: str
) -> TablePlan | None:
    """The plan that puts the table aside and a view in its place; None where that is not atomic."""
    backend = builder.backend(model.format)
    aside = aside_name(backend, live.name)
    steps = builder.to_view_steps(model, sql, live, inferred, aside)
    if not steps:
        return None
    told = (replace(steps[0], data={"mark": mark, "kept": aside.name}), *steps[1:])
    after = Table(model.table, inferred, "view")
    return _plan(model, backend.rules.name, (), told, live, after)


def _plan(
    model: Model,
    backend: str,
    findings: tuple[Finding, ...],
    steps: tuple[Step, ...],
    live: Table | None,
    target: Table,
) -> TablePlan:
    return TablePlan(
        model.table, backend, Status.CHANGE, (), findings, steps, live, target, origin=model.origin
    )
