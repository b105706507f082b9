"""Finds the row that a copy stumbled over: the server's error has a value in it, but not whose it is."""

from __future__ import annotations

from instar.backends.postgres.checksum import content
from instar.backends.postgres.errors import RowsInTheWay
from instar.backends.postgres.keyset import Keyset, Place
from instar.backends.postgres.names import LOG, beside
from instar.backends.postgres.recipe import Recipe
from instar.backends.postgres.session import Session
from instar.backends.sql import qualified, quote_double

_LARGEST = 2**19


class Culprit:
    """Rows are computed as the copy would do it, in halves, until one is left."""

    def __init__(self, session: Session, recipe: Recipe) -> None:
        self._session = session
        self._recipe = recipe
        log = qualified(beside(recipe.table, LOG))
        marks = tuple((f"k{n}", t) for n, (_, t) in enumerate(recipe.key, start=1))
        self._live, self._log = Keyset(qualified(recipe.table), recipe.key), Keyset(log, marks)

    def named(self, place: Place | None) -> str:
        """`(id)=(7)` of a row that waits in the log, or of one behind the place; empty where none fails."""
        found = self._search(self._log, None) or self._search(self._live, place)
        if found is None:
            return ""
        columns = ", ".join(name for name, _ in self._recipe.key)
        return f"({columns})=({', '.join(found)})"

    def _search(self, keys: Keyset, low: Place | None) -> Place | None:
        size = _LARGEST
        while not self._fails(keys, low, end := keys.end_of_batch(self._session, low, size)):
            if end is None:
                return None
            low = end
        while size > 1:
            size //= 2
            middle = keys.end_of_batch(self._session, low, size)
            if not self._fails(keys, low, middle):
                low = middle
        return keys.end_of_batch(self._session, low, 1)

    def _fails(self, keys: Keyset, low: Place | None, high: Place | None) -> bool:
        if high is None:
            return False
        where = keys.between(low, high)
        if keys is self._log:
            pairs = zip(keys.key, self._recipe.key, strict=True)
            same = " AND ".join(f"l.{k} = live.{quote_double(c)}" for (k, _), (c, _) in pairs)
            where = f"EXISTS (SELECT 1 FROM {keys.table} AS l WHERE {same} AND {where})"
        try:
            rows = self._recipe.projected(where)
            self._session.ask(content(self._recipe.compared, f"({rows}) AS projected"))
        except RowsInTheWay:
            return True
        return False
