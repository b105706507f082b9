"""How each value of the target comes out of the live row: by name, at every depth.

A backend renders it as expressions. Nested values are rebuilt field by field: no engine's struct cast
goes by name everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from instar.core.changes import (
    AddColumn,
    Change,
    ModifyColumn,
    Nullability,
    TypeChange,
    modification,
)
from instar.core.matching import Fold
from instar.core.schema import Hint, Table, Wanted
from instar.core.types import Array, Column, Map, Path, Struct, Type, bare


@dataclass(frozen=True, slots=True)
class Same:
    """The value goes over as it is."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A scalar that changes its type."""

    old: Type
    new: Type


@dataclass(frozen=True, slots=True)
class StructCarry:
    """A struct is NULL when the old one is; else it is built from these fields, in target order."""

    fields: tuple[FieldCarry, ...]


@dataclass(frozen=True, slots=True)
class ArrayCarry:
    element: Carry


@dataclass(frozen=True, slots=True)
class MapCarry:
    key: Carry
    value: Carry


Carry = Same | Converted | StructCarry | ArrayCarry | MapCarry


@dataclass(frozen=True, slots=True)
class FromOld:
    """From the live column or field of that name; NULLs take `fill` where one is given."""

    name: str
    carry: Carry
    fill: str | None = None


@dataclass(frozen=True, slots=True)
class FromExpression:
    """From a `_using` or `_default` expression over the old row."""

    sql: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """A new column without a value for old rows."""


Source = FromOld | FromExpression | Nothing


@dataclass(frozen=True, slots=True)
class FieldCarry:
    """A target column or field, and where its value comes from."""

    column: Column
    source: Source


Projection = tuple[FieldCarry, ...]


def from_old(field: FieldCarry) -> bool:
    """The value comes from the old row alone, without any expression of a person."""
    source = field.source
    return isinstance(source, FromOld) and source.fill is None and _carried(source.carry)


def _carried(carry: Carry) -> bool:
    match carry:
        case StructCarry(fields):
            return all(from_old(f) for f in fields)
        case ArrayCarry(element):
            return _carried(element)
        case MapCarry(key, value):
            return _carried(key) and _carried(value)
        case Same() | Converted():
            return True


def with_expressions(
    projection: Projection, chosen: Callable[[Path], bool], parent: Path = ()
) -> Projection:
    """The projection with the expressions at the chosen paths only; other values stay as they were."""
    return tuple(_chosen(field, chosen, (*parent, field.column.name)) for field in projection)


def _chosen(field: FieldCarry, chosen: Callable[[Path], bool], path: Path) -> FieldCarry:
    match field.source:
        case FromExpression() if not chosen(path):
            return replace(field, source=Nothing())
        case FromOld(name, carry, fill):
            kept = fill if chosen(path) else None
            return replace(
                field, source=FromOld(name, _inside(carry, chosen, field.column.type, path), kept)
            )
        case _:
            return field


def _inside(carry: Carry, chosen: Callable[[Path], bool], type_: Type, path: Path) -> Carry:
    match carry, type_:
        case StructCarry(fields), _:
            return StructCarry(with_expressions(fields, chosen, path))
        case ArrayCarry(element), Array(part):
            return ArrayCarry(_inside(element, chosen, part.type, (*path, part.name)))
        case MapCarry(key, value), Map(first, second):
            return MapCarry(
                _inside(key, chosen, first.type, (*path, first.name)),
                _inside(value, chosen, second.type, (*path, second.name)),
            )
        case _:
            return carry


def project(
    live: Table, target: Table, changes: tuple[Change, ...], wanted: Wanted, fold: Fold
) -> Projection:
    """The projection of live rows into the target, in target order."""
    origin = {c.path: c for c in changes if isinstance(c, ModifyColumn)}
    added = {c.path for c in changes if isinstance(c, AddColumn)}
    hints = {tuple(map(fold, p)): h for p, h in wanted.hints.items()}
    maker = _Maker(origin, added, hints, fold)
    return maker.fields(live.columns, target.columns, ())


@dataclass(frozen=True, slots=True)
class _Maker:
    origin: Mapping[Path, ModifyColumn]
    added: set[Path]
    hints: Mapping[Path, Hint]
    fold: Fold

    def fields(
        self, live: tuple[Column, ...], target: tuple[Column, ...], parent: Path
    ) -> Projection:
        by_name = {c.name: c for c in live}
        return tuple(
            FieldCarry(column, self.source(by_name, column, (*parent, column.name)))
            for column in target
        )

    def source(self, live: Mapping[str, Column], column: Column, path: Path) -> Source:
        hint = self.hints.get(tuple(map(self.fold, path)), Hint())
        change = self.origin.get(path)
        if path in self.added:
            value = hint.using or hint.default or column.default
            return FromExpression(value) if value is not None else Nothing()
        if hint.using is not None and change is not None and modification(change, TypeChange):
            return FromExpression(hint.using)
        old = live[change.old_path[-1] if change else column.name]
        required = change is not None and modification(change, Nullability) and not column.nullable
        fill = hint.default if required else None
        return FromOld(old.name, self.carry(old.type, column.type, path), fill)

    def carry(self, old: Type, new: Type, path: Path) -> Carry:
        match old, new:
            case Struct(old_fields), Struct(new_fields):
                fields = self.fields(old_fields, new_fields, path)
                same = [f.name for f in old_fields] == [f.name for f in new_fields]
                if same and all(is_same(f) for f in fields):
                    return Same()
                return StructCarry(fields)
            case Array(old_element), Array(new_element):
                element = self.carry(old_element.type, new_element.type, (*path, new_element.name))
                return Same() if element == Same() else ArrayCarry(element)
            case Map(old_key, old_value), Map(new_key, new_value):
                key = self.carry(old_key.type, new_key.type, (*path, new_key.name))
                value = self.carry(old_value.type, new_value.type, (*path, new_value.name))
                return Same() if key == value == Same() else MapCarry(key, value)
            case _:
                return Same() if bare(old) == bare(new) else Converted(old, new)


def is_same(field: FieldCarry) -> bool:
    """The value stays exactly as it is under its own name."""
    return field.source == FromOld(field.column.name, Same())
