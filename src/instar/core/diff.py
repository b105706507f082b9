"""One recursive comparison of a live table with a wanted one; engine-blind.

What is wanted has been normalized by the backend before it comes here. Parents in a path are named as
they will be; the last part of a dropped path is the live name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from instar.core.changes import (
    FIRST,
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
from instar.core.matching import DoneRenames, Fold, Hints, folded, match_columns
from instar.core.renaming import renamed_sql
from instar.core.schema import Check, Constraint, Table, Unique, Wanted
from instar.core.types import Array, Column, Map, Path, Struct, bare

Renames = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Walk:
    hints: Hints
    fold: Fold
    done: DoneRenames


def diff(
    live: Table | None, wanted: Wanted, fold: Fold = str.casefold, done: DoneRenames = frozenset()
) -> tuple[Change, ...]:
    """Every change that leads from the live table to the wanted one."""
    if live is None:
        return (CreateTable(wanted.table),)
    hints = {folded(path, fold): hint for path, hint in wanted.hints.items()}
    walk = _Walk(hints, fold, done)
    columns = tuple(_columns(live.columns, wanted.table.columns, (), (), walk))
    renames = {
        c.old_path[0]: c.path[0]
        for c in columns
        if isinstance(c, ModifyColumn) and len(c.path) == 1
    }
    table = _spelled(wanted.table, live, columns, fold)
    return columns + tuple(_table_level(live, table, renames, fold))


def _spelled(table: Table, live: Table, columns: tuple[Change, ...], fold: Fold) -> Table:
    """The wanted table with its keys spelled as the columns will be."""
    if not (table.primary_key or table.cluster_by or table.partition_by or table.constraints):
        return table
    renamed = {c.path[0]: c.old_path[0] for c in columns if isinstance(c, ModifyColumn)}
    kept = {fold(c.name): c.name for c in live.columns if c.name not in renamed.values()}
    new = {fold(c.name): c.name for c in table.columns}
    spelling = new | kept | {fold(name): name for name in renamed}

    def spelled(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(spelling.get(fold(name), name) for name in names)

    return replace(
        table,
        primary_key=spelled(table.primary_key),
        cluster_by=spelled(table.cluster_by),
        partition_by=spelled(table.partition_by),
        constraints=tuple(
            replace(c, columns=spelled(c.columns)) if isinstance(c, Unique) else c
            for c in table.constraints
        ),
    )


def _columns(
    live: tuple[Column, ...],
    wanted: tuple[Column, ...],
    parent: Path,
    old_parent: Path,
    walk: _Walk,
) -> Iterator[Change]:
    if live == wanted and not walk.hints:
        return
    matched = match_columns(
        live, wanted, parent=parent, hints=walk.hints, fold=walk.fold, done=walk.done
    )
    for column in matched.dropped:
        yield DropColumn((*parent, column.name), column)
    for old, new in matched.pairs:
        yield from _column(old, new, (*parent, new.name), (*old_parent, old.name), walk)
    added, paired = {c.name for c in matched.added}, (new.name for _, new in matched.pairs)
    order = [c.name if c.name in added else next(paired) for c in wanted]
    for column in matched.added:
        place = order.index(column.name)
        after = None if place == len(order) - 1 else order[place - 1] if place else FIRST
        yield AddColumn((*parent, column.name), column, after)
    new_name = {old.name: new.name for old, new in matched.pairs}
    was = tuple(new_name[c.name] for c in live if c.name in new_name)
    wish = tuple(new.name for _, new in matched.pairs)
    if was != wish:
        yield ReorderColumns(parent, was, wish)


def _column(old: Column, new: Column, path: Path, old_path: Path, walk: _Walk) -> Iterator[Change]:
    hint = walk.hints.get(folded(path, walk.fold))
    computed = hint is not None and hint.using is not None and bare(old.type) != bare(new.type)
    mods = tuple(_modifications(old, new, whole=computed))
    if mods:
        yield ModifyColumn(path, old_path, old, new, mods)
    if computed:
        return
    match old.type, new.type:
        case Struct(old_fields), Struct(new_fields):
            yield from _columns(old_fields, new_fields, path, old_path, walk)
        case Array(old_element), Array(new_element):
            yield from _part(old_element, new_element, path, old_path, walk)
        case Map(old_key, old_value), Map(new_key, new_value):
            yield from _part(old_key, new_key, path, old_path, walk)
            yield from _part(old_value, new_value, path, old_path, walk)
        case _:
            return


def _part(
    old: Column, new: Column, parent: Path, old_parent: Path, walk: _Walk
) -> Iterator[Change]:
    return _column(old, new, (*parent, new.name), (*old_parent, old.name), walk)


def _modifications(old: Column, new: Column, *, whole: bool) -> Iterator[Modification]:
    """`whole`: a nested value is computed anew by `_using`, so what is inside it is not compared."""
    if old.name != new.name:
        yield Rename(old.name, new.name)
    nested = type(old.type) is type(new.type) and isinstance(old.type, Struct | Array | Map)
    if (whole or not nested) and bare(old.type) != bare(new.type):
        yield TypeChange(old.type, new.type)
    if old.nullable != new.nullable:
        yield Nullability(old.nullable, new.nullable)
    if old.default != new.default:
        yield DefaultChange(old.default, new.default)
    if new.comment is not None and (old.comment or "") != new.comment:
        yield CommentChange(old.comment, new.comment or None)


def _table_level(live: Table, wanted: Table, renames: Renames, fold: Fold) -> Iterator[Change]:
    def now(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(renames.get(n, n) for n in names)

    def same(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
        return tuple(map(fold, a)) == tuple(map(fold, b))

    if not same(now(live.primary_key), wanted.primary_key):
        yield ChangePrimaryKey(now(live.primary_key), wanted.primary_key)
    yield from _constraints(live, wanted, renames, fold)
    if not same(now(live.cluster_by), wanted.cluster_by):
        yield ChangeClustering(now(live.cluster_by), wanted.cluster_by)
    if not same(now(live.partition_by), wanted.partition_by):
        yield ChangePartitioning(now(live.partition_by), wanted.partition_by)
    for key, value in wanted.properties.items():
        if live.properties.get(key) != value:
            yield ChangeProperty(key, live.properties.get(key), value)
    if wanted.comment is not None and (live.comment or "") != wanted.comment:
        yield ChangeProperty("comment", live.comment, wanted.comment or None)
    if wanted.change_tracking is not None and wanted.change_tracking != bool(live.change_tracking):
        yield ChangeProperty(
            "change_tracking", _flag(live.change_tracking), _flag(wanted.change_tracking)
        )


def _flag(value: bool | None) -> str:
    return "true" if value else "false"


def _constraints(live: Table, wanted: Table, renames: Renames, fold: Fold) -> Iterator[Change]:
    """Matched by what they say. What goes comes first: a new one may take the old one's name."""
    there = {_says(_renamed(c, renames), fold): c for c in live.constraints}
    wish = {_says(c, fold): c for c in wanted.constraints}
    yield from (DropConstraint(c) for says, c in there.items() if says not in wish)
    yield from (AddConstraint(c) for says, c in wish.items() if says not in there)


def _renamed(constraint: Constraint, renames: Renames) -> Constraint:
    if isinstance(constraint, Unique):
        return replace(constraint, columns=tuple(renames.get(c, c) for c in constraint.columns))
    return replace(constraint, expression=renamed_sql(constraint.expression, renames))


def _says(constraint: Constraint, fold: Fold) -> tuple[str, ...]:
    match constraint:
        case Check(_, expression):
            return ("check", expression)
        case Unique(_, columns):
            return ("unique", *sorted(map(fold, columns)))
