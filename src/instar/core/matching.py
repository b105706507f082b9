"""Which live column is which wanted column: by identity, by declared rename, by name; never by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from instar.core.schema import Hint
from instar.core.types import KEY, Array, Column, Map, Path, children

Fold = Callable[[str], str]
"""The backend's name rule: two names are the same when they fold to the same text."""

DoneRenames = frozenset[tuple[Path, str]]
"""Renames, as (folded new path, folded old name), that an earlier apply has carried out."""

Hints = Mapping[Path, Hint]
"""Hints by folded path."""


def folded(path: Path, fold: Fold) -> Path:
    return tuple(fold(part) for part in path)


def at_path(columns: tuple[Column, ...], path: Path, fold: Fold) -> Column | None:
    """The column or field under that path, its names compared under the rule."""
    found: Column | None = None
    for part in path:
        found = next((c for c in columns if fold(c.name) == fold(part)), None)
        if found is None:
            return None
        columns = children(found.type)
    return found


def in_collection(columns: tuple[Column, ...], path: Path, fold: Fold) -> bool:
    """The path leads through an array or a map."""
    above = (at_path(columns, path[:depth], fold) for depth in range(1, len(path)))
    return any(c is not None and isinstance(c.type, Array | Map) for c in above)


def in_map_key(columns: tuple[Column, ...], path: Path, fold: Fold) -> bool:
    """The path is, or leads into, the key of a map."""
    for depth in range(1, len(path)):
        above = at_path(columns, path[:depth], fold)
        if above is not None and isinstance(above.type, Map) and path[depth] == KEY:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Matched:
    pairs: tuple[tuple[Column, Column], ...]
    added: tuple[Column, ...]
    dropped: tuple[Column, ...]


def match_columns(
    live: tuple[Column, ...],
    wanted: tuple[Column, ...],
    *,
    parent: Path,
    hints: Hints,
    fold: Fold,
    done: DoneRenames = frozenset(),
) -> Matched:
    """Pairs keep the wanted order; a wanted name that differs only under the rule takes the live spelling."""
    partner: dict[str, Column] = {}
    tell = _telling(live, wanted, fold)
    free = {tell(c.name): c for c in live}
    by_identity = {c.identity: c for c in live if c.identity is not None}
    for column in wanted:
        found = by_identity.get(column.identity) if column.identity is not None else None
        if found is not None:
            partner[column.name] = found
            free.pop(tell(found.name), None)
    open_ = [c for c in wanted if c.name not in partner and not _clashes(c, by_identity)]
    renames = _pending_renames(open_, free, parent, hints, fold, done)
    for name, old in renames.items():
        partner[name] = old
        free.pop(tell(old.name), None)
    for column in open_:
        if column.name not in partner and (same := free.get(tell(column.name))) is not None:
            if column.identity is not None and same.identity is not None:
                continue
            partner[column.name] = same
            del free[tell(column.name)]
    return _collect(live, wanted, partner, renames, fold)


def _telling(live: tuple[Column, ...], wanted: tuple[Column, ...], fold: Fold) -> Fold:
    """The rule, but for names that stand in two spellings on one side: each is told by its own."""
    seen, wish = (Counter(fold(c.name) for c in side) for side in (live, wanted))
    if len(seen) == len(live) and len(wish) == len(wanted):
        return fold
    seen |= wish
    return lambda name: name if seen[fold(name)] > 1 else fold(name)


def _clashes(column: Column, by_identity: Mapping[int, Column]) -> bool:
    """A wanted identity that no live column has: dropped and added again, though the name may match."""
    return column.identity is not None and bool(by_identity) and column.identity not in by_identity


def _collect(
    live: tuple[Column, ...],
    wanted: tuple[Column, ...],
    partner: Mapping[str, Column],
    renames: Mapping[str, Column],
    fold: Fold,
) -> Matched:
    pairs: list[tuple[Column, Column]] = []
    added: list[Column] = []
    for column in wanted:
        old = partner.get(column.name)
        if old is None:
            added.append(column)
        elif fold(old.name) == fold(column.name) and column.name not in renames:
            pairs.append((old, replace(column, name=old.name)))
        else:
            pairs.append((old, column))
    taken = {c.name for c, _ in pairs}
    return Matched(tuple(pairs), tuple(added), tuple(c for c in live if c.name not in taken))


def _pending_renames(
    wanted: list[Column],
    live: Mapping[str, Column],
    parent: Path,
    hints: Hints,
    fold: Fold,
    done: DoneRenames,
) -> dict[str, Column]:
    """The declared renames that are still to do: wanted name → live column.

    A rename is pending when its new name is not live, or is live but is itself taken away by a pending
    rename (a chain). A closed ring (a swap) looks the same before and after: it is pending unless an
    earlier apply is known to have done it.
    """
    declared: dict[str, Column] = {}
    left = dict(live)
    for column in wanted:
        source = hints.get(folded((*parent, column.name), fold), Hint()).renamed_from
        key = source if source in left else fold(source or "")
        if source is not None and (old := left.get(key)) and old.name != column.name:
            # One column has one heir: a second claim to the same source is a new column.
            declared[column.name] = left.pop(key)
    pending = {
        name: old
        for name, old in declared.items()
        if not live.keys() & {name, fold(name)} or fold(name) == fold(old.name)
    }
    _follow_chains(declared, pending, fold)
    for ring in _rings(declared, pending, fold):
        marks = {(folded((*parent, name), fold), fold(declared[name].name)) for name in ring}
        if not marks <= done:
            pending |= {name: declared[name] for name in ring}
    return pending


def _follow_chains(declared: Mapping[str, Column], pending: dict[str, Column], fold: Fold) -> None:
    while True:
        taken = {fold(old.name) for old in pending.values()}
        more = {n: o for n, o in declared.items() if n not in pending and fold(n) in taken}
        if not more:
            return
        pending |= more


def _rings(
    declared: Mapping[str, Column], pending: Mapping[str, Column], fold: Fold
) -> list[list[str]]:
    """Closed rings of renames: each new name is the old name of the next."""
    by_old = {fold(old.name): name for name, old in declared.items() if name not in pending}
    rings: list[list[str]] = []
    seen: set[str] = set()
    for start in by_old.values():
        ring: list[str] = []
        name: str | None = start
        while name is not None and name not in seen:
            seen.add(name)
            ring.append(name)
            name = by_old.get(fold(name))
        if ring and name == start:
            rings.append(ring)
    return rings
