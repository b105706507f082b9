"""Walks a table by its key, batch after batch: a position is the text of the last key, exact for any type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from instar.backends.postgres.session import Session
from instar.backends.sql import literal, quote_double

Place = Sequence[str]
_SMALLEST, _LARGEST = 50, 100_000


@dataclass(frozen=True, slots=True)
class Keyset:
    """`key` is (column, type text); the columns are unique together and NOT NULL."""

    table: str
    key: tuple[tuple[str, str], ...]

    @property
    def columns(self) -> str:
        return ", ".join(quote_double(name) for name, _ in self.key)

    @property
    def texts(self) -> str:
        return ", ".join(f"CAST({quote_double(name)} AS text)" for name, _ in self.key)

    def _row(self, place: Place) -> str:
        values = (f"CAST({literal(v)} AS {t})" for v, (_, t) in zip(place, self.key, strict=True))
        return f"({', '.join(values)})"

    def after(self, place: Place | None) -> str:
        return "TRUE" if place is None else f"({self.columns}) > {self._row(place)}"

    def upto(self, place: Place | None) -> str:
        return "TRUE" if place is None else f"({self.columns}) <= {self._row(place)}"

    def between(self, low: Place | None, high: Place | None) -> str:
        """Rows behind `low` up to and with `high`; None is open."""
        return f"({self.after(low)} AND {self.upto(high)})"

    def end_of_batch(self, session: Session, place: Place | None, size: int) -> Place | None:
        """The last key of the next `size` rows; None when there are none left."""
        ahead = (
            f"SELECT {self.columns} FROM {self.table} WHERE {self.after(place)} "
            f"ORDER BY {self.columns}"
        )
        # Walking on to one row costs a fraction of sorting a batch for its last. Where fewer are left, it is the end.
        last = f"SELECT {self.texts} FROM ({ahead} OFFSET {size - 1} LIMIT 1) AS b"
        # With its table's name it is the key, not the text of it that is asked for.
        order = ", ".join(f"b.{quote_double(name)} DESC" for name, _ in self.key)
        rest = (
            f"SELECT {self.texts} FROM {self.table} AS b WHERE {self.after(place)} "
            f"ORDER BY {order} LIMIT 1"
        )
        rows = session.ask(last) or session.ask(rest)
        return [str(v) for v in rows[0]] if rows else None

    @staticmethod
    def adapted(size: int, seconds: float, aim: float, largest: int = _LARGEST) -> int:
        """Twice or half as many rows, so that a batch takes about as long as it should."""
        if seconds > aim * 2:
            return max(_SMALLEST, size // 2)
        if seconds < aim / 2:
            return min(largest, size * 2)
        return size
