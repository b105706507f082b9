"""What PostgreSQL does for one change, as a table: the first row that fits decides.

Every row was run on the engine. What needs no look at the rows takes an ACCESS EXCLUSIVE lock for a moment;
what looks at rows is done under locks that let writers pass; what would write every row under a lock that
shuts everybody out is done by recreation instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from instar.backends.postgres.facts import Facts, facts_of
from instar.backends.postgres.spelling import BadExpression, Expression, spelled
from instar.core.changes import (
    AddColumn,
    AddConstraint,
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
from instar.core.plan import Capability, Rung
from instar.core.schema import Hint, Table, Unique, Wanted
from instar.core.types import Decimal, Integer, String, Timestamp, Type, path_text


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
                return path[0]
            case _:
                return ""

    @property
    def nested(self) -> bool:
        path = getattr(self.change, "path", ())
        return len(path) > (0 if isinstance(self.change, ReorderColumns) else 1)

    @property
    def hint(self) -> Hint:
        return self.wanted.hint(getattr(self.change, "path", ()))

    def fills(self) -> Iterator[Expression]:
        """The expressions that give old rows their value."""
        default = self.change.column.default if isinstance(self.change, AddColumn) else None
        names = tuple(c.name for c in self.live.columns)
        chosen = self.hint.using or self.hint.default or default
        if chosen is not None:
            try:
                yield spelled(chosen, names)
            except BadExpression:
                return


When = Callable[[Case], bool]


def _always(_case: Case) -> bool:
    return True


def _generated(case: Case) -> bool:
    return isinstance(case.change, AddColumn) and case.change.column.generated is not None


def _placed(case: Case) -> bool:
    return isinstance(case.change, AddColumn) and case.change.after is not None


def _filled_by_rows(case: Case) -> bool:
    """The value of a new column differs from row to row."""
    return any(e.columns or e.volatile for e in case.fills())


def _takes_a_name(case: Case) -> bool:
    live = {c.name.casefold() for c in case.live.columns}
    return _filled_by_rows(case) and case.root.casefold() in live


def _viewed(case: Case) -> bool:
    return any(case.root in v.columns for v in case.facts.views)


def _feeds_generated(case: Case) -> bool:
    names = tuple(c.name for c in case.live.columns)
    stays = {c.name.casefold() for c in case.wanted.table.columns}
    for column in case.live.columns:
        if column.generated and column.name.casefold() in stays:
            try:
                if case.root in spelled(column.generated, names).columns:
                    return True
            except BadExpression:
                return True
    return False


def _is_generated(case: Case) -> bool:
    column = case.live.column((case.root,))
    return column is not None and column.generated is not None


def _referenced(case: Case) -> bool:
    return any(case.root in key.columns for key in case.facts.incoming)


def _key_referenced(case: Case) -> bool:
    match case.change:
        case ChangePrimaryKey(old):
            gone = set(old)
        case DropConstraint(Unique(_, columns)):
            gone = set(columns)
        case _:
            return False
    renamed = {h.renamed_from: p[0] for p, h in case.wanted.hints.items() if h.renamed_from}
    return any({renamed.get(c, c) for c in k.columns} == gone for k in case.facts.incoming)


def _using(case: Case) -> bool:
    return case.hint.using is not None


def _relaxes(case: Case) -> bool:
    return isinstance(case.modification, Nullability) and case.modification.new


def _null_fill(case: Case) -> bool:
    return isinstance(case.modification, Nullability) and case.hint.default is not None


def _drops_key(case: Case) -> bool:
    return isinstance(case.change, ChangePrimaryKey) and not case.change.new


def _unique(case: Case) -> bool:
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


def _in_place(case: Case) -> bool:
    change = case.modification
    return (
        isinstance(change, TypeChange)
        and in_place(change.old, change.new, case.facts.indexed(case.root))
        and not _viewed(case)
        and not _feeds_generated(case)
        and case.root not in case.facts.types
    )


def _breaks_foreign_key(case: Case) -> bool:
    change = case.modification
    if not isinstance(change, TypeChange):
        return False
    linked = (*case.facts.incoming, *case.facts.outgoing)
    integers = isinstance(change.old, Integer) and isinstance(change.new, Integer)
    texts = isinstance(change.old, String) and isinstance(change.new, String)
    return not integers and not texts and any(case.root in key.columns for key in linked)


@dataclass(frozen=True, slots=True)
class Row:
    """`why` may name {root}, the column, and {refers}, who points at it."""

    when: When
    rung: Rung
    why: str = ""


def _numbered_otherwise(case: Case) -> bool:
    """A column that a sequence numbers becomes something else than an integer."""
    change = case.modification
    numbered = any(s.column == case.root for s in case.facts.sequences)
    return numbered and isinstance(change, TypeChange) and not isinstance(change.new, Integer)


_REFERRED = "{refers} refers to it by a foreign key"
_RETYPED = (
    Row(_breaks_foreign_key, Rung.NEVER, "'{root}' is part of a foreign key between two tables"),
    Row(_numbered_otherwise, Rung.NEVER, "a sequence numbers '{root}'"),
    Row(_is_generated, Rung.NEVER, "'{root}' is generated: its expression gives the type"),
    Row(_feeds_generated, Rung.NEVER, "a generated column is computed from '{root}'"),
    Row(_using, Rung.REWRITE, "every value of '{root}' is computed anew"),
    Row(_in_place, Rung.METADATA),
    Row(_always, Rung.REWRITE, "PostgreSQL would write the table anew and shut everybody out"),
)

TABLE: dict[str, tuple[Row, ...]] = {
    "add_column": (
        Row(_generated, Rung.REWRITE, "PostgreSQL writes every row for a generated column"),
        Row(_placed, Rung.REWRITE, "PostgreSQL adds columns at the end only"),
        Row(
            _takes_a_name, Rung.REWRITE, "'{root}' takes the name of a column that its value reads"
        ),
        Row(_filled_by_rows, Rung.STEPS, "old rows get their value in batches"),
        Row(_always, Rung.METADATA),
    ),
    "drop_column": (
        Row(_viewed, Rung.NEVER, "a view reads '{root}': {views}"),
        Row(_referenced, Rung.NEVER, _REFERRED),
        Row(_feeds_generated, Rung.NEVER, "a generated column is computed from '{root}'"),
        Row(_always, Rung.METADATA),
    ),
    "rename": (Row(_always, Rung.METADATA),),
    "type": _RETYPED,
    "nested": _RETYPED,
    "nullability": (
        Row(_relaxes, Rung.METADATA),
        Row(_null_fill, Rung.STEPS, "rows that are NULL get their value in batches"),
        Row(_always, Rung.STEPS, "every row is looked at, while writers go on"),
    ),
    "default": (Row(_always, Rung.METADATA),),
    "comment": (Row(_always, Rung.METADATA),),
    "reorder_columns": (Row(_always, Rung.REWRITE, "PostgreSQL cannot move a column"),),
    "change_primary_key": (
        Row(_key_referenced, Rung.NEVER, _REFERRED),
        Row(_drops_key, Rung.METADATA),
        Row(_always, Rung.STEPS, "the key's index is built while writers go on"),
    ),
    "add_constraint": (
        Row(_unique, Rung.STEPS, "the key's index is built while writers go on"),
        Row(_always, Rung.STEPS, "every row is looked at, while writers go on"),
    ),
    "drop_constraint": (
        Row(_key_referenced, Rung.NEVER, _REFERRED),
        Row(_always, Rung.METADATA),
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
    return max((_decide(case) for case in cases), key=lambda c: c.rung.height)


def _decide(case: Case) -> Capability:
    key = _BY_MODIFICATION[type(case.modification)] if case.modification else kind(case.change)
    rows = TABLE["nested" if case.nested and key == "type" else key]
    row = next(row for row in rows if row.when(case))
    why = _words(row.why, case)
    if row.rung is Rung.REWRITE and case.facts.blockers:
        bound = "; ".join(case.facts.blockers)
        return Capability(Rung.NEVER, f"{why}; a recreation is not possible: {bound}")
    return Capability(row.rung, why, tuple(_lost(case)))


def _words(why: str, case: Case) -> str:
    refers = ", ".join(dict.fromkeys(key.table for key in case.facts.incoming))
    views = ", ".join(view.name for view in case.facts.views)
    return why.format(root=case.root, refers=refers, views=views)


def _lost(case: Case) -> Iterator[str]:
    match case.change:
        case DropColumn(path):
            yield f"the values of '{path_text(path)}' go"
            for index in case.facts.indexes:
                if path[0] in index.columns:
                    yield f"the index {index.name} goes with '{path_text(path)}'"
        case _:
            return
