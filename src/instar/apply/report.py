"""What became of one table, and what to type next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from instar.core.schema import TableName
from instar.errors import InstarError


class Result(Enum):
    """What became of a table."""

    APPLIED = "applied"
    NOTHING = "nothing to do"
    FAILED = "failed"
    SKIPPED = "not begun"


@dataclass(frozen=True, slots=True)
class Counted:
    """The rows of the old copy that a rewrite keeps, and of the table that it made."""

    kept: TableName
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class TableReport:
    """`applied` of `total` steps are done; `next` says how to go on where it did not end well."""

    table: TableName
    result: Result
    applied: int = 0
    total: int = 0
    seconds: float = 0.0
    error: InstarError | None = None
    next: str | None = None
    notes: tuple[str, ...] = ()
    resumed: bool = False
    counted: Counted | None = None

    @property
    def ok(self) -> bool:
        return self.result in (Result.APPLIED, Result.NOTHING)
