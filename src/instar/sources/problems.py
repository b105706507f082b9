"""What is wrong with files, collected so that one reading tells all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from instar.errors import ProjectError

T = TypeVar("T")


class Problems:
    """Adds up errors; `end` raises the first with all the others, if there are any."""

    def __init__(self) -> None:
        self.found: list[ProjectError] = []

    def add(self, error: ProjectError) -> None:
        self.found += error.every

    def tried(self, action: Callable[..., T], *args: object) -> T | None:
        """What the action returns; None where it has found something wrong."""
        try:
            return action(*args)
        except ProjectError as error:
            self.add(error)
            return None

    def end(self) -> None:
        if self.found:
            first, *rest = self.found
            first.others = tuple(rest)
            raise first
