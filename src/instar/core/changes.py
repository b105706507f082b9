"""Changes as data: one frozen value per kind, holding what was and what is wanted.

A path names a place at any depth: `("profile", "address", "zip")`, `("items", "element", "score")`.
A renamed column is addressed by its new name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from instar.core.schema import Constraint, Table
from instar.core.types import Column, Path, Type

FIRST = ""
"""The `after` of a column that comes first."""


@dataclass(frozen=True, slots=True)
class Rename:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class TypeChange:
    old: Type
    new: Type


@dataclass(frozen=True, slots=True)
class Nullability:
    old: bool
    new: bool


@dataclass(frozen=True, slots=True)
class DefaultChange:
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class CommentChange:
    old: str | None
    new: str | None


Modification = Rename | TypeChange | Nullability | DefaultChange | CommentChange
_M = TypeVar("_M", Rename, TypeChange, Nullability, DefaultChange, CommentChange)


@dataclass(frozen=True, slots=True)
class CreateTable:
    table: Table


@dataclass(frozen=True, slots=True)
class AddColumn:
    """`after`: the wanted predecessor (FIRST for the first place); None when it comes last."""

    path: Path
    column: Column
    after: str | None = None


@dataclass(frozen=True, slots=True)
class DropColumn:
    path: Path
    column: Column


@dataclass(frozen=True, slots=True)
class ModifyColumn:
    """All modifications of one column. `old_path` is where the live table has it."""

    path: Path
    old_path: Path
    old: Column
    new: Column
    modifications: tuple[Modification, ...]


@dataclass(frozen=True, slots=True)
class ReorderColumns:
    """`old` and `new` order of the columns that stay, under `path` (empty: the table)."""

    path: Path
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangePrimaryKey:
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddConstraint:
    constraint: Constraint


@dataclass(frozen=True, slots=True)
class DropConstraint:
    constraint: Constraint


@dataclass(frozen=True, slots=True)
class ChangeClustering:
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangePartitioning:
    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeProperty:
    """A table property; None means absent. `comment` and `change_tracking` come this way too."""

    key: str
    old: str | None
    new: str | None


Change = (
    CreateTable
    | AddColumn
    | DropColumn
    | ModifyColumn
    | ReorderColumns
    | ChangePrimaryKey
    | AddConstraint
    | DropConstraint
    | ChangeClustering
    | ChangePartitioning
    | ChangeProperty
)

KINDS: dict[type, str] = {
    CreateTable: "create_table",
    AddColumn: "add_column",
    DropColumn: "drop_column",
    ModifyColumn: "modify_column",
    ReorderColumns: "reorder_columns",
    ChangePrimaryKey: "change_primary_key",
    AddConstraint: "add_constraint",
    DropConstraint: "drop_constraint",
    ChangeClustering: "change_clustering",
    ChangePartitioning: "change_partitioning",
    ChangeProperty: "change_property",
    Rename: "rename",
    TypeChange: "type",
    Nullability: "nullability",
    DefaultChange: "default",
    CommentChange: "comment",
}


def kind(value: Change | Modification) -> str:
    return KINDS[type(value)]


def modification(change: ModifyColumn, wanted: type[_M]) -> _M | None:
    """The modification of that kind, if the change has one."""
    return next((m for m in change.modifications if isinstance(m, wanted)), None)


def declared_key(change: Change) -> str:
    """The key of a manifest that a change follows from, where it is not about one column."""
    match change:
        case ChangePrimaryKey():
            return "primary_key"
        case AddConstraint(constraint) | DropConstraint(constraint):
            return f"constraints.{constraint.name}"
        case ChangeClustering():
            return "cluster_by"
        case ChangePartitioning():
            return "partition_by"
        case ChangeProperty(key):
            return key if key in ("comment", "change_tracking") else f"properties.{key}"
        case ReorderColumns() | DropColumn():
            return "columns"
        case _:
            return ""
