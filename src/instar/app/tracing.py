"""Column lineage of one query: which columns of which tables each output column comes from."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from instar.app.fieldpaths import Names as Steps
from instar.app.fieldpaths import named_path, parts, resolve
from instar.app.rowclauses import bare_names, compares_rows, deciding_nodes, in_value
from instar.core.schema import TableName
from instar.core.types import Path, Type, path_text
from instar.dialects import reading
from instar.sources.models import Target
from instar.sources.models_sql import Read

Names = Mapping[TableName, Sequence[str]]
"""The columns of each table."""
Types = Mapping[tuple[TableName, str], Sequence[Type]]
"""The types of each column: the one that it will have, and the one that it has now."""
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A column of a table, or with `fields` a part of it."""

    table: TableName
    column: str
    fields: Path = ()

    def __str__(self) -> str:
        return f"rows of {self.table}" if self.is_rows else f"{self.table}.{self.path}"

    @property
    def is_rows(self) -> bool:
        """Not a column: which rows the table has."""
        return not self.column

    @property
    def path(self) -> str:
        """As it may be asked for: an odd name stands in backticks."""
        return path_text((self.column, *self.fields))

    @property
    def key(self) -> Key:
        name = self.table
        names = (name.schema, name.name, self.column, *self.fields)
        return tuple(n.casefold() for n in names)

    def meets(self, other: Place) -> bool:
        """Whether one is the other or a part of it."""
        one, two = self.key, other.key
        both = min(len(one), len(two))
        return one[:both] == two[:both]


UNKNOWN = Place(TableName("", "?"), "?")
"""Among the sources of a column: there are some that cannot be told."""


def rows_of(table: TableName) -> Place:
    """What a filter, a join or a grouping decides: no column alone, but which rows there are."""
    return Place(table, "")


From = tuple[Place, bool]
"""A source, and whether the value is that column's as it is."""
_RIDDLE: From = (UNKNOWN, False)


@dataclass(frozen=True, slots=True)
class Lineage:
    """Of one query: where each output column comes from, and all that it reads anywhere.

    `copies`: those of the sources whose value an output has as it is, so that its fields are theirs.
    `partial`: it may read more than could be told.
    `decides`: what decides which rows there are, and so every output.
    """

    outputs: Mapping[str, frozenset[Place]] = field(default_factory=dict)
    reads: frozenset[Place] = frozenset()
    partial: bool = False
    copies: Mapping[str, frozenset[Place]] = field(default_factory=dict)
    decides: frozenset[Place] = frozenset()


def query_lineage(
    text: str,
    dialect: str,
    reads: Sequence[tuple[Read, Target]],
    names: Names,
    types: Types = MappingProxyType({}),
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
        _write_out_windows(tree)
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
    if root is None:
        return Lineage(partial=True)
    return _Tracer(tables, names, types).trace(root)


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


def _write_out_windows(tree: Any) -> None:
    """A window that is named reads the columns of its definition, and of the one that this builds on."""
    from sqlglot import exp

    for select in list(tree.find_all(exp.Select)):
        named = {w.name.casefold(): w for w in select.args.get("windows") or ()}
        uses = (
            [w for w in select.find_all(exp.Window) if w.parent_select is select] if named else []
        )
        for window in uses:
            of, known = window, set[str]()
            while (base := of.args.get("alias")) is not None and base.name.casefold() not in known:
                known.add(base.name.casefold())
                of = named.get(base.name.casefold(), exp.Window())
                for column in list(of.find_all(exp.Column)):
                    window.append("partition_by", column.copy())


class _Tracer:
    """Walks scopes from the outermost to the tables."""

    def __init__(self, tables: Mapping[str, TableName], names: Names, types: Types) -> None:
        self.tables, self.types = tables, types
        self.spelling = {
            (name, column.casefold()): column
            for name in set(tables.values())
            for column in names.get(name, ())
        }
        self.seen: dict[tuple[int, str], frozenset[From]] = {}

    def trace(self, root: Any) -> Lineage:
        from sqlglot import exp

        found = {name: self.output(root, name) for name in self.names(root)}
        outputs = {name: frozenset(p for p, _ in sources) for name, sources in found.items()}
        copies = {
            name: frozenset(p for p, copied in sources if copied and (p, False) not in sources)
            for name, sources in found.items()
        }
        reads: set[Place] = set()
        for scope in root.traverse():
            for column in scope.columns:
                reads |= self.direct(scope, column)
            for row in scope.find_all(exp.TableColumn):
                reads |= {p for p in self.row(scope, row) if p != UNKNOWN}
        unsure = any(UNKNOWN in places for places in outputs.values())
        hidden = root.expression.find(exp.Pivot, exp.Columns) is not None
        decides = frozenset(self.deciding(root)) - {UNKNOWN}
        return Lineage(outputs, frozenset(reads), unsure or hidden, copies, decides)

    def deciding(self, root: Any) -> Iterator[Place]:
        """What decides the rows of a query: its own clauses, and those of the queries that it reads."""
        open_, known = [root], set[int]()
        while open_:
            scope = open_.pop()
            if id(scope.expression) in known:
                continue
            known.add(id(scope.expression))
            names = self.names(scope) if compares_rows(scope.expression) else []
            for node in deciding_nodes(scope.expression):
                yield from (place for place, _ in self._computed(scope, node))
                names += bare_names(node)
            for name in names:
                yield from (place for place, _ in self.output(scope, name))
            values = [s for s in scope.subquery_scopes if in_value(s.expression, scope.expression)]
            for one in (scope, *values):
                inner = (source for _, source in one.selected_sources.values())
                open_ += [s for s in inner if hasattr(s, "sources")]
            open_ += [*scope.set_operation_scopes]
            open_ += [s for s in scope.subquery_scopes if s not in values]

    def names(self, scope: Any) -> list[str]:
        return [str(name) for name in scope.expression.named_selects]

    def output(self, scope: Any, name: str) -> frozenset[From]:
        # By the query, not by its scope: where a query reads itself, it has a second, empty scope.
        key = (id(scope.expression), name.casefold())
        if key not in self.seen:
            self.seen[key] = frozenset()
            self.seen[key] = frozenset(self._output(scope, name))
        return self.seen[key]

    def _output(self, scope: Any, name: str) -> Iterator[From]:
        if scope.set_operation_scopes:
            yield from self._united(scope, name)
            return
        selects = getattr(scope.expression, "selects", ())
        found = [s for s in selects if s.alias_or_name.casefold() == name.casefold()]
        if not found:
            yield _RIDDLE
        for select in found:
            yield from self._computed(scope, select)

    def _united(self, scope: Any, name: str) -> Iterator[From]:
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
            yield from self.output(side, there[place]) if place < len(there) else (_RIDDLE,)

    def _computed(self, scope: Any, expression: Any) -> Iterator[From]:
        from sqlglot import exp

        for node in expression.find_all(exp.Column, exp.TableColumn, exp.Columns):
            if isinstance(node, exp.Columns):
                yield _RIDDLE
            elif isinstance(node, exp.TableColumn):
                yield from ((place, False) for place in self.row(scope, node))
            else:
                names, whole = named_path(node)
                plain = whole is expression.unalias()
                for place, copied in self.column(scope, node, names):
                    yield place, copied and plain

    def column(self, scope: Any, column: Any, names: Steps) -> Iterator[From]:
        from sqlglot import exp

        inner = (s for sub in scope.subquery_scopes for s in sub.traverse())
        for part in (scope, *inner):
            source = part.sources.get(column.table)
            if source is None:
                continue
            if not hasattr(source, "sources"):
                place = self.place(source, column)
                yield self.part(place, names) if place is not None else _RIDDLE
            elif isinstance(source.expression, exp.UDTF):
                # LATERAL or UNNEST: made of what stands beside it.
                yield from self._computed(scope, source.expression)
            else:
                for place, copied in self.output(source, column.name):
                    yield self.part(place, names) if copied else (place, False)
            return
        yield _RIDDLE

    def part(self, place: Place, names: Steps) -> From:
        """What steps into the value of a place lead to."""
        types = parts(self.types.get((place.table, place.column.casefold()), ()), place.fields)
        path, exact = resolve(types, names)
        return Place(place.table, place.column, (*place.fields, *path)), exact

    def row(self, scope: Any, row: Any) -> Iterator[Place]:
        """A table in the place of a value: all of its columns."""
        source = scope.sources.get(row.name)
        if source is None:
            yield UNKNOWN
        elif hasattr(source, "sources"):
            for name in self.names(source):
                yield from (place for place, _ in self.output(source, name))
        else:
            table = self.tables.get(source.name)
            known = [Place(t, c) for (t, _), c in self.spelling.items() if t == table]
            yield from known or (UNKNOWN,)

    def direct(self, scope: Any, column: Any) -> set[Place]:
        source = scope.sources.get(column.table)
        place = None if source is None or hasattr(source, "sources") else self.place(source, column)
        return {self.part(place, named_path(column)[0])[0]} if place else set()

    def place(self, source: Any, column: Any) -> Place | None:
        table = self.tables.get(source.name)
        if table is None:
            return None
        return Place(table, self.spelling.get((table, column.name.casefold()), column.name))
