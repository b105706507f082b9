"""Compares a copy with its source, chunk by chunk by key, by count and content, inside the engine.

Each chunk is one snapshot. Rows whose change is still waiting in the log are left out on both sides: all
others must be the same. A chunk that differs is split until the keys are found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from instar.backends.base import RunContext
from instar.backends.postgres.checksum import content, row_hash
from instar.backends.postgres.key import KeyColumns
from instar.backends.postgres.keyset import Keyset, Place
from instar.backends.postgres.names import LOG, beside
from instar.backends.postgres.recipe import Recipe
from instar.backends.postgres.session import Session
from instar.backends.sql import qualified, quote_double
from instar.errors import VerificationFailed

_SHORT, _SHOWN, _CHUNK = 200, 20, 50_000


def at_least(total: int | None, done: int) -> int | None:
    """A total that was estimated, while it can still be one."""
    return total if total is not None and total >= done else None


class BeginAnew(Exception):
    """The table was emptied or all of it written anew meanwhile: so is its copy."""


@dataclass(slots=True)
class Ends:
    """Where batches ended that are large enough to be compared as a chunk: nobody has to walk there again."""

    places: list[Place] = field(default_factory=list)
    _rows: int | None = None
    """Copied behind the last of them; None: the beginning was not seen, as after a crash."""

    def add(self, low: Place | None, high: Place, rows: int) -> None:
        if low is None:
            self.places, self._rows = [], 0
        if self._rows is None:
            return
        self._rows += rows
        if self._rows >= _CHUNK:
            self.places.append(high)
            self._rows = 0


@dataclass(frozen=True, slots=True)
class Verifier:
    session: Session
    recipe: Recipe
    chunk: int = _CHUNK
    largest: int = 1_000_000
    """Chunks grow while they are quick: large ones are worth parallel workers to the engine."""
    ends: Sequence[Place] = ()
    """Where the first chunks end, as far as a walk over the table has told it already."""

    def all_rows(self) -> int:
        """The whole table at once, inside a transaction that keeps writers out; its rows."""
        old = self.session.ask(self._old("TRUE", "TRUE"))[0]
        new = self.session.ask(self._new("TRUE", "TRUE"))[0]
        if old != new:
            raise _differs(self.recipe, f"{new[0]:,} of {old[0]:,} rows, compared by content")
        return int(new[0])

    def some(self, old: str, new: str) -> None:
        """Rows that were taken over a moment ago, inside the same snapshot, by a condition for each side."""
        if self.session.ask(self._old(old, "TRUE")) != self.session.ask(self._new(new, "TRUE")):
            raise _differs(self.recipe, ", ".join(self._unlike(old, new)))

    def by_chunks(self, context: RunContext, total: int | None = None) -> int:
        """How many rows were compared; of `total`, as far as is known."""
        keyset = Keyset(qualified(self.recipe.table), self.recipe.key)
        place: Place | None = None
        done, going, size, ends = 0, True, self.chunk, iter(self.ends)
        while going:
            since = time.monotonic()
            with self.session.transaction(snapshot=True):
                end = next(ends, None) or keyset.end_of_batch(self.session, place, size)
                going = end is not None
                rows, same = self._compare(place, end)
                self._seen(place, end)
                if not same and self._emptied():
                    raise BeginAnew
                if not same:
                    raise _differs(self.recipe, ", ".join(self._split(place, end)))
            place, done = end, done + rows
            aim = self.session.patience.reading_seconds
            size = Keyset.adapted(size, time.monotonic() - since, aim, self.largest)
            context.progress(f"verify {self.recipe.table}", done, at_least(total, done))
        return done

    def _seen(self, low: Place | None, high: Place | None) -> None:
        """What else is to be noted of a chunk, in the snapshot in which it was compared."""

    def _emptied(self) -> bool:
        log = qualified(beside(self.recipe.table, LOG))
        return bool(self.session.ask(f"SELECT 1 FROM {log} WHERE truncated LIMIT 1"))

    def _compare(self, low: Place | None, high: Place | None) -> tuple[int, bool]:
        old = self.session.ask(self._old(*self._range(low, high, old=True)))[0]
        new = self.session.ask(self._new(*self._range(low, high, old=False)))[0]
        return int(old[0]), old == new

    def _range(self, low: Place | None, high: Place | None, *, old: bool) -> tuple[str, str]:
        """The keys of a chunk, and that no change of them waits in the log."""
        key = self.recipe.key if old else self.recipe.new_key
        return Keyset("", key).between(low, high), self._settled(key, old=old)

    def _settled(self, key: KeyColumns, *, old: bool) -> str:
        log = qualified(beside(self.recipe.table, LOG))
        # Joining with nothing costs a fifth of the comparison, and a log is mostly empty.
        if not self.session.ask(f"SELECT 1 FROM {log} LIMIT 1"):
            return "TRUE"
        alias = "live" if old else "copied"
        same = " AND ".join(
            f"l.k{n} = {alias}.{quote_double(c)}" for n, (c, _) in enumerate(key, start=1)
        )
        return f"NOT EXISTS (SELECT 1 FROM {log} AS l WHERE {same})"

    def _old(self, within: str, settled: str) -> str:
        rows = self.recipe.projected(f"{within} AND {settled}")
        return content(self.recipe.compared, f"({rows}) AS projected")

    def _new(self, within: str, settled: str) -> str:
        source = f"(SELECT * FROM {self.recipe.new} AS copied WHERE {within} AND {settled}) AS c"
        return content(self.recipe.compared, source)

    def _split(self, low: Place | None, high: Place | None) -> list[str]:
        """The keys that differ, some of them, within a chunk that does."""
        found: list[str] = []
        chunks: list[tuple[Place | None, Place | None]] = [(low, high)]
        keyset = Keyset(qualified(self.recipe.table), self.recipe.key)
        while chunks and len(found) < _SHOWN:
            low, high = chunks.pop(0)
            rows, same = self._compare(low, high)
            if same:
                continue
            middle = keyset.end_of_batch(self.session, low, max(rows // 2, 1))
            if rows <= _SHORT or middle is None or middle == high:
                found += self._keys(low, high)
            else:
                chunks += [(low, middle), (middle, high)]
        return found[:_SHOWN]

    def _keys(self, low: Place | None, high: Place | None) -> list[str]:
        old, new = self._range(low, high, old=True), self._range(low, high, old=False)
        return self._unlike(" AND ".join(old), " AND ".join(new))

    def _unlike(self, old_where: str, new_where: str) -> list[str]:
        recipe = self.recipe
        names = recipe.found_by
        key = ", ".join(f"CAST({quote_double(c)} AS text)" for c in names)
        rows = recipe.projected(old_where)
        old = f"SELECT {key}, {row_hash(recipe.compared)} FROM ({rows}) AS projected"
        new = (
            f"SELECT {key}, {row_hash(recipe.compared)} FROM {recipe.new} AS copied "
            f"WHERE {new_where}"
        )
        sides = f"({old} EXCEPT ALL {new}) UNION ({new} EXCEPT ALL {old})"
        found = self.session.ask(f"SELECT * FROM ({sides}) AS d ORDER BY 1 LIMIT {_SHOWN}")
        texts = dict.fromkeys(f"({', '.join(map(str, row[:-1]))})" for row in found)
        return list(texts)


def _differs(recipe: Recipe, what: str) -> VerificationFailed:
    return VerificationFailed(
        "E256",
        f"the copy of {recipe.table} differs from the table: {what}",
        hint="The table is as it was, and the copy has been dropped. Report this with the plan as JSON.",
    )
