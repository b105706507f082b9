"""What DuckDB does for one change, as a table: the first row that fits decides.

Every row was run on the engine. Two facts stand behind most of them: DuckDB changes the type of a column
(and so anything inside a struct, list or map) only when no key, CHECK, generated column or foreign key
names it, and it alters a table that has indexes only after they are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from instar.backends.duckdb.facts import Facts, facts_of
from instar.backends.duckdb.folding import fold, in_collection
from instar.backends.duckdb.spelling import BadExpression, Expression, bound_type, spelled
from instar.core.changes import (
    AddColumn,
    Change,
    ChangePrimaryKey,
    CommentChange,
    DefaultChange,
    DropColumn,
    DropConstraint,
    Modification,
    ModifyColumn,
    Nullability,
    Rename,
    ReorderColumns,
    TypeChange,
    kind,
)
from instar.core.matching import folded
from instar.core.plan import Capability, Rung
from instar.core.schema import Check, Hint, Table, Unique, Wanted
from instar.core.types import Binary, String, bare, path_text, walk


@dataclass(frozen=True, slots=True)
class Case:
    """One change (or one modification of it) of one live table."""

    change: Change
    live: Table
    wanted: Wanted
    facts: Facts
    modification: Modification | None = None

    @property
    def root(self) -> str:
        """The live column that the change is in; a new one's own name."""
        match self.change:
            case ModifyColumn(_, old_path):
                return old_path[0]
            case DropColumn(path) | AddColumn(path) | ReorderColumns(path) if path:
                return self._live_name(path[0])
            case _:
                return ""

    def _live_name(self, name: str) -> str:
        source = self.wanted.hint((name,), fold).renamed_from
        names = {fold(c.name): c.name for c in self.live.columns}
        if source is not None and fold(source) in names:
            return names[fold(source)]
        return names.get(fold(name), name)

    @property
    def nested(self) -> bool:
        path = getattr(self.change, "path", ())
        return len(path) > (0 if isinstance(self.change, ReorderColumns) else 1)

    @property
    def hint(self) -> Hint:
        return self.wanted.hint(getattr(self.change, "path", ()), fold)

    def expressions(self) -> Iterator[Expression]:
        """The expressions that give old rows their value."""
        default = self.change.column.default if isinstance(self.change, AddColumn) else None
        names = tuple(c.name for c in self.live.columns)
        for sql in (self.hint.using, self.hint.default, default):
            if sql is not None:
                try:
                    yield spelled(sql, names)
                except BadExpression:
                    continue


When = Callable[[Case], bool]


def _always(_case: Case) -> bool:
    return True


def _referenced(case: Case) -> bool:
    return bool(case.facts.referenced_by)


def _in_foreign_key(case: Case) -> bool:
    return any(case.root in columns for columns in case.facts.foreign_keys)


def _in_key(case: Case) -> bool:
    unique = [c.columns for c in case.live.constraints if isinstance(c, Unique)]
    return any(case.root in columns for columns in (case.live.primary_key, *unique))


def _checks_on(case: Case) -> list[frozenset[str]]:
    names = tuple(c.name for c in case.live.columns)
    used = [
        spelled(c.expression, names).columns for c in case.live.constraints if isinstance(c, Check)
    ]
    return [columns for columns in used if case.root in columns]


def _in_check(case: Case) -> bool:
    return bool(_checks_on(case))


def _in_wide_check(case: Case) -> bool:
    return any(len(columns) > 1 for columns in _checks_on(case))


def _feeds_generated(case: Case) -> bool:
    names = tuple(c.name for c in case.live.columns)
    return any(
        case.root in spelled(c.generated, names).columns for c in case.live.columns if c.generated
    )


def _indexed(case: Case) -> bool:
    return bool(case.facts.indexes)


def _in_index(case: Case) -> bool:
    return any(case.root in index.columns for index in case.facts.indexes)


def _unique_index(case: Case) -> bool:
    return any(index.unique for index in case.facts.indexes)


def _placed(case: Case) -> bool:
    return isinstance(case.change, AddColumn) and case.change.after is not None


def _generated(case: Case) -> bool:
    return isinstance(case.change, AddColumn) and case.change.column.generated is not None


def _required(case: Case) -> bool:
    return isinstance(case.change, AddColumn) and not case.change.column.nullable


def _filled(case: Case) -> bool:
    return any(True for _ in case.expressions())


def _reads_columns(case: Case) -> bool:
    return any(e.columns for e in case.expressions())


def _copy_only(case: Case) -> bool:
    return any(e.has_subquery or e.has_window or e.has_try for e in case.expressions())


def _decodes(case: Case) -> bool:
    """Bytes become text: that is tried by TRY, which ALTER … USING does not bind."""
    change = case.modification
    if isinstance(change, TypeChange) and not case.hint.using:
        return isinstance(change.old, Binary) and isinstance(change.new, String)
    path = folded(getattr(case.change, "path", ()), fold)
    target = [c.type for here, c in walk(case.wanted.table.columns) if folded(here, fold) == path]
    if not any(isinstance(type_, String) for type_ in target):
        return False
    types = (bound_type(e.text, case.live.columns) for e in case.expressions())
    return any(isinstance(type_, Binary) for type_ in types)


def _in_lambda(case: Case) -> bool:
    """An expression reads a column from within a lambda: its own, or the one around an element."""
    expressions = list(case.expressions())
    if any(e.captures for e in expressions):
        return True
    path = getattr(case.change, "path", ())
    return any(e.columns for e in expressions) and in_collection(case.wanted.table.columns, path)


def _reads_changing(case: Case) -> bool:
    """An expression reads another column that changes its type in the same run."""
    was = {fold(c.name): bare(c.type) for c in case.live.columns}
    changing = {
        c.name
        for c in case.wanted.table.columns
        if was.get(fold(c.name), bare(c.type)) != bare(c.type)
    }
    read = {name for e in case.expressions() for name in e.columns}
    return any(fold(name) in {fold(c) for c in changing} for name in read - {case.root})


def _collated(case: Case) -> bool:
    return case.root in dict(case.facts.collations)


def _gets_null_fill(case: Case) -> bool:
    change = case.modification
    return isinstance(change, Nullability) and not change.new and case.hint.default is not None


def _relaxes(case: Case) -> bool:
    return isinstance(case.modification, Nullability) and case.modification.new


def _has_key(case: Case) -> bool:
    return isinstance(case.change, ChangePrimaryKey) and bool(case.change.old)


def _goes_with_column(case: Case) -> bool:
    """DuckDB drops a CHECK of one column together with that column."""
    if not isinstance(case.change, DropConstraint) or not isinstance(case.change.constraint, Check):
        return False
    names = tuple(c.name for c in case.live.columns)
    columns = spelled(case.change.constraint.expression, names).columns
    left = {fold(c.name) for c in case.wanted.table.columns}
    sources = {fold(h.renamed_from) for h in case.wanted.hints.values() if h.renamed_from}
    return len(columns) == 1 and all(fold(c) not in left | sources for c in columns)


@dataclass(frozen=True, slots=True)
class Row:
    """`why` may name {root}, the column; it is the reason why nothing cheaper was taken."""

    when: When
    rung: Rung
    why: str = ""


_COPY_ONLY = Row(
    _copy_only,
    Rung.REWRITE,
    "an expression with a subquery, a window function or TRY is computed in a copy only",
)
_DECODES = Row(_decodes, Rung.REWRITE, "bytes are read as text in a copy only")
_LAMBDA = Row(
    _in_lambda,
    Rung.REWRITE,
    "an expression that reads a column inside a lambda is computed in a copy only",
)
_UNIQUE_INDEX = Row(
    _unique_index,
    Rung.REWRITE,
    "it has a unique index, which DuckDB does not drop and build again in one transaction",
)
_REFERENCED = Row(
    _referenced, Rung.NEVER, "other tables refer to it by a foreign key: {referenced}"
)

_ALTER_ROOT = (
    _REFERENCED,
    Row(_in_foreign_key, Rung.NEVER, "'{root}' is part of a foreign key, which DuckDB cannot drop"),
    Row(_in_key, Rung.REWRITE, "'{root}' is in a key, and DuckDB does not change such a column"),
    Row(_in_check, Rung.REWRITE, "a CHECK names '{root}', and DuckDB cannot drop or change it"),
    Row(_in_index, Rung.REWRITE, "'{root}' is in an index, which goes only in its own transaction"),
    Row(_feeds_generated, Rung.REWRITE, "a generated column is computed from '{root}'"),
    _COPY_ONLY,
    _LAMBDA,
    _DECODES,
    Row(_reads_changing, Rung.REWRITE, "an expression reads a column that changes its type too"),
    _UNIQUE_INDEX,
    Row(_always, Rung.STEPS, "DuckDB writes the whole column '{root}' again"),
)

TABLE: dict[str, tuple[Row, ...]] = {
    "add_column": (
        Row(_generated, Rung.REWRITE, "DuckDB adds no generated column to a table that is there"),
        Row(_placed, Rung.REWRITE, "DuckDB adds columns at the end only"),
        Row(
            lambda c: _referenced(c) and (_required(c) or _reads_columns(c)),
            Rung.NEVER,
            "other tables refer to it by a foreign key: {referenced}",
        ),
        _COPY_ONLY,
        _LAMBDA,
        _DECODES,
        Row(
            lambda c: _unique_index(c) and (_required(c) or _reads_columns(c)),
            _UNIQUE_INDEX.rung,
            _UNIQUE_INDEX.why,
        ),
        Row(_filled, Rung.STEPS, "old rows get their value"),
        Row(
            lambda c: _indexed(c) and _required(c),
            Rung.STEPS,
            "indexes are dropped and built again around it",
        ),
        Row(_always, Rung.METADATA),
    ),
    "drop_column": (
        _REFERENCED,
        Row(_in_foreign_key, Rung.NEVER, "'{root}' is part of a foreign key"),
        Row(_in_key, Rung.REWRITE, "'{root}' is in a key, which DuckDB cannot drop"),
        Row(_in_wide_check, Rung.REWRITE, "a CHECK over several columns names '{root}'"),
        Row(_feeds_generated, Rung.REWRITE, "a generated column is computed from '{root}'"),
        Row(
            _in_index,
            Rung.REWRITE,
            "'{root}' is in an index, which goes only in its own transaction",
        ),
        _UNIQUE_INDEX,
        Row(_indexed, Rung.STEPS, "indexes are dropped and built again around it"),
        Row(_always, Rung.METADATA),
    ),
    "rename": (
        _REFERENCED,
        Row(_in_foreign_key, Rung.NEVER, "'{root}' is part of a foreign key"),
        _UNIQUE_INDEX,
        Row(_indexed, Rung.STEPS, "indexes are dropped and built again around it"),
        Row(_always, Rung.METADATA),
    ),
    "type": _ALTER_ROOT,
    "nested": _ALTER_ROOT,
    "nullability": (
        _REFERENCED,
        Row(lambda c: _gets_null_fill(c) and _in_key(c), Rung.REWRITE, "'{root}' is in a key"),
        Row(lambda c: _gets_null_fill(c) and _in_check(c), Rung.REWRITE, "a CHECK names '{root}'"),
        Row(
            lambda c: _gets_null_fill(c) and (_feeds_generated(c) or _collated(c) or _in_index(c)),
            Rung.REWRITE,
            "'{root}' has a collation, is in an index or feeds a generated column",
        ),
        Row(
            lambda c: (
                _gets_null_fill(c)
                and (_copy_only(c) or _in_lambda(c) or _decodes(c) or _reads_changing(c))
            ),
            Rung.REWRITE,
            "its _default reads more than a column that stays as it is",
        ),
        _UNIQUE_INDEX,
        Row(_gets_null_fill, Rung.STEPS, "rows that are NULL get their value"),
        Row(_indexed, Rung.STEPS, "indexes are dropped and built again around it"),
        Row(_relaxes, Rung.METADATA),
        Row(_always, Rung.METADATA, "DuckDB looks at every row"),
    ),
    "default": (Row(_always, Rung.METADATA),),
    "comment": (Row(_always, Rung.METADATA),),
    "reorder_columns": (Row(_always, Rung.REWRITE, "DuckDB cannot move a column"),),
    "change_primary_key": (
        _REFERENCED,
        Row(_has_key, Rung.REWRITE, "DuckDB cannot drop or change a primary key"),
        _UNIQUE_INDEX,
        Row(_always, Rung.STEPS, "DuckDB builds the key's index"),
    ),
    "add_constraint": (Row(_always, Rung.REWRITE, "DuckDB adds no CHECK or UNIQUE to a table"),),
    "drop_constraint": (
        Row(_goes_with_column, Rung.METADATA),
        Row(_always, Rung.REWRITE, "DuckDB cannot drop a constraint"),
    ),
    "change_property": (Row(_always, Rung.METADATA),),
}

_BY_MODIFICATION: dict[type, str] = {
    Rename: "rename",
    TypeChange: "type",
    Nullability: "nullability",
    DefaultChange: "default",
    CommentChange: "comment",
}


def capability(change: Change, live: Table, wanted: Wanted) -> Capability:
    """The cheapest rung for one change."""
    facts = facts_of(live)
    if isinstance(change, ModifyColumn):
        cases = [Case(change, live, wanted, facts, m) for m in change.modifications]
    else:
        cases = [Case(change, live, wanted, facts)]
    able = [_decide(case) for case in cases]
    return max(able, key=lambda c: c.rung.height)


def _decide(case: Case) -> Capability:
    key = _BY_MODIFICATION[type(case.modification)] if case.modification else kind(case.change)
    rows = TABLE["nested" if case.nested else key]
    row = next(row for row in rows if row.when(case))
    rung, why = row.rung, _words(row.why, case)
    if rung is Rung.REWRITE and case.facts.bound:
        return Capability(Rung.NEVER, f"{why}; a rewrite is not possible: {case.facts.bound}")
    if rung.height < Rung.REWRITE.height and case.facts.odd_index and rung is Rung.STEPS:
        return Capability(Rung.NEVER, f"{why}, but {case.facts.odd_index}")
    return Capability(rung, why, tuple(_lost(case)))


def _words(why: str, case: Case) -> str:
    return why.format(root=case.root, referenced=", ".join(case.facts.referenced_by))


def _lost(case: Case) -> Iterator[str]:
    match case.change:
        case DropColumn(path):
            yield f"the values of '{path_text(path)}' go"
            if len(path) == 1:
                for index in case.facts.indexes:
                    if path[0] in index.columns:
                        yield f"the index {index.name} goes with '{path_text(path)}'"
        case _:
            return
