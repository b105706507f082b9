"""What bears a model's name and was not made by Instar: left alone, unless a word adopts it."""

from __future__ import annotations

from dataclasses import replace

from instar.backends.base import Backend
from instar.core.findings import Finding, Severity
from instar.core.numbers import plural
from instar.core.plan import Status, Step, TablePlan
from instar.core.refresh import Refresh
from instar.core.schema import Table, TableName
from instar.run.building import ADOPTS, Builder
from instar.sources.models import Model

_HINT = (
    "Give the model another name; or pass --allow-full-refresh, and it is put aside where the engine"
    " can and computed from the query. If the state store was lost, bring it back first."
)


def foreign_table(model: Model, rows: int) -> Finding:
    return Finding(
        "F706",
        Severity.ERROR,
        f"[{model.table}] holds {plural(rows, 'row')} that no model is known to have written: the state store"
        " has no build of it.",
        _HINT,
    )


def foreign_view(model: Model) -> Finding:
    return Finding(
        "F706",
        Severity.ERROR,
        f"[{model.table}] is a view that no model is known to have made: the state store has no build"
        " of it.",
        "Give the model another name, or rename that view; or pass --allow-full-refresh to replace it."
        " If the state store was lost, bring it back first.",
    )


def adopting_view(step: Step, model: Model) -> Step:
    said = f"replaces the view {model.table}, which no model has made"
    return replace(step, confirm=said, data={**step.data, ADOPTS: model.name})


def aside_name(backend: Backend, name: TableName) -> TableName:
    """The first free name for what is put aside."""
    keeper = backend.keeper()
    taken = {c.name.name for c in keeper.copies(name.schema, [name])} if keeper else set()
    numbers = (f"{name.name}__instar_old_{n}" for n in range(1, len(taken) + 2))
    return TableName(name.schema, next(n for n in numbers if n not in taken))


def adopted(builder: Builder, model: Model, live: Table, rows: int, way: Refresh) -> TablePlan:
    """The plan that computes the table anew; the rows that were there are kept where that can be."""
    backend = builder.backend(model.format)
    aside = aside_name(backend, live.name)
    first, *rest = way.steps()
    rename = builder.aside_sql(live, aside)
    kept = f"the old table is kept as {aside}" if rename else "the old rows are not kept beside it"
    step: Step = replace(
        first,
        confirm=f"{live.name} holds {plural(rows, 'row')} that no model wrote; it is computed from the"
        f" query of '{model.name}', and {kept}",
        why_not_cheaper="Instar did not make the table",
        irreversible=() if rename else first.irreversible,
        data={**first.data, ADOPTS: model.name},
    )
    if rename:
        step = replace(
            step,
            sql=(*rename, *step.sql),
            data={**step.data, "kept": aside.name},
            repeatable=False,
            reversible=True,
        )
    return TablePlan(
        model.table,
        backend.rules.name,
        Status.CHANGE,
        (),
        (),
        (step, *rest),
        live,
        way.fresh,
        origin=model.origin,
    )
