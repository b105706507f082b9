"""Renames in an order in which no name is taken; a ring goes through a free name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def ordered_renames(renames: Mapping[str, str], taken: set[str]) -> Iterator[tuple[str, str]]:
    current, pending = set(taken), dict(renames)
    while pending:
        old = next((o for o, n in pending.items() if n not in current), None)
        if old is None:
            old = next(iter(pending))
            new = _free(current)
            pending = {(new if o == old else o): n for o, n in pending.items()}
        else:
            new = pending.pop(old)
        current.discard(old)
        current.add(new)
        yield old, new


def _free(taken: set[str]) -> str:
    number = 1
    while (name := f"__instar_name_{number}") in taken:
        number += 1
    return name
