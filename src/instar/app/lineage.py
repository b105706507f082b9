"""Column lineage of a project: which columns each column comes from and goes to, through all models."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from instar.app.tracing import UNKNOWN, Key, Lineage, Place, Types, query_lineage, rows_of
from instar.core.schema import TableName
from instar.core.types import Column, Type, children, walk
from instar.errors import UsageError
from instar.sources.models import Models, Target
from instar.sources.models_sql import Read
from instar.sources.paths import split_path

Shapes = Mapping[TableName, Sequence[Column]]
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Hop:
    """A column that was reached, and the ones it was reached from. `perhaps`: nobody can tell."""

    place: Place
    sources: list[Place]
    perhaps: bool


@dataclass(frozen=True, slots=True)
class Maker:
    """What makes a table: a model, by its `name`, or a live view. A Python model has no query to trace."""

    table: TableName
    body: str | None
    reads: Sequence[tuple[Read, Target]]
    name: str | None = None


class Web:
    """The lineage of a whole project; each query is traced when somebody asks for it.

    `live`: the columns that tables have now; a query that has not followed may name those that go.
    """

    def __init__(
        self,
        models: Models,
        shapes: Shapes,
        dialect: str,
        live: Shapes = MappingProxyType({}),
    ) -> None:
        self._dialect = dialect
        self._live = {table: [c.name for c in columns] for table, columns in live.items()}
        self._types = _types(shapes, live)
        self._known: dict[TableName, Lineage] = {}
        self._makers: dict[TableName, Maker] = {}
        self._readers: dict[TableName, list[Maker]] = {}
        self._decided: dict[TableName, bool] = {}
        for maker in _makers(models):
            self._makers[maker.table.folded] = maker
            for table in dict.fromkeys(target.table for _, target in maker.reads):
                self._readers.setdefault(table.folded, []).append(maker)
        self._names = {
            table: _united([c.name for c in columns], self._live.get(table, ()))
            for table, columns in shapes.items()
        }

    def made_by(self, table: TableName) -> Lineage | None:
        """The lineage of the model or view that makes a table, if one does."""
        maker = self._makers.get(table.folded)
        return None if maker is None else self.lineage(maker)

    def readers(self, table: TableName) -> Sequence[Maker]:
        """The models and views that read a table."""
        return self._readers.get(table.folded, ())

    def outputs(self) -> Iterator[Place]:
        """Every column of every model and view."""
        for maker in self._makers.values():
            yield from (Place(maker.table, column) for column in self.lineage(maker).outputs)

    def lineage(self, maker: Maker) -> Lineage:
        """Of what is read and could not be analysed, the columns are those that its query names."""
        open_ = [maker] if maker.table.folded not in self._known else []
        while open_:
            need = [m for m in self._unnamed(open_[-1]) if m not in open_]
            if need:
                open_.append(need[0])
            else:
                self._trace(open_.pop())
        return self._known[maker.table.folded]

    def _unnamed(self, maker: Maker) -> Iterator[Maker]:
        for _, target in maker.reads:
            inner = self._makers.get(target.table.folded)
            if inner is not None and inner.table not in self._names:
                yield inner

    def _trace(self, maker: Maker) -> None:
        key = maker.table.folded
        if key not in self._known:
            found = Lineage(partial=True)
            if maker.body is not None:
                found = query_lineage(
                    maker.body, self._dialect, maker.reads, self._names, self._types
                )
            named = _united([*found.outputs], self._live.get(maker.table, ()))
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
        wish = place.column.casefold()
        name = next((n for n in lineage.outputs if n.casefold() == wish), None)
        if name is None:
            return frozenset()
        copies = lineage.copies.get(name, frozenset())
        return frozenset(
            replace(p, fields=(*p.fields, *place.fields)) if p in copies else p
            for p in lineage.outputs[name]
        )

    def perhaps(self, place: Place) -> tuple[Place, ...]:
        """The columns of readers of its table that nobody can tell the sources of."""
        known = {heir.key for heir in self.heirs(place)}
        found = (
            Place(reader.table, name)
            for reader in self.readers(place.table)
            for name, places in self.lineage(reader).outputs.items()
            if UNKNOWN in places
        )
        return tuple(p for p in found if p.key not in known)

    def decides(self, place: Place) -> frozenset[Place]:
        """What decides the rows of a column's table, one step up: columns, and rows of other tables."""
        maker = self._makers.get(place.table.folded)
        if maker is None:
            return frozenset()
        lineage = self.lineage(maker)
        inner = {t.table for _, t in maker.reads if self._filtered(t.table)}
        return lineage.decides | {rows_of(t) for t in inner}

    def _filtered(self, table: TableName) -> bool:
        """Whether anything on the way to a table decides its rows."""
        key = table.folded
        if key not in self._decided:
            self._decided[key] = False
            self._decided[key] = bool(self.decides(rows_of(table)))
        return self._decided[key]

    def above(self, place: Place) -> list[Place]:
        """One step up: what a column is computed from, and what decides the rows that it stands in.

        The rows of a table that it is computed from are told there.
        """
        if place.is_rows:
            return sorted(self.decides(place))
        sources = self.sources(place)
        told = {rows_of(s.table) for s in sources}
        return [*sorted(sources), *([rows_of(place.table)] if self.decides(place) - told else ())]

    def heirs(self, place: Place) -> tuple[Place, ...]:
        """One step down: the columns that are computed from a column, then the tables whose rows it decides."""
        readers = self.readers(place.table)
        rows = {r.table: rows_of(r.table) for r in readers if place.is_rows}
        for reader in readers:
            if any(p.meets(place) for p in self.lineage(reader).decides):
                rows[reader.table] = rows_of(reader.table)
        return (*self._computed_from(place), *rows.values())

    def _computed_from(self, place: Place) -> tuple[Place, ...]:
        found: dict[Key, Place] = {}
        for reader in self.readers(place.table):
            lineage = self.lineage(reader)
            for name, places in lineage.outputs.items():
                for source in places:
                    if source.meets(place):
                        copied = source in lineage.copies.get(name, ())
                        inner = place.fields[len(source.fields) :] if copied else ()
                        heir = Place(reader.table, name, inner)
                        found[heir.key] = heir
        return tuple(found.values())

    def reach(self, starts: Sequence[Place]) -> list[Hop]:
        """Everything that is computed from these, through any number of models, nearest first.

        Then what may be besides: what is behind a query that cannot be traced. Last the tables whose rows
        these decide.
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
        return sorted([*sure.values(), *maybe.values()], key=lambda hop: hop.place.is_rows)

    def origins(self, start: Place, *, rows: bool = True) -> list[Hop]:
        """Everything that a column is computed from, nearest first; here `sources` are what it goes into.

        `rows`: also what decides the rows on the way.
        """
        found: dict[Key, Hop] = {}
        step = self.above if rows else lambda p: sorted(self.sources(p))
        _spread([start], found, {start.key}, step, perhaps=False)
        return list(found.values())

    def downstream(self, places: Sequence[Place]) -> tuple[Place, ...]:
        """Everything that is surely computed from these."""
        return tuple(h.place for h in self.reach(places) if not h.perhaps and not h.place.is_rows)

    def maybe_downstream(self, places: Sequence[Place]) -> tuple[Place, ...]:
        """What else may be computed from these and from what is."""
        return tuple(h.place for h in self.reach(places) if h.perhaps and not h.place.is_rows)


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
    copied = {n.casefold(): p for n, p in found.copies.items()}
    copies = {n: copied[n.casefold()] for n in names if n.casefold() in copied}
    return Lineage(outputs, found.reads, found.partial, copies, found.decides)


def _types(*worlds: Shapes) -> Types:
    found: dict[tuple[TableName, str], list[Type]] = {}
    for world in worlds:
        for table, columns in world.items():
            for column in columns:
                if children(column.type):
                    found.setdefault((table, column.name.casefold()), []).append(column.type)
    return found


def _united(names: list[str], more: Sequence[str]) -> list[str]:
    known = {n.casefold() for n in names}
    return [*names, *(n for n in more if n.casefold() not in known)]


def named(web: Web, shapes: Shapes, what: str | None) -> list[Place]:
    """The columns that `table`, `table.column`, `schema.table` or `schema.table.column` names.

    A nested column may be followed by the path of a field.
    """
    every = [Place(table, c.name) for table, columns in shapes.items() for c in columns]
    every += sorted(set(web.outputs()) - set(every))
    if what is None:
        return [p for p in every if web.made_by(p.table) is not None]
    wish = what.casefold()

    def spellings(place: Place) -> tuple[str, ...]:
        table, full = place.table.name, f"{place.table.schema}.{place.table.name}"
        texts = (table, full, f"{table}.{place.column}", f"{full}.{place.column}", str(place))
        return tuple(t.casefold() for t in texts)

    found = [p for p in every if wish in spellings(p)] or _parts_named(shapes, what)
    if not found:
        raise UsageError("E432", f"there is no model or column '{what}'", hint=_hint(every, wish))
    return found


def _hint(every: Sequence[Place], wish: str) -> str:
    """The columns of the table that was named, or else the tables."""
    starts = {
        p.table: (f"{p.table.name}.".casefold(), f"{p.table.schema}.{p.table.name}.".casefold())
        for p in every
    }
    table = next((t for t, texts in starts.items() if wish.startswith(texts)), None)
    if table is None:
        return f"Tables: {', '.join(sorted({t.name for t in starts})[:_SHOWN])}."
    columns = [p.path for p in every if p.table == table and not p.is_rows]
    return f"Columns of {table}: {', '.join(columns[:_SHOWN])}."


def _parts_named(shapes: Shapes, what: str) -> list[Place]:
    names = split_path(what) or ()
    found: list[Place] = []
    for table, columns in shapes.items():
        for head in ((table.name,), (table.schema, table.name)):
            size = len(head)
            if [n.casefold() for n in names[:size]] != [n.casefold() for n in head]:
                continue
            for path, _ in walk(tuple(columns)):
                if [n.casefold() for n in path] == [n.casefold() for n in names[size:]]:
                    found.append(Place(table, path[0], path[1:]))
    return found
