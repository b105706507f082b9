"""What PostgreSQL does for one change, as a table: the first row that fits decides.

Every row was run on the engine. What needs no look at the rows takes an ACCESS EXCLUSIVE lock for a moment;
what looks at rows is done under locks that let writers pass; what would write every row under a lock that
shuts everybody out is done by recreation instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from instar.backends.postgres.facts import Facts, facts_of
from instar.backends.postgres.spelling import Expression, spelled
from instar.backends.relational import capability as relational
from instar.backends.relational.capability import (
    always,
    fills_nulls,
    generated,
    is_generated,
    placed,
    relaxes,
)
from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangePrimaryKey,
    DropConstraint,
    TypeChange,
)
from instar.core.plan import Capability, Rung
from instar.core.schema import Table, Unique, Wanted
from instar.core.types import Decimal, Integer, String, Timestamp, Type
from instar.expressions import BadExpression

Case = relational.Case[Facts]
Row = relational.Row[Facts]


def capability(change: Change, live: Table, wanted: Wanted) -> Capability:
    """The cheapest rung for one change."""
    return relational.capability(TABLE, facts_of(live), str.casefold, change, live, wanted)


def fills(case: Case) -> Iterator[Expression]:
    """The expression that gives old rows their value."""
    default = case.change.column.default if isinstance(case.change, AddColumn) else None
    chosen = case.hint.using or case.hint.default or default
    if chosen is not None:
        try:
            yield spelled(chosen, case.names)
        except BadExpression:
            return


def filled_by_rows(case: Case) -> bool:
    """The value of a new column differs from row to row."""
    return any(e.columns or e.volatile for e in fills(case))


def takes_a_name(case: Case) -> bool:
    """A new column takes a name that is live, and cannot wait until it is free."""
    live = {name.casefold() for name in case.names}
    if case.root.casefold() not in live:
        return False
    return filled_by_rows(case) or any(_beside_filled(case, live))


def _beside_filled(case: Case, live: set[str]) -> Iterator[bool]:
    """Another new column is filled row by row: new columns before it come in the same step."""
    for column in case.wanted.table.columns:
        hint = case.wanted.hint((column.name,), case.fold)
        sql = hint.using or hint.default or column.default
        if sql is None or column.name.casefold() in live:
            continue
        try:
            found = spelled(sql, case.names)
        except BadExpression:
            continue
        yield bool(found.columns or found.volatile)


def viewed(case: Case) -> bool:
    return any(case.root in v.columns for v in case.facts.views)


def feeds_generated(case: Case) -> bool:
    stays = {c.name.casefold() for c in case.wanted.table.columns}
    for column in case.live.columns:
        if column.generated and column.name.casefold() in stays:
            try:
                if case.root in spelled(column.generated, case.names).columns:
                    return True
            except BadExpression:
                return True
    return False


def referenced(case: Case) -> bool:
    return any(case.root in key.columns for key in case.facts.incoming)


def held(case: Case) -> bool:
    return case.root in case.facts.holders


def key_referenced(case: Case) -> bool:
    match case.change:
        case ChangePrimaryKey(old):
            gone = set(old)
        case DropConstraint(Unique(_, columns)):
            gone = set(columns)
        case _:
            return False
    renamed = {h.renamed_from: p[0] for p, h in case.wanted.hints.items() if h.renamed_from}
    return any({renamed.get(c, c) for c in k.columns} == gone for k in case.facts.incoming)


def key_grouped(case: Case) -> bool:
    return bool(case.facts.grouping)


def using(case: Case) -> bool:
    return case.hint.using is not None


def drops_key(case: Case) -> bool:
    return isinstance(case.change, ChangePrimaryKey) and not case.change.new


def unique(case: Case) -> bool:
    return isinstance(case.change, AddConstraint) and isinstance(case.change.constraint, Unique)


def in_place(old: Type, new: Type, indexed: bool) -> bool:
    """The type changes in the catalog alone (in a session whose time zone is UTC)."""
    match old, new:
        case String(length, False), String(wish, False):
            return wish is None or (length is not None and length <= wish)
        case Decimal(precision, scale), Decimal(wish_precision, wish_scale):
            return scale == wish_scale and precision <= wish_precision
        case Timestamp(zone, digits), Timestamp(wish_zone, wish_digits):
            return digits <= wish_digits and (zone == wish_zone or not indexed)
        case _:
            return False


def alters_in_place(case: Case) -> bool:
    change = case.modification
    return (
        isinstance(change, TypeChange)
        and in_place(change.old, change.new, case.facts.indexed(case.root))
        and not viewed(case)
        and not feeds_generated(case)
        and case.root not in case.facts.types
    )


def breaks_foreign_key(case: Case) -> bool:
    change = case.modification
    if not isinstance(change, TypeChange):
        return False
    linked = (*case.facts.incoming, *case.facts.outgoing)
    integers = isinstance(change.old, Integer) and isinstance(change.new, Integer)
    texts = isinstance(change.old, String) and isinstance(change.new, String)
    return not integers and not texts and any(case.root in key.columns for key in linked)


def numbered_otherwise(case: Case) -> bool:
    """A column that a sequence numbers becomes something else than an integer."""
    change = case.modification
    numbered = case.facts.numbered_by(case.root) is not None
    return numbered and isinstance(change, TypeChange) and not isinstance(change.new, Integer)


_REFERRED = "{refers} refers to it by a foreign key"
_FED = Row(feeds_generated, Rung.NEVER, "a generated column is computed from '{root}'")
_CATALOG = (Row(always, Rung.METADATA),)


def cells(engine: str, own: Mapping[str, tuple[Row, ...]]) -> dict[str, tuple[Row, ...]]:
    """The table of an engine of PostgreSQL's kind: what all of them do or refuse, then what is its own."""
    base: dict[str, tuple[Row, ...]] = {
        "add_column": (Row(placed, Rung.REWRITE, f"{engine} adds columns at the end only"),),
        "drop_column": (
            Row(viewed, Rung.NEVER, "a view reads '{root}': {views}"),
            Row(referenced, Rung.NEVER, _REFERRED),
            Row(held, Rung.NEVER, "{holder} needs '{root}'"),
            _FED,
        ),
        "rename": _CATALOG,
        "type": (
            Row(is_generated, Rung.NEVER, "'{root}' is generated: its expression gives the type"),
            _FED,
        ),
        "nullability": (Row(relaxes, Rung.METADATA),),
        "default": (
            Row(is_generated, Rung.NEVER, "'{root}' is generated and takes no default"),
            *_CATALOG,
        ),
        "comment": _CATALOG,
        "reorder_columns": (Row(always, Rung.REWRITE, f"{engine} cannot move a column"),),
        "change_property": _CATALOG,
    }
    return {kind: (*base.get(kind, ()), *own.get(kind, ())) for kind in (*base, *own)}


TABLE = cells(
    "PostgreSQL",
    {
        "add_column": (
            Row(generated, Rung.REWRITE, "PostgreSQL writes every row for a generated column"),
            Row(
                takes_a_name,
                Rung.REWRITE,
                "'{root}' takes the name of a column that is there while values are computed",
            ),
            Row(filled_by_rows, Rung.STEPS, "old rows get their value in batches"),
            Row(always, Rung.METADATA),
        ),
        "drop_column": _CATALOG,
        "type": (
            Row(
                breaks_foreign_key,
                Rung.NEVER,
                "'{root}' is part of a foreign key between two tables",
            ),
            Row(numbered_otherwise, Rung.NEVER, "a sequence numbers '{root}'"),
            Row(using, Rung.REWRITE, "every value of '{root}' is computed anew"),
            Row(alters_in_place, Rung.METADATA),
            Row(
                always, Rung.REWRITE, "PostgreSQL would write the table anew and shut everybody out"
            ),
        ),
        "nullability": (
            Row(fills_nulls, Rung.STEPS, "rows that are NULL get their value in batches"),
            Row(always, Rung.STEPS, "every row is looked at, while writers go on"),
        ),
        "change_primary_key": (
            Row(key_referenced, Rung.NEVER, _REFERRED),
            Row(key_grouped, Rung.NEVER, "{grouping} groups by the primary key"),
            Row(drops_key, Rung.METADATA),
            Row(always, Rung.STEPS, "the key's index is built while writers go on"),
        ),
        "add_constraint": (
            Row(unique, Rung.STEPS, "the key's index is built while writers go on"),
            Row(always, Rung.STEPS, "every row is looked at, while writers go on"),
        ),
        "drop_constraint": (
            Row(key_referenced, Rung.NEVER, _REFERRED),
            Row(always, Rung.METADATA),
        ),
    },
)
