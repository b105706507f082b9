"""Why a model cannot be planned: its parents, its query, or what stands in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from instar.app.impact import upstream_changes
from instar.core.findings import Finding, Severity
from instar.core.plan import TablePlan
from instar.core.schema import TableName
from instar.dialects import reading
from instar.errors import Location
from instar.run.inferring import CannotInfer
from instar.sources.models import Model, Models


def broken_parents(model: Model, broken: Sequence[str]) -> Finding:
    one = len(broken) == 1
    return Finding(
        "F703",
        Severity.ERROR,
        f"[{model.table}] cannot be analysed: {', '.join(broken)} {'does' if one else 'do'} not compile.",
        f"Mend {'that model' if one else 'those models'} first.",
    )


def absent_parents(model: Model, parents: Sequence[str]) -> Finding:
    names = ", ".join(f"'{p}'" for p in parents)
    what = f"the model {names}, which is" if len(parents) == 1 else f"the models {names}, which are"
    return Finding(
        "F707",
        Severity.ERROR,
        f"[{model.table}] reads {what} not there yet.",
        f"Select them too: --select +{model.name}",
    )


def other_kind(model: Model, kind: str) -> Finding:
    other_format = kind.endswith(" table") and model.materialization != "view"
    wanted = f"a {model.format} table" if other_format else f"a {model.materialization}"
    return Finding(
        "F106",
        Severity.ERROR,
        f"[{model.table}] is {kind} on the engine, but the model is {wanted}.",
        "Rename or remove what is there (or give the model another name), then plan again.",
    )


def uncompiled(
    models: Models,
    plans: Mapping[str, TablePlan],
    manifests: Mapping[TableName, TablePlan],
    model: Model,
    error: CannotInfer,
    dialect: str,
) -> Finding:
    """Why a query no longer compiles: the change upstream that took away what it names."""
    where = None
    if error.line is not None and model.file is not None:
        first = model.file.text[: model.offset].count("\n")
        where = model.file.location(first + error.line)
    elif error.column is not None and model.file is not None and not model.python:
        where = _named_at(model, error.column, dialect)
    causes = list(upstream_changes(models, plans, manifests, model, error))
    because = f" Because {'; '.join(causes)}." if causes else ""
    return Finding(
        "F702",
        Severity.ERROR,
        f"[{model.table}] does not compile: {error.message.rstrip('.')}.{because}",
        "Change the query of this model together with what it reads.",
        (error.column,) if error.column else (),
        where=where or model.locate(None),
    )


def _named_at(model: Model, name: str, dialect: str) -> Location | None:
    """Where a query names what an engine misses without saying where: a field first, then any name."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = sqlglot.tokenize(model.body, read=reading(dialect))
    except SqlglotError:
        return None
    found = [
        (before.text not in (".", "["), token.start)
        for before, token in pairwise(tokens)
        if token.text.casefold() == name.casefold()
    ]
    return model.locate(min(found)[1]) if found else None
