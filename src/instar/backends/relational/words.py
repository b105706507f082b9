"""What a step does, for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangePrimaryKey,
    ChangeProperty,
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
)
from instar.core.schema import TableName
from instar.core.types import path_text, type_text


def title(changes: Iterable[Change]) -> str:
    return "; ".join(part for change in changes for part in _said(change))


def _said(change: Change) -> Iterator[str]:
    match change:
        case AddColumn(path):
            yield f"add column {path_text(path)}"
        case DropColumn(path):
            yield f"drop column {path_text(path)}"
        case ModifyColumn(path, _, _, _, modifications):
            yield from (_modified(path_text(path), m) for m in modifications)
        case ReorderColumns(path):
            yield f"reorder the fields of {path_text(path)}" if path else "reorder columns"
        case ChangePrimaryKey(_, new):
            yield f"set primary key ({', '.join(new)})" if new else "drop the primary key"
        case AddConstraint(constraint):
            yield f"add constraint {constraint.name}"
        case DropConstraint(constraint):
            yield f"drop constraint {constraint.name}"
        case ChangeProperty(key):
            yield f"set {key}"
        case _:
            yield "change the table"


def _modified(name: str, modification: Modification) -> str:
    match modification:
        case Rename(old, _):
            return f"rename {old} to {name}"
        case TypeChange(old_type, new_type):
            return f"change {name} from {type_text(old_type)} to {type_text(new_type)}"
        case Nullability(_, nullable):
            return f"{'allow NULL in' if nullable else 'require'} {name}"
        case DefaultChange(_, new):
            return f"drop the default of {name}" if new is None else f"set the default of {name}"
        case CommentChange():
            return f"comment on {name}"


def losses(changes: Iterable[Change]) -> tuple[str, ...]:
    return tuple(path_text(c.path) for c in changes if isinstance(c, DropColumn))


def copied(name: TableName, kept_as: str) -> str:
    """What a rewrite does, as the beginning of its question."""
    return f"copies every row of {name} into a new table and swaps it in; the old one is kept as {kept_as}"
