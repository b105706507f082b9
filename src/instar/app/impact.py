"""Who else sees a change: readers of a column, the columns that it reaches, the change that broke a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from instar.app.lineage import Place, Web, query_lineage
from instar.core.changes import Change, DropColumn, ModifyColumn, Rename, TypeChange, modification
from instar.core.findings import Finding, Severity
from instar.core.plan import TablePlan
from instar.core.schema import TableName
from instar.core.types import Column, path_text, type_text
from instar.run.building import Builder
from instar.run.inferring import CannotInfer
from instar.sources.models import Model, Models, Target
from instar.sources.models_sql import BadQuery, parse_query

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
    for target in models.upstream(model.name):
        plan = plans.get(target.name) if target.kind == "model" else manifests.get(target.table)
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


def readers_of(
    models: Models,
    builder: Builder,
    shapes: Mapping[TableName, Sequence[Column]],
    plan: TablePlan,
    column: str,
) -> list[str]:
    """The models and live views that read a column, as their queries stand now."""
    assert plan.live is not None
    before = {**shapes, plan.table: plan.live.columns}
    wish = Place(plan.table, column).key
    found: list[str] = []
    dialect = builder.backend(plan.live.format if plan.live.format != "view" else "").rules.dialect
    for name in models.order:
        reads = models.targets[name]
        model = models.models[name]
        if model.python or not any(t.table == plan.table for _, t in reads):
            continue
        lineage = query_lineage(model.body, dialect, reads, before)
        if any(p.key == wish for p in lineage.reads):
            found.append(f"model '{name}' ({model.origin})")
        elif lineage.partial:
            found.append(f"perhaps model '{name}' ({model.origin})")
    own = {m.table for m in models.models.values()}
    for view, sql in builder.views(plan.table.schema).items():
        if view not in own and _view_reads(sql, dialect, plan.table, before, wish):
            found.append(f"view {view}")
    return found


def _view_reads(
    sql: str,
    dialect: str,
    table: TableName,
    shapes: Mapping[TableName, Sequence[Column]],
    wish: tuple[str, str, str],
) -> bool:
    import re

    body = re.sub(r"^\s*CREATE\b.*?\bAS\b", "", sql, count=1, flags=re.IGNORECASE | re.DOTALL)
    if table.name.casefold() not in body.casefold():
        return False
    try:
        query = parse_query(body, dialect)
    except BadQuery:
        return False
    reads = [
        (
            r,
            Target(
                TableName(r.parts[-2] if len(r.parts) > 1 else table.schema, r.name), "outside", ""
            ),
        )
        for r in query.reads
    ]
    folded = {(n.schema.casefold(), n.name.casefold()): n for n in shapes}
    known = [
        (
            r,
            Target(
                folded.get((t.table.schema.casefold(), t.table.name.casefold()), t.table),
                t.kind,
                "",
            ),
        )
        for r, t in reads
    ]
    lineage = query_lineage(body, dialect, known, shapes)
    return any(p.key == wish for p in lineage.reads)


def reached(web: Web, plan: TablePlan) -> Iterator[Finding]:
    """Which downstream columns each changed column flows into, to the last table."""
    for item in plan.changes:
        match item.change:
            case ModifyColumn(path) if item.accepted:
                yield from _reaches(web, plan, path[0])
            case DropColumn(path) if item.accepted:
                yield from _reaches(web, plan, path[0])
            case _:
                continue


def _reaches(web: Web, plan: TablePlan, column: str) -> Iterator[Finding]:
    start = Place(plan.table, column)
    places = web.downstream([start])
    perhaps = [f"perhaps {p}" for place in (start, *places) for p in web.perhaps(place)]
    every = [*map(str, places), *dict.fromkeys(perhaps)]
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
