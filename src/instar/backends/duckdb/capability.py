"""What DuckDB does for one change, as a table: the first row that fits decides.

Every row was run on the engine. Two facts stand behind most of them: DuckDB changes the type of a column
(and so anything inside a struct, list or map) only when no key, CHECK, generated column or foreign key
names it, and it alters a table that has indexes only after they are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

from instar.backends.duckdb.facts import Facts, facts_of
from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.spelling import Expression, bound_type, spelled
from instar.backends.relational import capability as relational
from instar.backends.relational.capability import (
    always,
    fills_nulls,
    generated,
    is_generated,
    placed,
    relaxes,
    required,
)
from instar.core.changes import AddColumn, Change, ChangePrimaryKey, DropConstraint, TypeChange
from instar.core.matching import folded, in_collection
from instar.core.plan import Capability, Rung
from instar.core.schema import Check, Table, Unique, Wanted
from instar.core.types import Binary, Opaque, String, bare, walk
from instar.expressions import BadExpression

Case = relational.Case[Facts]
Row = relational.Row[Facts]


def capability(change: Change, live: Table, wanted: Wanted) -> Capability:
    """The cheapest rung for one change."""
    return relational.capability(TABLE, facts_of(live), fold, change, live, wanted)


def _expressions(case: Case) -> Iterator[Expression]:
    """The expressions that give old rows their value."""
    default = case.change.column.default if isinstance(case.change, AddColumn) else None
    for sql in (case.hint.using, case.hint.default, default):
        if sql is not None:
            try:
                yield spelled(sql, case.names)
            except BadExpression:
                continue


def _referenced(case: Case) -> bool:
    return bool(case.facts.referenced_by)


def _in_foreign_key(case: Case) -> bool:
    return any(case.root in columns for columns in case.facts.foreign_keys)


def _keys(case: Case) -> tuple[tuple[str, ...], ...]:
    unique = (c.columns for c in case.live.constraints if isinstance(c, Unique))
    return (case.live.primary_key, *unique)


def _in_key(case: Case) -> bool:
    return any(case.root in columns for columns in _keys(case))


def _checks_on(case: Case) -> list[frozenset[str]]:
    used = [
        spelled(c.expression, case.names).columns
        for c in case.live.constraints
        if isinstance(c, Check)
    ]
    return [columns for columns in used if case.root in columns]


def _in_check(case: Case) -> bool:
    return bool(_checks_on(case))


def _in_wide_check(case: Case) -> bool:
    return any(len(columns) > 1 for columns in _checks_on(case))


def _feeds_generated(case: Case) -> bool:
    return any(
        case.root in spelled(c.generated, case.names).columns
        for c in case.live.columns
        if c.generated
    )


def _indexed(case: Case) -> bool:
    return bool(case.facts.indexes)


def _in_index(case: Case) -> bool:
    return any(case.root in index.columns for index in case.facts.indexes)


def _before_index(case: Case) -> bool:
    """A column that DuckDB would have to renumber for an index, even one that is dropped first."""
    later = set(case.names[case.names.index(case.root) + 1 :])
    built = (*_keys(case), *case.facts.foreign_keys, *(i.columns for i in case.facts.indexes))
    return any(later & set(columns) for columns in built)


def _unique_index(case: Case) -> bool:
    return any(index.unique for index in case.facts.indexes)


def _filled(case: Case) -> bool:
    return any(True for _ in _expressions(case))


def _reads_columns(case: Case) -> bool:
    return any(e.columns for e in _expressions(case))


def _copy_only(case: Case) -> bool:
    return any(e.has_subquery or e.has_window or e.has_try for e in _expressions(case))


def _decodes(case: Case) -> bool:
    """Bytes become text: that is tried by TRY, which ALTER … USING does not bind."""
    change = case.modification
    if isinstance(change, TypeChange) and not case.hint.using:
        return isinstance(change.old, Binary) and isinstance(change.new, String)
    path = folded(getattr(case.change, "path", ()), fold)
    target = [c.type for here, c in walk(case.wanted.table.columns) if folded(here, fold) == path]
    if not any(isinstance(type_, String) for type_ in target):
        return False
    types = (bound_type(e.text, case.live.columns) for e in _expressions(case))
    return any(isinstance(type_, Binary) for type_ in types)


def _in_lambda(case: Case) -> bool:
    """An expression reads a column from within a lambda: its own, or the one around an element."""
    expressions = list(_expressions(case))
    if any(e.captures for e in expressions):
        return True
    path = getattr(case.change, "path", ())
    return any(e.columns for e in expressions) and in_collection(
        case.wanted.table.columns, path, fold
    )


def _reads_changing(case: Case) -> bool:
    """An expression reads another column that changes its type in the same run."""
    was = {fold(c.name): bare(c.type) for c in case.live.columns}
    changing = {
        c.name
        for c in case.wanted.table.columns
        if was.get(fold(c.name), bare(c.type)) != bare(c.type)
    }
    read = {name for e in _expressions(case) for name in e.columns}
    return any(fold(name) in {fold(c) for c in changing} for name in read - {case.root})


def _computed(case: Case) -> bool:
    return case.hint.using is not None


def _collated(case: Case) -> bool:
    return case.root in dict(case.facts.collations)


def _has_key(case: Case) -> bool:
    return isinstance(case.change, ChangePrimaryKey) and bool(case.change.old)


def _sized_list(case: Case) -> bool:
    """`FLOAT[3]` somewhere inside the value that is rebuilt."""
    root = tuple(c for c in case.live.columns if c.name == case.root)
    types = (column.type for _, column in walk(root))
    return any(isinstance(type_, Opaque) and type_.text.endswith("]") for type_ in types)


def _goes_with_column(case: Case) -> bool:
    """DuckDB drops a CHECK of one column together with that column."""
    if not isinstance(case.change, DropConstraint) or not isinstance(case.change.constraint, Check):
        return False
    columns = spelled(case.change.constraint.expression, case.names).columns
    left = {fold(c.name) for c in case.wanted.table.columns}
    sources = {fold(h.renamed_from) for h in case.wanted.hints.values() if h.renamed_from}
    return len(columns) == 1 and all(fold(c) not in left | sources for c in columns)


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

_GENERATED = Row(
    is_generated, Rung.NEVER, "'{root}' is generated, and DuckDB changes no such column"
)

_ALTER_ROOT = (
    _GENERATED,
    _REFERENCED,
    Row(_in_foreign_key, Rung.NEVER, "'{root}' is part of a foreign key, which DuckDB cannot drop"),
    Row(_in_key, Rung.REWRITE, "'{root}' is in a key, and DuckDB does not change such a column"),
    Row(_in_check, Rung.REWRITE, "a CHECK names '{root}', and DuckDB cannot drop or change it"),
    Row(_in_index, Rung.REWRITE, "'{root}' is in an index, which goes only in its own transaction"),
    Row(_feeds_generated, Rung.REWRITE, "a generated column is computed from '{root}'"),
    Row(
        _computed,
        Rung.REWRITE,
        "every value of '{root}' is computed anew, and the old ones are kept",
    ),
    _COPY_ONLY,
    _LAMBDA,
    _DECODES,
    Row(_reads_changing, Rung.REWRITE, "an expression reads a column that changes its type too"),
    _UNIQUE_INDEX,
    Row(always, Rung.STEPS, "DuckDB writes the whole column '{root}' again"),
)

TABLE: dict[str, tuple[Row, ...]] = {
    "add_column": (
        Row(generated, Rung.REWRITE, "DuckDB adds no generated column to a table that is there"),
        Row(placed, Rung.REWRITE, "DuckDB adds columns at the end only"),
        Row(
            lambda c: _referenced(c) and (required(c) or _reads_columns(c)),
            Rung.NEVER,
            "other tables refer to it by a foreign key: {referenced}",
        ),
        _COPY_ONLY,
        _LAMBDA,
        _DECODES,
        Row(
            lambda c: _unique_index(c) and (required(c) or _reads_columns(c)),
            _UNIQUE_INDEX.rung,
            _UNIQUE_INDEX.why,
        ),
        Row(_filled, Rung.STEPS, "old rows get their value"),
        Row(
            lambda c: _indexed(c) and required(c),
            Rung.STEPS,
            "indexes are dropped and built again around it",
        ),
        Row(always, Rung.METADATA),
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
        Row(_before_index, Rung.REWRITE, "a key or an index is on a column behind '{root}'"),
        _UNIQUE_INDEX,
        Row(_indexed, Rung.STEPS, "indexes are dropped and built again around it"),
        Row(always, Rung.METADATA),
    ),
    "rename": (
        _REFERENCED,
        Row(_in_foreign_key, Rung.NEVER, "'{root}' is part of a foreign key"),
        _UNIQUE_INDEX,
        Row(_indexed, Rung.STEPS, "indexes are dropped and built again around it"),
        Row(always, Rung.METADATA),
    ),
    "type": _ALTER_ROOT,
    "nested": (
        Row(
            _sized_list, Rung.NEVER, "DuckDB cannot rebuild '{root}': a list of fixed size is in it"
        ),
        *_ALTER_ROOT,
    ),
    "nullability": (
        _GENERATED,
        _REFERENCED,
        Row(lambda c: fills_nulls(c) and _in_key(c), Rung.REWRITE, "'{root}' is in a key"),
        Row(lambda c: fills_nulls(c) and _in_check(c), Rung.REWRITE, "a CHECK names '{root}'"),
        Row(
            lambda c: fills_nulls(c) and (_feeds_generated(c) or _collated(c) or _in_index(c)),
            Rung.REWRITE,
            "'{root}' has a collation, is in an index or feeds a generated column",
        ),
        Row(
            lambda c: (
                fills_nulls(c)
                and (_copy_only(c) or _in_lambda(c) or _decodes(c) or _reads_changing(c))
            ),
            Rung.REWRITE,
            "its _default reads more than a column that stays as it is",
        ),
        _UNIQUE_INDEX,
        Row(fills_nulls, Rung.STEPS, "rows that are NULL get their value"),
        Row(_indexed, Rung.STEPS, "indexes are dropped and built again around it"),
        Row(relaxes, Rung.METADATA),
        Row(always, Rung.METADATA, "DuckDB looks at every row"),
    ),
    "default": (_GENERATED, Row(always, Rung.METADATA)),
    "comment": (Row(always, Rung.METADATA),),
    "reorder_columns": (Row(always, Rung.REWRITE, "DuckDB cannot move a column"),),
    "change_primary_key": (
        _REFERENCED,
        Row(_has_key, Rung.REWRITE, "DuckDB cannot drop or change a primary key"),
        _UNIQUE_INDEX,
        Row(always, Rung.STEPS, "DuckDB builds the key's index"),
    ),
    "add_constraint": (Row(always, Rung.REWRITE, "DuckDB adds no CHECK or UNIQUE to a table"),),
    "drop_constraint": (
        Row(_goes_with_column, Rung.METADATA),
        Row(always, Rung.REWRITE, "DuckDB cannot drop a constraint"),
    ),
    "change_property": (Row(always, Rung.METADATA),),
}
