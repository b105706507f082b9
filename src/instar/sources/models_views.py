"""Live views that no model makes, put into the graph: models on both sides of one are planned together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from types import MappingProxyType

from instar.core.schema import TableName
from instar.sources.catalogs import elsewhere, on_spark
from instar.sources.models import LiveView, Models, Target
from instar.sources.models_sql import BadQuery, Read, parse_query


@dataclass(frozen=True, slots=True)
class ViewText:
    """One query that gives what the view gives; `schema` is where its bare names are looked for first."""

    sql: str
    schema: str


def with_views(
    models: Models,
    declared: Iterable[TableName],
    texts: Mapping[TableName, ViewText],
    dialect: str,
    home: str,
) -> Models:
    """The models with the views that they read or that read them, in an order that knows of these.

    A view whose query cannot be read, or through which a model reads itself, stays a table like any other.
    """
    found = _Meanings(models, declared, texts, home).views(dialect)
    near = _read_by(models, found) | _reading(found)
    straight = {n: v for n, v in found.items() if n in near and not _in_ring(v, models, found)}
    if not straight:
        return models
    seen = replace(models, views=MappingProxyType(straight))
    order = TopologicalSorter({n: seen.parents(n) for n in models.order}).static_order()
    return replace(seen, order=tuple(order))


class _Meanings:
    """What the names in the queries of views mean: models, declared tables, other views."""

    def __init__(
        self,
        models: Models,
        declared: Iterable[TableName],
        texts: Mapping[TableName, ViewText],
        home: str,
    ) -> None:
        self.home = home
        self.formats = {m.table: m.format for m in models.models.values()}
        self.known: dict[TableName, Target] = {
            n.folded: Target(n, "outside", n.name) for n in texts
        }
        # A name is spelled as the first model spells it.
        for reads in models.targets.values():
            self.known |= {t.table.folded: t for _, t in reads}
        self.known |= {n.folded: Target(n, "manifest", n.name) for n in declared}
        self.known |= {
            m.table.folded: Target(m.table, "model", m.name) for m in models.models.values()
        }
        self.texts = {n: t for n, t in texts.items() if self.known[n.folded].kind == "outside"}

    def views(self, dialect: str) -> dict[TableName, LiveView]:
        found: dict[TableName, LiveView] = {}
        for spelled, text in self.texts.items():
            name = self.known[spelled.folded].table
            try:
                reads = parse_query(text.sql, dialect).reads
            except BadQuery:
                continue
            meant = tuple((read, self._target(read, text.schema, dialect)) for read in reads)
            found[name] = LiveView(name, text.sql, meant)
        return found

    def _target(self, read: Read, schema: str, dialect: str) -> Target:
        schemas = (read.parts[-2],) if len(read.parts) > 1 else (schema, self.home)
        for name in schemas:
            if known := self.known.get(TableName(name, read.name).folded):
                format_ = self.formats.get(known.table) if known.kind == "model" else None
                far = dialect == "spark" and len(read.parts) > 2
                if not far or read.parts[-3].casefold() in on_spark(format_):
                    return known
                return Target(elsewhere(read), "outside", read.name)
        new = Target(TableName(schemas[0], read.name), "outside", read.name)
        return self.known.setdefault(new.table.folded, new)


def _read_by(models: Models, views: Mapping[TableName, LiveView]) -> set[TableName]:
    """The views that models read, directly or through others."""
    open_ = [t.table for reads in models.targets.values() for _, t in reads if t.table in views]
    found: set[TableName] = set()
    while open_:
        name = open_.pop()
        if name not in found:
            found.add(name)
            open_ += [t.table for _, t in views[name].reads if t.table in views]
    return found


def _reading(views: Mapping[TableName, LiveView]) -> set[TableName]:
    """The views that read a model or a declared table, directly or through others."""
    found: set[TableName] = set()
    while True:
        new = {
            name
            for name, view in views.items()
            if name not in found
            and any(t.kind != "outside" or t.table in found for _, t in view.reads)
        }
        if not new:
            return found
        found |= new


def _in_ring(view: LiveView, models: Models, views: Mapping[TableName, LiveView]) -> bool:
    seen: set[TableName] = set()
    open_ = [t for _, t in view.reads]
    while open_:
        target = open_.pop()
        if target.table == view.table:
            return True
        if target.table not in seen:
            seen.add(target.table)
            open_ += _reads(target, models, views)
    return False


def _reads(target: Target, models: Models, views: Mapping[TableName, LiveView]) -> Iterator[Target]:
    if target.kind == "model":
        yield from models.upstream(target.name)
    elif target.table in views:
        yield from (t for _, t in views[target.table].reads)
