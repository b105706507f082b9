"""What a use case says while it works; the command line shows it, a notebook may ignore it."""

from __future__ import annotations

from typing import Protocol


class Listener(Protocol):
    """Hand one to `Project.load(root, listener)` to hear of long work."""

    def note(self, text: str) -> None:
        """A line worth knowing: jars are fetched, a run is resumed."""

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work goes on."""


class Silent:
    """Hears everything, says nothing."""

    def note(self, text: str) -> None:
        del text

    def progress(self, what: str, done: int, total: int | None) -> None:
        del what, done, total
