"""What Iceberg does for each change of a live table: the rung, and why no cheaper one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from instar.backends.spark.expressions import references
from instar.backends.spark.iceberg_ddl import FORMAT_VERSION
from instar.backends.spark.iceberg_normalize import has_variant
from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangeClustering,
    ChangePartitioning,
    ChangePrimaryKey,
    ChangeProperty,
    CommentChange,
    CreateTable,
    DefaultChange,
    DropColumn,
    DropConstraint,
    Modification,
    ModifyColumn,
    Nullability,
    Rename,
    ReorderColumns,
    TypeChange,
)
from instar.core.matching import Fold, at_path, in_collection, in_map_key
from instar.core.plan import Capability, Rung
from instar.core.schema import Hint, Table, Wanted
from instar.core.types import (
    Decimal,
    Float,
    Integer,
    Path,
    Struct,
    Type,
    path_text,
    type_text,
)
from instar.expressions import BadExpression

METADATA = Capability(Rung.METADATA)
HISTORY = (
    "the table gets a new identity: its snapshots, tags and branches stay with the kept old table,"
    " streams start anew, and writers at work during the swap fail and must try again"
)

# The promotions that Iceberg's format does by metadata alone (v1 to v3, seen on 1.12).
WIDENS: dict[tuple[type, type], Callable[[Any, Any], bool]] = {
    (Integer, Integer): lambda o, n: (o.bits, n.bits) == (32, 64),
    (Float, Float): lambda o, n: (o.bits, n.bits) == (32, 64),
    (Decimal, Decimal): lambda o, n: o.scale == n.scale and o.precision <= n.precision,
}


FOLDERS = "catalog_of_folders"
"""In a live table's extras: its catalog is a folder (Hadoop) and cannot rename a table."""
_NO_SWAP = (
    "its catalog is a folder (Hadoop) and cannot rename a table, which the swap of a copy needs"
)


def rewrite(why: str) -> Capability:
    return Capability(Rung.REWRITE, why, (HISTORY,))


def capability(change: Change, live: Table, wanted: Wanted, fold: Fold) -> Capability:
    """The cheapest rung; `wanted` has been normalized."""
    found = _cheapest(change, live, wanted, fold)
    if found.rung is Rung.REWRITE and FOLDERS in live.extras:
        return Capability(Rung.NEVER, f"{found.why}, and {_NO_SWAP}")
    return found


def _cheapest(change: Change, live: Table, wanted: Wanted, fold: Fold) -> Capability:
    path: Path = getattr(change, "path", ())
    if in_map_key(wanted.table.columns, path, fold) or in_map_key(live.columns, path, fold):
        return rewrite(f"Iceberg changes nothing inside a map's key: '{path_text(path)}'")
    match change:
        case AddColumn():
            return _add(change, live, wanted, fold)
        case DropColumn():
            return _drop(change, wanted, fold)
        case ModifyColumn():
            hint = wanted.hint(change.path, fold)
            each = [_modify(m, change.path, hint) for m in change.modifications]
            return max(each, key=lambda c: c.rung.height, default=METADATA)
        case ChangeProperty(key, old, new):
            return _property(key, old, new)
        case AddConstraint():
            return Capability(Rung.NEVER, "Iceberg keeps no constraints")
        case (
            CreateTable()
            | ReorderColumns()
            | ChangePrimaryKey()
            | DropConstraint()
            | ChangeClustering()
            | ChangePartitioning()
        ):
            return METADATA
        case _:
            assert_never(change)


def _add(change: AddColumn, live: Table, wanted: Wanted, fold: Fold) -> Capability:
    shown = path_text(change.path)
    if not change.column.nullable:
        return rewrite(f"Iceberg cannot add the NOT NULL column '{shown}' to a table that is there")
    if has_variant(change.column.type):
        return rewrite(f"a table with the new VARIANT '{shown}' cannot be read before a commit")
    value = fill_of(wanted.hint(change.path, fold))
    if value is None:
        return METADATA
    if in_collection(wanted.table.columns, change.path, fold):
        return rewrite(f"'{shown}' lies inside an array or a map: UPDATE cannot fill it")
    if clash := mentioned(value) & _moving(change, live, wanted, fold):
        names = ", ".join(sorted(clash))
        return rewrite(f"the value of '{shown}' comes from columns that change names ({names})")
    return Capability(Rung.STEPS, f"the rows that are there take a value for '{shown}'")


def fill_of(hint: Hint) -> str | None:
    """What rows that are there get in a new column."""
    return hint.using or hint.default


def mentioned(expression: str) -> set[str]:
    """Every name in the expression, casefolded."""
    try:
        paths = references(expression)
    except BadExpression:
        # Said as a finding by itself; nothing will run.
        return set()
    return {part.casefold() for path in paths for part in path}


def _moving(change: AddColumn, live: Table, wanted: Wanted, fold: Fold) -> set[str]:
    """Names that mean another column (or none) once the renames are done."""
    top = {fold(c.name) for c in live.columns}
    moving = {fold(p[0]) for p, h in wanted.hints.items() if _renames(h, top, fold)}
    moving |= {fold(h.renamed_from) for h in wanted.hints.values() if h.renamed_from}
    return moving | ({fold(change.path[0])} & top)


def _renames(hint: Hint, top: set[str], fold: Fold) -> bool:
    return hint.renamed_from is not None and fold(hint.renamed_from) in top


def _drop(change: DropColumn, wanted: Wanted, fold: Fold) -> Capability:
    parent = at_path(wanted.table.columns, change.path[:-1], fold)
    if parent is None or not isinstance(parent.type, Struct):
        return METADATA
    if not parent.type.fields:
        return Capability(Rung.NEVER, f"'{path_text(change.path)}' is the last field of its struct")
    return METADATA


def _modify(modification: Modification, path: Path, hint: Hint) -> Capability:
    match modification:
        case Rename() | CommentChange() | DefaultChange():
            return METADATA
        case TypeChange(old, new):
            if hint.using is not None:
                return rewrite(f"'{path_text(path)}' is computed by _using")
            if widens(old, new):
                return METADATA
            return rewrite(f"Iceberg cannot turn {type_text(old)} into {type_text(new)} in place")
        case Nullability(_, nullable):
            if nullable:
                return METADATA
            return rewrite(f"Iceberg cannot set NOT NULL on '{path_text(path)}' of a table")
        case _:
            assert_never(modification)


def widens(old: Type, new: Type) -> bool:
    rule = WIDENS.get((type(old), type(new)))
    return rule is not None and rule(old, new)


def _property(key: str, old: str | None, new: str | None) -> Capability:
    if key != FORMAT_VERSION or new is None:
        return METADATA
    if old is not None and int(new) < int(old):
        return Capability(Rung.NEVER, f"format version {old} cannot go back to {new}")
    note = f"format version {new} cannot go back to {old}; older readers cannot read it"
    return Capability(Rung.METADATA, irreversible=(note,))
