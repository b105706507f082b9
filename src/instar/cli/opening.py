"""From the options of a command to a project that is being watched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from instar.cli.progress import Watcher
from instar.cli.screen import Screen

if TYPE_CHECKING:
    from instar.app import Project


@contextmanager
def opened(folder: Path, screen: Screen) -> Iterator[tuple[Project, Watcher]]:
    """Nothing of an engine is imported before this."""
    from instar.app import Project

    with Watcher(screen) as watcher:
        yield Project.load(folder, watcher, alone=True), watcher
