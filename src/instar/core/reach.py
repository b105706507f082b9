"""What a change reaches downstream: columns of other tables, and the way to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REACHES = "F705"


@dataclass(frozen=True, slots=True)
class Reached:
    """A column that is computed from a changed one, or the rows of a table that it decides (no column).

    `sources`: what is just before it on the way. `perhaps`: it is behind a query that cannot be traced.
    """

    table: str
    column: str | None
    sources: tuple[str, ...]
    perhaps: bool = False

    def __str__(self) -> str:
        return f"rows of {self.table}" if self.column is None else f"{self.table}.{self.column}"


def reach_words(table: str, path: str, reached: Sequence[Reached], most: int | None = None) -> str:
    """One sentence; with `most`, what is beyond it is counted, not named."""
    columns = _some([_perhaps(r, str(r)) for r in reached if r.column is not None], most)
    rows = _some([_perhaps(r, r.table) for r in reached if r.column is None], most)
    told = [columns] if columns else []
    told += [f"the rows of {rows}"] if rows else []
    return f"[{table}] the change of '{path}' reaches {', and '.join(told)}."


def _perhaps(reached: Reached, name: str) -> str:
    return f"perhaps {name}" if reached.perhaps else name


def _some(names: Sequence[str], most: int | None) -> str:
    more = len(names) - most if most is not None and len(names) > most else 0
    return f"{', '.join(names[:most])}{f' and {more} more' if more else ''}"
