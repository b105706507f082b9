"""Column lineage of models: which columns of which tables each output column comes from."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from instar.core.schema import TableName
from instar.core.types import Column
from instar.dialects import reading
from instar.errors import UsageError
from instar.sources.models import Models, Target
from instar.sources.models_sql import Read

Shapes = Mapping[TableName, Sequence[Column]]
Names = Mapping[TableName, Sequence[str]]
"""The columns of each table."""
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A column of a table."""

    table: TableName
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"

    @property
    def key(self) -> Key:
        name = self.table
        return name.schema.casefold(), name.name.casefold(), self.column.casefold()


@dataclass(frozen=True, slots=True)
class Hop:
    """A column that was reached, and the ones it was reached from. `perhaps`: nobody can tell."""

    place: Place
    sources: list[Place]
    perhaps: bool


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
    text: str, dialect: str, reads: Sequence[tuple[Read, Target]], names: Names
) -> Lineage:
    """The lineage of one query over tables of these columns, as far as it can be told."""
    import sqlglot
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        tree = sqlglot.parse_one(text, read=reading(dialect))
        tables = _stand_ins(tree, reads)
        schema: dict[str, object] = {
            mark: {c.casefold(): "text" for c in names.get(name, ())} or {"?": "text"}
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
    return _Tracer(tables, names).trace(root) if root is not None else Lineage(partial=True)


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

    def __init__(self, tables: Mapping[str, TableName], names: Names) -> None:
        self.tables = tables
        self.spelling = {
            (name, column.casefold()): column
            for name in set(tables.values())
            for column in names.get(name, ())
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


@dataclass(frozen=True, slots=True)
class Maker:
    """What makes a table: a model, by its `name`, or a live view. A Python model has no query to trace."""

    table: TableName
    body: str | None
    reads: Sequence[tuple[Read, Target]]
    name: str | None = None


class Web:
    """The lineage of a whole project; each query is traced when somebody asks for it.

    `going`: columns that tables have now and will not have; a query that has not followed names them.
    """

    def __init__(
        self,
        models: Models,
        shapes: Shapes,
        dialect: str,
        going: Names = MappingProxyType({}),
    ) -> None:
        self._dialect, self._going = dialect, going
        self._known: dict[tuple[str, str], Lineage] = {}
        self._makers: dict[tuple[str, str], Maker] = {}
        self._readers: dict[tuple[str, str], list[Maker]] = {}
        for maker in _makers(models):
            self._makers[_key(maker.table)] = maker
            for table in dict.fromkeys(target.table for _, target in maker.reads):
                self._readers.setdefault(_key(table), []).append(maker)
        self._names = {
            table: _united([c.name for c in columns], going.get(table, ()))
            for table, columns in shapes.items()
        }

    def made_by(self, table: TableName) -> Lineage | None:
        """The lineage of the model or view that makes a table, if one does."""
        maker = self._makers.get(_key(table))
        return None if maker is None else self.lineage(maker)

    def readers(self, table: TableName) -> Sequence[Maker]:
        """The models and views that read a table."""
        return self._readers.get(_key(table), ())

    def outputs(self) -> Iterator[Place]:
        """Every column of every model and view."""
        for maker in self._makers.values():
            yield from (Place(maker.table, column) for column in self.lineage(maker).outputs)

    def lineage(self, maker: Maker) -> Lineage:
        """Of what is read and could not be analysed, the columns are those that its query names."""
        open_ = [maker] if _key(maker.table) not in self._known else []
        while open_:
            need = [m for m in self._unnamed(open_[-1]) if m not in open_]
            if need:
                open_.append(need[0])
            else:
                self._trace(open_.pop())
        return self._known[_key(maker.table)]

    def _unnamed(self, maker: Maker) -> Iterator[Maker]:
        for _, target in maker.reads:
            inner = self._makers.get(_key(target.table))
            if inner is not None and inner.table not in self._names:
                yield inner

    def _trace(self, maker: Maker) -> None:
        key = _key(maker.table)
        if key not in self._known:
            found = Lineage(partial=True)
            if maker.body is not None:
                found = query_lineage(maker.body, self._dialect, maker.reads, self._names)
            named = _united([*found.outputs], self._going.get(maker.table, ()))
            names = self._names.setdefault(maker.table, named)
            self._known[key] = _of_shape(found, names)

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
        found = self._of_readers(place, lambda places: UNKNOWN in places)
        return tuple(p for p in found if p.key not in known)

    def heirs(self, place: Place) -> tuple[Place, ...]:
        """The columns that are computed from a column, one step down."""
        return tuple(
            self._of_readers(place, lambda places: any(p.key == place.key for p in places))
        )

    def _of_readers(
        self, place: Place, wanted: Callable[[frozenset[Place]], bool]
    ) -> Iterator[Place]:
        for reader in self.readers(place.table):
            for name, places in self.lineage(reader).outputs.items():
                if wanted(places):
                    yield Place(reader.table, name)

    def reach(self, starts: Sequence[Place]) -> list[Hop]:
        """Everything that is computed from these, through any number of models, nearest first.

        Last what may be besides: what is behind a query that cannot be traced.
        """
        sure: dict[Key, Hop] = {}
        begun = {p.key for p in starts}
        _spread(starts, sure, begun, self.heirs, perhaps=False)
        known = begun | sure.keys()
        maybe: dict[Key, Hop] = {}
        every = [*starts, *(hop.place for hop in sure.values())]
        for place in every:
            _add(maybe, place, self.perhaps(place), known, perhaps=True)
        first = [hop.place for hop in maybe.values()]
        _spread(first, maybe, known, lambda p: (*self.heirs(p), *self.perhaps(p)), perhaps=True)
        return [*sure.values(), *maybe.values()]

    def origins(self, start: Place) -> list[Hop]:
        """Everything that a column is computed from, nearest first; here `sources` are what it goes into."""
        found: dict[Key, Hop] = {}
        _spread([start], found, {start.key}, lambda p: sorted(self.sources(p)), perhaps=False)
        return list(found.values())

    def downstream(self, places: Sequence[Place]) -> tuple[Place, ...]:
        """Everything that is surely computed from these."""
        return tuple(hop.place for hop in self.reach(places) if not hop.perhaps)

    def maybe_downstream(self, places: Sequence[Place]) -> tuple[Place, ...]:
        """What else may be computed from these and from what is."""
        return tuple(hop.place for hop in self.reach(places) if hop.perhaps)


def _makers(models: Models) -> Iterator[Maker]:
    for name in models.order:
        model = models.models[name]
        body = None if model.python else model.body
        yield Maker(model.table, body, models.targets[name], name)
    for view in models.views.values():
        yield Maker(view.table, view.body, view.reads)


def _spread(
    start: Sequence[Place],
    found: dict[Key, Hop],
    known: Container[Key],
    step: Callable[[Place], Sequence[Place]],
    *,
    perhaps: bool,
) -> None:
    """Add whatever can be reached step by step and is not known yet."""
    open_ = deque(start)
    while open_:
        place = open_.popleft()
        open_ += _add(found, place, step(place), known, perhaps=perhaps)


def _add(
    found: dict[Key, Hop], at: Place, to: Sequence[Place], known: Container[Key], *, perhaps: bool
) -> list[Place]:
    """The steps from one place; those that are new are returned."""
    new: list[Place] = []
    for place in to:
        if place.key in known:
            continue
        if place.key not in found:
            found[place.key] = Hop(place, [], perhaps)
            new.append(place)
        if at not in found[place.key].sources:
            found[place.key].sources.append(at)
    return new


def _of_shape(found: Lineage, names: Sequence[str]) -> Lineage:
    """The engine knows the columns of a table: those, and no others.

    Where every column of the query is among them, one that the query does not give is made of nothing.
    """
    traced = {n.casefold(): p for n, p in found.outputs.items()}
    whole = not found.partial and traced.keys() <= {n.casefold() for n in names}
    rest: frozenset[Place] = frozenset() if whole else frozenset((UNKNOWN,))
    outputs = {name: traced.get(name.casefold(), rest) for name in names}
    return Lineage(outputs, found.reads, found.partial)


def _united(names: list[str], more: Sequence[str]) -> list[str]:
    known = {n.casefold() for n in names}
    return [*names, *(n for n in more if n.casefold() not in known)]


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
