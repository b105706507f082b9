"""What Iceberg keeps of a wanted table, and a finding for everything it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from instar.backends.spark.iceberg_metadata import without_implied
from instar.backends.spark.iceberg_transforms import parse_sort, parse_transform
from instar.backends.spark.normalizing import Normalizer
from instar.backends.spark.types import kept_scalar
from instar.core.findings import Severity
from instar.core.matching import Fold, at_path
from instar.core.schema import Table, Wanted
from instar.core.types import (
    ELEMENT,
    KEY,
    VALUE,
    Array,
    Column,
    Integer,
    Interval,
    Map,
    Path,
    String,
    Struct,
    Type,
    Variant,
    children,
    path_text,
    type_text,
    walk,
    with_children,
)

_PARTS = (ELEMENT, KEY, VALUE)


class IcebergNormalizer(Normalizer):
    def __init__(self, wanted: Wanted, live: Table | None, fold: Fold) -> None:
        super().__init__(wanted, live, fold)
        self.version = int(_version(wanted.table, live))

    def table(self) -> Wanted:
        table = self.wanted.table
        columns = tuple(self._column(c, (c.name,)) for c in table.columns)
        self.unenforced("Iceberg")
        spelled = self.spellings(columns)
        named = tuple(replace(c, name=spelled[self.fold(c.name)]) for c in columns)
        kept = replace(
            table,
            columns=columns,
            format="iceberg",
            constraints=(),
            change_tracking=None,
            properties=MappingProxyType(without_implied(self.settable(), bool(table.cluster_by))),
            primary_key=tuple(spelled.get(self.fold(k), k) for k in table.primary_key),
            partition_by=tuple(sorted(self._partitions(table, named))),
            cluster_by=tuple(self._order(table, named)),
        )
        return replace(self.wanted, table=kept, hints=self.hints)

    def _column(self, column: Column, path: Path) -> Column:
        part = len(path) > 1 and column.name in _PARTS and not self._is_field(path)
        if column.default is not None:
            self._fill(path, column.default, required=not column.nullable)
        if column.generated is not None:
            self.say("F604", f"'{path_text(path)}' cannot be a generated column", path)
        return replace(
            column,
            type=self._type(column.type, path),
            nullable=self._part_nullable(column, path) if part else column.nullable,
            comment=None if part else column.comment,
            default=None,
            generated=None,
        )

    def _is_field(self, path: Path) -> bool:
        parent = self.wanted.table.column(path[:-1])
        return parent is not None and isinstance(parent.type, Struct)

    def _part_nullable(self, column: Column, path: Path) -> bool:
        """No DDL of Spark can say that elements are never NULL: what is live stays."""
        if column.name == KEY:
            return False
        live = at_path(self.live.columns, path, self.fold) if self.live is not None else None
        return live.nullable if live is not None else True

    def _fill(self, path: Path, default: str, *, required: bool) -> None:
        words = f"'{path_text(path)}' keeps no default: Spark cannot set one on Iceberg"
        there = at_path(self.live.columns, path, self.fold) if self.live is not None else None
        takes = there is None or (required and there.nullable)
        more = "; rows that are there take it, new rows do not" if self.live and takes else ""
        self.say("F604", words + more, path)
        self.fill_once(path, default)

    def _type(self, type_: Type, path: Path) -> Type:
        match type_:
            case Struct(()):
                self.never(f"'{path_text(path)}' is a struct without fields", path)
                return type_
            case Struct() | Array() | Map():
                inner = tuple(self._column(c, (*path, c.name)) for c in children(type_))
                return with_children(type_, inner)
            case Interval():
                self.never(f"'{path_text(path)}': Iceberg has no {type_text(type_)}", path)
                return type_
            case Variant() if self.version < 3:
                self.never(
                    f"'{path_text(path)}': VARIANT needs the table property 'format-version' = '3'",
                    path,
                )
                return type_
            case _:
                return self._scalar(type_, path)

    def _scalar(self, type_: Type, path: Path) -> Type:
        match type_:
            case Integer(bits) if bits < 32:
                kept: Type = Integer(32)
            case String(length) if length is not None:
                kept = String()
            case Struct() | Array() | Map():
                raise AssertionError("not a scalar")
            case _:
                kept = kept_scalar(type_)
        if kept != type_:
            limit = isinstance(type_, Integer | String)
            note = "; its limit is not checked" if limit else ""
            words = f"'{path_text(path)}' {type_text(type_)} is kept as {type_text(kept)}{note}"
            self.say("F602", words, path, Severity.WARNING if limit else Severity.INFO)
        return kept

    def _partitions(self, table: Table, columns: tuple[Column, ...]) -> Iterator[str]:
        for entry in table.partition_by:
            made = parse_transform(entry, columns, self.fold)
            if made is None:
                self.never(f"'{entry}' is no partition of these columns")
            else:
                yield made.text()

    def _order(self, table: Table, columns: tuple[Column, ...]) -> Iterator[str]:
        for entry in table.cluster_by:
            made = parse_sort(entry, columns, self.fold)
            if made is None:
                self.never(f"'{entry}' is no sort order of these columns")
            else:
                yield made.text()


def _version(wanted: Table, live: Table | None) -> str:
    now = live.properties.get("format-version", "2") if live is not None else "2"
    return wanted.properties.get("format-version", now)


def has_variant(type_: Type) -> bool:
    return isinstance(type_, Variant) or any(
        isinstance(c.type, Variant) for _, c in walk(children(type_))
    )
