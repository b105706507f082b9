"""A scenario as data: a table with rows, what is wanted, and the rows or the refusal that must follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Protocol

from instar.backends.base import Backend
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Constraint, Hint, Table, TableName
from instar.core.types import Column, Path

Row = Mapping[str, Any]

PRESERVE = Policy(allow_rewrite=True)
REORDER = Policy(ColumnConflict.REORDER, allow_rewrite=True)
DROP = Policy(ColumnConflict.DROP, allow_rewrite=True)


@dataclass(frozen=True, slots=True)
class Shape:
    """A table without its name, which the harness gives."""

    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    comment: str | None = None
    cluster_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    change_tracking: bool | None = None

    def named(self, name: TableName) -> Table:
        return Table(
            name,
            self.columns,
            primary_key=self.primary_key,
            constraints=self.constraints,
            cluster_by=self.cluster_by,
            partition_by=self.partition_by,
            properties=self.properties,
            change_tracking=self.change_tracking,
            comment=self.comment,
        )


@dataclass(frozen=True, slots=True)
class Said:
    """The plan must have this finding: so many rows, and these values of `column` among them."""

    code: str
    count: int | None = None
    keys: tuple[str, ...] = ()
    column: str = "id"


@dataclass(frozen=True, slots=True)
class Scenario:
    """`after` are the rows that must be there in the end, written by hand; or `block` says why not.

    `warn` is said of the rows, and does not block.
    """

    name: str
    live: Shape
    rows: tuple[Row, ...]
    wanted: Shape
    after: tuple[Row, ...] | None = None
    block: Said | None = None
    warn: Said | None = None
    hints: Mapping[Path, Hint] = field(default_factory=lambda: MappingProxyType({}))
    policy: Policy = PRESERVE

    def __str__(self) -> str:
        return self.name


_BY_ROWS = ("F101", "F201", "F202", "F203", "F301", "F302")


def emptied(scenario: Scenario) -> Scenario:
    """The same change of an empty table: what only the rows forbade must now go through."""
    block = scenario.block
    if block is not None and block.code in _BY_ROWS:
        block = None
    after = None if block else ()
    return replace(
        scenario, name=f"{scenario.name}, empty", rows=(), after=after, block=block, warn=None
    )


class Harness(Protocol):
    """What a backend's tests bring. Rows are Python values: ints, floats, Decimals, text, bytes, dates,
    naive datetimes for wall-clock timestamps and aware ones for instants, dicts, lists, dicts for maps."""

    backend: Backend
    schema: str

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Append rows, by column name, to a table as the backend reports it."""
        ...

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """Every row, in any order."""
        ...
