"""What this run may do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from instar.errors import UsageError


class ColumnConflict(Enum):
    """What to do where the declared columns and the live ones differ in order or number."""

    PRESERVE = "preserve"
    REORDER = "reorder"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Policy:
    """`allow_column_removal` drops like `ColumnConflict.DROP`; both still ask for a word."""

    column_conflict: ColumnConflict = ColumnConflict.PRESERVE
    allow_column_removal: bool = False
    allow_rewrite: bool = False
    allow_full_refresh: bool = False

    @property
    def drops(self) -> bool:
        return self.allow_column_removal or self.column_conflict is ColumnConflict.DROP

    @property
    def reorders(self) -> bool:
        return self.column_conflict is ColumnConflict.REORDER

    @classmethod
    def of(cls, column_conflict: str = "preserve", **allowed: bool) -> Policy:
        """A policy from words: `Policy.of("reorder", allow_rewrite=True)`."""
        words = [word.value for word in ColumnConflict]
        if column_conflict not in words:
            message = f"the column conflict is one of {', '.join(words)}, not '{column_conflict}'"
            raise UsageError("E111", message)
        return cls(ColumnConflict(column_conflict), **allowed)
