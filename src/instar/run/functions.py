"""The functions of an engine: which ones depend on the clock or on chance, and which ones a person wrote."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from instar.sources.models_words import SAMPLE, calls

Calls = frozenset[tuple[str, int]]
_QUERY = re.compile(r"\b(select|from)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Functions:
    """`moving`: what gives another value each time; with counts, only when called with so many arguments.

    `macros`: the text of each macro. `own`: those that a person wrote and may write anew.
    """

    dialect: str
    moving: Mapping[str, frozenset[int]]
    macros: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()

    def move(self, called: Calls) -> bool:
        """One of the calls may give another value while no table that is named has changed."""
        return any(self._moves(name, count) for name, count in called) or any(
            _QUERY.search(text) or any(self._moves(n, c) for n, c in calls(text, self.dialect))
            for text in self._used(called).values()
        )

    def _moves(self, name: str, count: int) -> bool:
        counts = self.moving.get(name)
        return name == SAMPLE or (counts is not None and (not counts or count in counts))

    def written(self, called: Calls) -> Mapping[str, str]:
        """What a person's macros say that the calls come to, as a digest of each."""
        return {
            f"macro {name}": hashlib.sha256(text.encode()).hexdigest()
            for name, text in self._used(called).items()
            if name in self.own
        }

    def _used(self, called: Calls) -> dict[str, str]:
        """The macros behind the calls, and those that they call in their turn."""
        return dict(self._walk({name for name, _ in called}, set()))

    def _walk(self, names: set[str], seen: set[str]) -> Iterator[tuple[str, str]]:
        for name in sorted(names & self.macros.keys() - seen):
            seen.add(name)
            yield name, self.macros[name]
            inner = {n for n, _ in calls(self.macros[name], self.dialect)}
            yield from self._walk(inner, seen)
