"""Changes in the notation of the case files, one line each."""

from __future__ import annotations

from collections.abc import Iterator

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
from instar.core.schema import Check, Constraint
from instar.core.types import Column, name_text, path_text, type_text


def lines(changes: tuple[Change, ...]) -> tuple[str, ...]:
    return tuple(_line(change) for change in changes)


def _line(change: Change) -> str:
    match change:
        case CreateTable(table):
            return f"create {table.name}"
        case AddColumn(path, column, after):
            place = (
                ""
                if after is None
                else " first"
                if after == FIRST
                else f" after {name_text(after)}"
            )
            return f"+ {path_text(path)} {_column(column)}{place}"
        case DropColumn(path):
            return f"- {path_text(path)}"
        case ModifyColumn(path, _, _, _, modifications):
            return f"~ {path_text(path)}: " + ", ".join(map(_modification, modifications))
        case ReorderColumns(path, old, new):
            where = f" of {path_text(path)}" if path else ""
            return f"order{where}: {_names(old)} → {_names(new)}"
        case ChangePrimaryKey(old, new):
            return f"primary key: ({_names(old)}) → ({_names(new)})"
        case ChangeClustering(old, new):
            return f"cluster by: ({_names(old)}) → ({_names(new)})"
        case ChangePartitioning(old, new):
            return f"partition by: ({_names(old)}) → ({_names(new)})"
        case AddConstraint(constraint):
            return f"+ {_constraint(constraint)}"
        case DropConstraint(constraint):
            return f"- {_constraint(constraint)}"
        case ChangeProperty(key, old_value, new_value):
            return f"property {key}: {old_value or 'none'} → {new_value or 'none'}"


def _column(column: Column) -> str:
    said: Iterator[str] = filter(
        None,
        (
            type_text(column.type),
            "" if column.nullable else "NOT NULL",
            "" if column.default is None else f"DEFAULT {column.default}",
        ),
    )
    return " ".join(said)


def _modification(modification: Modification) -> str:
    match modification:
        case Rename(old, _):
            return f"renamed from {name_text(old)}"
        case TypeChange(old_type, new_type):
            return f"{type_text(old_type)} → {type_text(new_type)}"
        case Nullability(_, nullable):
            return "may be NULL" if nullable else "NOT NULL"
        case DefaultChange(before, after):
            return f"default {before or 'none'} → {after or 'none'}"
        case CommentChange(before, after):
            return f"comment {_quoted(before)} → {_quoted(after)}"


def _quoted(text: str | None) -> str:
    return "none" if text is None else f"'{text}'"


def _constraint(constraint: Constraint) -> str:
    if isinstance(constraint, Check):
        return f"check {constraint.name}: {constraint.expression}"
    return f"unique {constraint.name}: ({_names(constraint.columns)})"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(name_text, names))
