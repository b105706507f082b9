"""Renames that applies have carried out, followed back: which column of one side is which of the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from instar.core.matching import DoneRenames, at_path, folded
from instar.core.schema import Hint, Table, Wanted
from instar.core.types import Column, Path, walk

Runs = Mapping[tuple[str, int], DoneRenames]
"""What each apply had as done, newest first; by environment and the number of its entry in the journal."""


@dataclass(frozen=True, slots=True)
class Side:
    """A table as one side of a comparison has it, and how it came to be so."""

    wanted: Wanted
    runs: Runs = field(default_factory=dict)

    @property
    def table(self) -> Table:
        return self.wanted.table


def retraced(left: Side, right: Side) -> dict[Path, Hint]:
    """The hints of the right side, and with them the renames that only one side's applies have seen."""
    back = _traced(right, left)
    forth = ((old, new) for new, old in _traced(left, right))
    found = {new: Hint(renamed_from=old[-1]) for new, old in chain(back, forth)}
    return {**found, **right.wanted.hints}


def _traced(new: Side, old: Side) -> Iterator[tuple[Path, Path]]:
    """(path, the path that the other side has it under) of columns that it has under another name."""
    runs = [done for key, done in new.runs.items() if key not in old.runs]
    for path, _ in walk(new.table.columns):
        if _at(old, path) is not None:
            continue
        was = _first_known(path, runs, old)
        if was is not None and was[-1].casefold() != path[-1].casefold() and _at(new, was) is None:
            yield path, was


def _first_known(path: Path, runs: Sequence[DoneRenames], old: Side) -> Path | None:
    for done in runs:
        names = {folded(new, str.casefold): was for new, was in done}
        heads = (folded(path[: depth + 1], str.casefold) for depth in range(len(path)))
        path = tuple(names.get(head, part) for head, part in zip(heads, path, strict=True))
        if (found := _at(old, path)) is not None:
            return (*path[:-1], found.name)
    return None


def _at(side: Side, path: Path) -> Column | None:
    return at_path(side.table.columns, path, str.casefold)
