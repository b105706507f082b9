"""In which order names change and columns move: pure, level by level."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from instar.core.changes import FIRST

TEMPORARY = "__instar_{}"
"""The name that a column has between two renames, when its new one is still taken."""


def level_moves(now: Sequence[str], wish: Sequence[str]) -> list[tuple[str, str]]:
    """The fewest moves (name, the name it comes after or FIRST) from one order to another."""
    place = {name: number for number, name in enumerate(wish)}
    stay = _rising([place[name] for name in now])
    return [
        (name, wish[number - 1] if number else FIRST)
        for number, name in enumerate(wish)
        if number not in stay
    ]


def _rising(numbers: Sequence[int]) -> set[int]:
    """A longest rising subsequence."""
    tails: list[int] = []
    chains: list[tuple[int, ...]] = []
    for number in numbers:
        at = bisect_left(tails, number)
        chain = (*(chains[at - 1] if at else ()), number)
        tails[at : at + 1] = [number]
        chains[at : at + 1] = [chain]
    return set(chains[-1]) if chains else set()


def rename_order(renames: Mapping[str, str], there: Sequence[str]) -> list[tuple[str, str]]:
    """Renames of one level, old to new, as single renames that never meet a taken name."""
    waiting = dict(renames)
    taken = {name.casefold() for name in there}
    done: list[tuple[str, str]] = []
    while waiting:
        free = [o for o, n in waiting.items() if n.casefold() not in taken]
        old = free[0] if free else next(iter(waiting))
        new = waiting.pop(old)
        if not free:
            between = TEMPORARY.format(new)
            waiting[between] = new
            new = between
        done.append((old, new))
        taken = (taken - {old.casefold()}) | {new.casefold()}
    return done
