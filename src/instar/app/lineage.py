"""Column lineage of models: which columns of which tables each output column comes from."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from instar.core.schema import TableName
from instar.core.types import Column
from instar.dialects import reading
from instar.errors import UsageError
from instar.sources.models import Models, Target
from instar.sources.models_sql import Read

Shapes = Mapping[TableName, Sequence[Column]]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A column of a table."""

    table: TableName
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"

    @property
    def key(self) -> tuple[str, str, str]:
        name = self.table
        return name.schema.casefold(), name.name.casefold(), self.column.casefold()


UNKNOWN = Place(TableName("", "?"), "?")
"""Among the sources of a column: there are some that cannot be told."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Of one query: where each output column comes from, and all that it reads anywhere.

    `partial`: it may read more than could be told.
    """

    outputs: Mapping[str, frozenset[Place]] = field(default_factory=dict)
    reads: frozenset[Place] = frozenset()
    partial: bool = False


def query_lineage(
    text: str, dialect: str, reads: Sequence[tuple[Read, Target]], shapes: Shapes
) -> Lineage:
    """The lineage of one query over tables of these shapes, as far as it can be told."""
    import sqlglot
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        tree = sqlglot.parse_one(text, read=reading(dialect))
        tables = _stand_ins(tree, reads)
        schema: dict[str, object] = {
            mark: {c.name.casefold(): "text" for c in shapes.get(name, ())} or {"?": "text"}
            for mark, name in tables.items()
        }
        tree = qualify(
            tree,
            dialect=dialect,
            schema=schema,
            validate_qualify_columns=False,
            quote_identifiers=False,
            identify=False,
        )
        root = build_scope(tree)
    except (SqlglotError, RecursionError, AttributeError, KeyError):
        return Lineage(partial=True)
    return _Tracer(tables, shapes).trace(root) if root is not None else Lineage(partial=True)


def _stand_ins(tree: Any, reads: Sequence[tuple[Read, Target]]) -> dict[str, TableName]:
    """Put a plain name in place of every table that is read, and say what it stands for."""
    from sqlglot import exp

    by_start = {read.start: (read, target) for read, target in reads}
    marks: dict[str, TableName] = {}
    for table in list(tree.find_all(exp.Table)):
        parts = [p for p in table.parts if "start" in p.meta]
        if isinstance(table.this, exp.Anonymous):
            parts = [p for p in (table.args.get("db"), table.this) if p is not None]
        found = by_start.get(min((p.meta["start"] for p in parts if "start" in p.meta), default=-1))
        if found is None:
            continue
        read, target = found
        mark = f"instar_{len(marks)}"
        marks[mark] = target.table
        alias = table.alias or read.name
        table.set("this", exp.to_identifier(mark))
        table.set("db", None)
        table.set("catalog", None)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return marks


class _Tracer:
    """Walks scopes from the outermost to the tables."""

    def __init__(self, tables: Mapping[str, TableName], shapes: Shapes) -> None:
        self.tables = tables
        self.spelling = {
            (name, c.name.casefold()): c.name
            for name in set(tables.values())
            for c in shapes.get(name, ())
        }
        self.seen: dict[tuple[int, str], frozenset[Place]] = {}

    def trace(self, root: Any) -> Lineage:
        from sqlglot import exp

        outputs = {name: self.output(root, name) for name in self.names(root)}
        reads: set[Place] = set()
        for scope in root.traverse():
            for column in scope.columns:
                reads |= self.direct(scope, column)
            for row in scope.find_all(exp.TableColumn):
                reads |= {p for p in self.row(scope, row) if p != UNKNOWN}
        unsure = any(UNKNOWN in places for places in outputs.values())
        hidden = root.expression.find(exp.Pivot, exp.Columns) is not None
        return Lineage(outputs, frozenset(reads), unsure or hidden)

    def names(self, scope: Any) -> list[str]:
        return [str(name) for name in scope.expression.named_selects]

    def output(self, scope: Any, name: str) -> frozenset[Place]:
        # By the query, not by its scope: where a query reads itself, it has a second, empty scope.
        key = (id(scope.expression), name.casefold())
        if key not in self.seen:
            self.seen[key] = frozenset()
            self.seen[key] = frozenset(self._output(scope, name))
        return self.seen[key]

    def _output(self, scope: Any, name: str) -> Iterator[Place]:
        if scope.set_operation_scopes:
            yield from self._united(scope, name)
            return
        selects = getattr(scope.expression, "selects", ())
        found = [s for s in selects if s.alias_or_name.casefold() == name.casefold()]
        if not found:
            yield UNKNOWN
        for select in found:
            yield from self._computed(scope, select)

    def _united(self, scope: Any, name: str) -> Iterator[Place]:
        """Each side's column of that name, or of the place that the name has on the first side."""
        sides = scope.set_operation_scopes
        names = [[n.casefold() for n in self.names(side)] for side in sides]
        if scope.expression.args.get("by_name"):
            for side, there in zip(sides, names, strict=True):
                if name.casefold() in there:
                    yield from self.output(side, name)
            return
        place = names[0].index(name.casefold()) if name.casefold() in names[0] else len(names[0])
        for side, there in zip(sides, names, strict=True):
            yield from self.output(side, there[place]) if place < len(there) else (UNKNOWN,)

    def _computed(self, scope: Any, expression: Any) -> Iterator[Place]:
        from sqlglot import exp

        for node in expression.find_all(exp.Column, exp.TableColumn, exp.Columns):
            if isinstance(node, exp.Columns):
                yield UNKNOWN
            elif isinstance(node, exp.TableColumn):
                yield from self.row(scope, node)
            else:
                yield from self.column(scope, node)

    def column(self, scope: Any, column: Any) -> Iterator[Place]:
        from sqlglot import exp

        inner = (s for sub in scope.subquery_scopes for s in sub.traverse())
        for part in (scope, *inner):
            source = part.sources.get(column.table)
            if source is None:
                continue
            if not hasattr(source, "sources"):
                place = self.place(source, column)
                yield place if place is not None else UNKNOWN
            elif isinstance(source.expression, exp.UDTF):
                # LATERAL or UNNEST: made of what stands beside it.
                yield from self._computed(scope, source.expression)
            else:
                yield from self.output(source, column.name)
            return
        yield UNKNOWN

    def row(self, scope: Any, row: Any) -> Iterator[Place]:
        """A table in the place of a value: all of its columns."""
        source = scope.sources.get(row.name)
        if source is None:
            yield UNKNOWN
        elif hasattr(source, "sources"):
            for name in self.names(source):
                yield from self.output(source, name)
        else:
            table = self.tables.get(source.name)
            known = [Place(t, c) for (t, _), c in self.spelling.items() if t == table]
            yield from known or (UNKNOWN,)

    def direct(self, scope: Any, column: Any) -> set[Place]:
        source = scope.sources.get(column.table)
        place = None if source is None or hasattr(source, "sources") else self.place(source, column)
        return {place} if place else set()

    def place(self, source: Any, column: Any) -> Place | None:
        table = self.tables.get(source.name)
        if table is None:
            return None
        return Place(table, self.spelling.get((table, column.name.casefold()), column.name))


class Web:
    """The lineage of a whole project; each query is traced when somebody asks for it."""

    def __init__(self, models: Models, shapes: Shapes, dialect: str) -> None:
        self._models, self._shapes, self._dialect = models, shapes, dialect
        self._known: dict[str, Lineage] = {}
        self._names = {_key(m.table): m.name for m in models.models.values() if not m.python}
        self._readers: dict[tuple[str, str], dict[str, None]] = {}
        for name in models.order:
            for target in models.upstream(name) if not models.models[name].python else ():
                self._readers.setdefault(_key(target.table), {})[name] = None

    def made_by(self, table: TableName) -> Lineage | None:
        """The lineage of the model that makes a table, if one does."""
        name = self._names.get(_key(table))
        return None if name is None else self._lineage(name)

    def outputs(self) -> Iterator[Place]:
        """Every column of every model."""
        for name in self._names.values():
            table = self._models.models[name].table
            yield from (Place(table, column) for column in self._lineage(name).outputs)

    def _lineage(self, name: str) -> Lineage:
        if name not in self._known:
            model, reads = self._models.models[name], self._models.targets[name]
            found = query_lineage(model.body, self._dialect, reads, self._shapes)
            self._known[name] = _of_shape(found, self._shapes.get(model.table))
        return self._known[name]

    def sources(self, place: Place) -> frozenset[Place]:
        """The columns that a column is computed from, one step up, as far as they are known."""
        return self._all_sources(place) - {UNKNOWN}

    def unknown(self, place: Place) -> bool:
        """Whether it comes from more than `sources` can tell."""
        return UNKNOWN in self._all_sources(place)

    def _all_sources(self, place: Place) -> frozenset[Place]:
        lineage = self.made_by(place.table)
        if lineage is None:
            return frozenset()
        found = {n.casefold(): p for n, p in lineage.outputs.items()}
        return found.get(place.column.casefold(), frozenset())

    def perhaps(self, place: Place) -> tuple[Place, ...]:
        """The columns of readers of its table that nobody can tell the sources of."""
        known = {heir.key for heir in self.heirs(place)}
        found = (
            Place(self._models.models[reader].table, name)
            for reader in self._readers.get(_key(place.table), ())
            for name, places in self._lineage(reader).outputs.items()
            if UNKNOWN in places
        )
        return tuple(p for p in found if p.key not in known)

    def heirs(self, place: Place) -> tuple[Place, ...]:
        """The columns that are computed from a column, one step down."""
        return tuple(
            Place(self._models.models[reader].table, name)
            for reader in self._readers.get(_key(place.table), ())
            for name, places in self._lineage(reader).outputs.items()
            if any(p.key == place.key for p in places)
        )

    def downstream(self, places: Sequence[Place]) -> tuple[Place, ...]:
        """Everything that is computed from these, through any number of models, nearest first."""
        seen: dict[tuple[str, str, str], Place] = {}
        open_ = deque(places)
        while open_:
            for heir in self.heirs(open_.popleft()):
                if heir.key not in seen:
                    seen[heir.key] = heir
                    open_.append(heir)
        return tuple(seen.values())


def _of_shape(found: Lineage, shape: Sequence[Column] | None) -> Lineage:
    """The engine knows the columns of a query: those, and no others."""
    if shape is None:
        return found
    traced = {n.casefold(): p for n, p in found.outputs.items()}
    outputs = {c.name: traced.get(c.name.casefold(), frozenset((UNKNOWN,))) for c in shape}
    return Lineage(outputs, found.reads, found.partial)


def _key(table: TableName) -> tuple[str, str]:
    return table.schema.casefold(), table.name.casefold()


def named(web: Web, shapes: Shapes, what: str | None) -> list[Place]:
    """The columns that `table`, `table.column`, `schema.table` or `schema.table.column` names."""
    every = [Place(table, c.name) for table, columns in shapes.items() for c in columns]
    every += sorted(set(web.outputs()) - set(every))
    if what is None:
        return [p for p in every if web.made_by(p.table) is not None]
    wish = what.casefold()

    def spellings(place: Place) -> tuple[str, ...]:
        table, full = place.table.name, f"{place.table.schema}.{place.table.name}"
        texts = (table, full, f"{table}.{place.column}", f"{full}.{place.column}")
        return tuple(t.casefold() for t in texts)

    found = [p for p in every if wish in spellings(p)]
    if not found:
        tables = sorted({p.table.name for p in every})
        raise UsageError(
            "E432",
            f"there is no model or column '{what}'",
            hint=f"Tables: {', '.join(tables[:20])}.",
        )
    return found
