"""Renames that go round: a ring cannot be told from one that was done already, so it is refused."""

from __future__ import annotations

from collections.abc import Mapping

RING_HINT = "Rename one of them to a new name first, apply, then go on with the others."


def ring(sources: Mapping[str, str]) -> tuple[str, ...] | None:
    """The names of a ring, where each is renamed from the next and the last from the first.

    Folded names are compared, so one that comes from itself only changes its case: that is no ring.
    """
    for start in sources:
        round_ = [start]
        while (old := sources.get(round_[-1])) is not None and old not in round_:
            round_.append(old)
        if old == start and len(round_) > 1:
            return tuple(round_)
    return None


def ring_words(round_: tuple[str, ...]) -> str:
    told = " from ".join(f"'{name}'" for name in (*round_, round_[0]))
    return f"the renames go round in a ring: {told}"
