"""What a Parquet table in Spark's catalog keeps of a wanted table, and a finding for what it does not."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from instar.backends.spark.normalizing import Normalizer
from instar.backends.spark.types import kept_scalar
from instar.core.findings import Severity
from instar.core.matching import Fold
from instar.core.schema import Table, Wanted
from instar.core.types import (
    KEY,
    Array,
    Column,
    Map,
    Path,
    Struct,
    Type,
    children,
    path_text,
    type_text,
    with_children,
)

DECLARED = "declared_order"
"""In a live table's extras: it knows the order in which it was declared."""


class ParquetNormalizer(Normalizer):
    def __init__(self, wanted: Wanted, live: Table | None, fold: Fold) -> None:
        super().__init__(wanted, live, fold)
        self.required: list[str] = []

    def table(self) -> Wanted:
        table = self.wanted.table
        columns = tuple(self._column(c, (c.name,)) for c in table.columns)
        self.limits(columns)
        self._table_level(table)
        spelled = self.spellings(columns)
        partitions = tuple(self._partition(entry, spelled) for entry in table.partition_by)
        kept = replace(
            table,
            columns=self._ordered(columns, partitions),
            format="parquet",
            constraints=(),
            cluster_by=(),
            properties=MappingProxyType(self.settable()),
            change_tracking=None,
            primary_key=tuple(spelled.get(self.fold(k), k) for k in table.primary_key),
            partition_by=partitions,
        )
        return replace(self.wanted, table=kept, hints=self.hints)

    def reserved(self, key: str) -> bool:
        return super().reserved(key) or key == "EXTERNAL" or key.startswith("spark.sql.")

    def _ordered(
        self, columns: tuple[Column, ...], partitions: tuple[str, ...]
    ) -> tuple[Column, ...]:
        """As declared, unless the live table has an order of its own."""
        if self.live is None or self.live.extras.get(DECLARED) == "yes":
            return columns
        return partitions_first(columns, self.live.partition_by or partitions, self.fold)

    def _table_level(self, table: Table) -> None:
        self.plain_names()
        if self.required:
            names = ", ".join(self.required)
            self.say("F603", f"Parquet tables do not keep NOT NULL: {names}")
        self.unenforced("Parquet")
        if table.cluster_by:
            self.say("F604", "a Parquet table keeps no clustering; partition it instead")

    def _column(self, column: Column, path: Path) -> Column:
        if not column.nullable and path[-1] != KEY:
            self.required.append(f"'{path_text(path)}'")
        default = column.default
        if default is not None and (len(path) > 1 or self._is_partition(path[0])):
            self.say("F604", f"'{path_text(path)}' can have no default here", path)
            self.fill_once(path, default)
            default = None
        if column.generated is not None:
            self.say("F604", f"'{path_text(path)}' cannot be a generated column", path)
        return replace(
            column,
            type=self._type(column.type, path),
            nullable=path[-1] != KEY or not self._in_map(path),
            default=default,
            generated=None,
        )

    def _is_partition(self, name: str) -> bool:
        return any(self.fold(name) == self.fold(p) for p in self.wanted.table.partition_by)

    def _in_map(self, path: Path) -> bool:
        parent = self.wanted.table.column(path[:-1]) if len(path) > 1 else None
        return parent is not None and isinstance(parent.type, Map)

    def _type(self, type_: Type, path: Path) -> Type:
        match type_:
            case Struct(()):
                self.never(f"'{path_text(path)}' is a struct without fields", path)
                return type_
            case Struct() | Array() | Map():
                inner = tuple(self._column(c, (*path, c.name)) for c in children(type_))
                return with_children(type_, inner)
            case _:
                kept = kept_scalar(type_)
                if kept != type_:
                    words = f"{type_text(type_)} is kept as {type_text(kept)}"
                    self.say("F602", f"'{path_text(path)}' {words}", path, severity=Severity.INFO)
                return kept

    def _partition(self, entry: str, spelled: dict[str, str]) -> str:
        name = spelled.get(self.fold(entry))
        if name is None:
            self.never(f"'{entry}' is no column to partition by (Parquet has no transforms)")
            return entry
        return name


def partitions_first(
    columns: tuple[Column, ...], partitions: tuple[str, ...], fold: Fold
) -> tuple[Column, ...]:
    """Spark keeps partition columns behind all others, wherever they are declared.

    A table that does not say how it was declared has them first here: a new column is then the last.
    """
    by_name = {fold(c.name): c for c in columns}
    front = [by_name[fold(p)] for p in partitions if fold(p) in by_name]
    return (*front, *(c for c in columns if c not in front))


def partitions_last(columns: tuple[Column, ...], partitions: tuple[str, ...]) -> tuple[Column, ...]:
    """As Spark shows them."""
    behind = {p.casefold() for p in partitions}
    return tuple(sorted(columns, key=lambda c: c.name.casefold() in behind))
