"""What a change reaches downstream: columns of other tables, and the way to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REACHES = "F705"


@dataclass(frozen=True, slots=True)
class Reached:
    """A column that is computed from a changed one. `sources`: the columns just before it on the way.

    `perhaps`: it is behind a query that cannot be traced.
    """

    table: str
    column: str
    sources: tuple[str, ...]
    perhaps: bool = False

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


def reach_words(table: str, path: str, reached: Sequence[Reached], most: int | None = None) -> str:
    """One sentence; with `most`, what is beyond it is counted, not named."""
    names = [f"perhaps {r}" if r.perhaps else str(r) for r in reached]
    more = len(names) - most if most is not None and len(names) > most else 0
    told = ", ".join(names[:most])
    return f"[{table}] the change of '{path}' reaches {told}{f' and {more} more' if more else ''}."
