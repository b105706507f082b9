"""Where a column is before and after the renames of one job."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from instar.core.changes import (
    AddColumn,
    Change,
    DropColumn,
    ModifyColumn,
    Rename,
    TypeChange,
    modification,
)
from instar.core.types import Path


@dataclass(frozen=True)
class Paths:
    """Paths by their live names and by their new ones; expressions may spell both in any case."""

    changes: tuple[Change, ...]
    renames: dict[Path, ModifyColumn] = field(default_factory=dict)

    @cached_property
    def by_old(self) -> dict[Path, str]:
        return {_folded(c.old_path): c.path[-1] for c in self.renamed}

    @cached_property
    def by_new(self) -> dict[Path, str]:
        return {_folded(c.path): c.old_path[-1] for c in self.renamed}

    @cached_property
    def renamed(self) -> list[ModifyColumn]:
        return [c for c in self.modified if modification(c, Rename)]

    @cached_property
    def modified(self) -> list[ModifyColumn]:
        return [c for c in self.changes if isinstance(c, ModifyColumn)]

    @cached_property
    def retyped(self) -> list[ModifyColumn]:
        return [c for c in self.modified if modification(c, TypeChange)]

    @cached_property
    def added(self) -> list[AddColumn]:
        return [c for c in self.changes if isinstance(c, AddColumn)]

    @cached_property
    def dropped(self) -> list[tuple[Path, DropColumn]]:
        """Drops by their live path."""
        drops = [c for c in self.changes if isinstance(c, DropColumn)]
        return [((*self.old(c.path[:-1]), c.path[-1]), c) for c in drops]

    def new(self, old: Path) -> Path:
        wish = _folded(old)
        return tuple(self.by_old.get(wish[: n + 1], part) for n, part in enumerate(old))

    def old(self, new: Path) -> Path:
        wish = _folded(new)
        return tuple(self.by_new.get(wish[: n + 1], part) for n, part in enumerate(new))

    def moved(self) -> tuple[Path, ...]:
        """Live paths that get another name or go away."""
        return (*(p for p, _ in self.dropped), *(c.old_path for c in self.renamed))

    def touched(self) -> tuple[Path, ...]:
        """Live paths that a CHECK may not use while they change."""
        return (*self.moved(), *(c.old_path for c in self.retyped))


def _folded(path: Path) -> Path:
    return tuple(part.casefold() for part in path)
