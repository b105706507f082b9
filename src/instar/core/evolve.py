"""What a table becomes when changes are carried out: the target that apply must reach."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import assert_never

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
    ModifyColumn,
    Nullability,
    Rename,
    ReorderColumns,
    TypeChange,
)
from instar.core.renaming import renamed_sql
from instar.core.schema import Table, Unique
from instar.core.types import Column, Path, children, with_children


@dataclass(slots=True)
class _Level:
    """What happens to the children of one parent."""

    drops: set[str] = field(default_factory=set)
    changed: dict[str, ModifyColumn] = field(default_factory=dict)
    adds: list[AddColumn] = field(default_factory=list)
    order: tuple[str, ...] | None = None


def evolve(live: Table | None, changes: tuple[Change, ...]) -> Table:
    """The table after all the changes, taken as one step (names may swap)."""
    created = next((c for c in changes if isinstance(c, CreateTable)), None)
    if created is not None:
        return created.table
    assert live is not None, "only a CreateTable starts from nothing"
    levels: defaultdict[Path, _Level] = defaultdict(_Level)
    for change in changes:
        match change:
            case DropColumn(path, column):
                levels[path[:-1]].drops.add(column.name)
            case ModifyColumn(path, _, old, _, _):
                levels[path[:-1]].changed[old.name] = change
            case AddColumn(path):
                levels[path[:-1]].adds.append(change)
            case ReorderColumns(path, _, new):
                levels[path].order = new
            case _:
                pass
    table = _keys_follow(live, levels[()])
    table = replace(table, columns=_evolved(live.columns, (), levels))
    for change in changes:
        table = _table_level(table, change)
    return table


def _evolved(
    columns: tuple[Column, ...], parent: Path, levels: defaultdict[Path, _Level]
) -> tuple[Column, ...]:
    level = levels.get(parent) or _Level()
    result: list[Column] = []
    for column in columns:
        if column.name in level.drops:
            continue
        column = _modified(column, level.changed.get(column.name))
        inner = _evolved(children(column.type), (*parent, column.name), levels)
        result.append(replace(column, type=with_children(column.type, inner)))
    if level.order is not None:
        result = reordered(result, level.order)
    for add in level.adds:
        result.insert(_place(result, add.after), add.column)
    return tuple(result)


def reordered(columns: list[Column], order: tuple[str, ...]) -> list[Column]:
    """The named columns take each other's places; the others stay where they are."""
    by_name = {c.name: c for c in columns}
    wish = iter(name for name in order if name in by_name)
    return [by_name[next(wish)] if c.name in order else c for c in columns]


def _place(columns: list[Column], after: str | None) -> int:
    if after == FIRST:
        return 0
    names = [c.name for c in columns]
    return names.index(after) + 1 if after in names else len(columns)


def _modified(column: Column, change: ModifyColumn | None) -> Column:
    for modification in change.modifications if change else ():
        match modification:
            case Rename(_, new):
                column = replace(column, name=new)
            case TypeChange(_, new_type):
                column = replace(column, type=new_type)
            case Nullability(_, nullable):
                column = replace(column, nullable=nullable)
            case DefaultChange(_, default):
                column = replace(column, default=default)
            case CommentChange(_, comment):
                column = replace(column, comment=comment)
            case _:
                assert_never(modification)
    return column


def _keys_follow(table: Table, level: _Level) -> Table:
    """Keys, constraints, clustering and partitions name a renamed column by its new name."""
    new = {old: change.path[-1] for old, change in level.changed.items()}

    def now(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new.get(n, n) for n in names)

    return replace(
        table,
        primary_key=now(table.primary_key),
        cluster_by=now(table.cluster_by),
        partition_by=now(table.partition_by),
        constraints=tuple(
            replace(c, columns=now(c.columns))
            if isinstance(c, Unique)
            else replace(c, expression=renamed_sql(c.expression, new))
            for c in table.constraints
        ),
    )


def _table_level(table: Table, change: Change) -> Table:
    match change:
        case ChangePrimaryKey(_, new):
            return replace(table, primary_key=new)
        case AddConstraint(constraint):
            return replace(table, constraints=(*table.constraints, constraint))
        case DropConstraint(constraint):
            left = tuple(c for c in table.constraints if c.name != constraint.name)
            return replace(table, constraints=left)
        case ChangeClustering(_, new):
            return replace(table, cluster_by=new)
        case ChangePartitioning(_, new):
            return replace(table, partition_by=new)
        case ChangeProperty(key, _, new):
            return _with_property(table, key, new)
        case _:
            return table


def _with_property(table: Table, key: str, value: str | None) -> Table:
    if key == "comment":
        return replace(table, comment=value)
    if key == "change_tracking":
        return replace(table, change_tracking=value == "true")
    properties = {k: v for k, v in table.properties.items() if k != key}
    if value is not None:
        properties[key] = value
    return replace(table, properties=MappingProxyType(properties))
