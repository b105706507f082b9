"""Where a recreation stands: one row beside the table, so that any later run can finish what was begun."""

from __future__ import annotations

import json
from dataclasses import dataclass

from instar.backends.dsql.recipe import DsqlRecipe
from instar.backends.dsql.session import DsqlSession
from instar.backends.postgres.keyset import Place
from instar.backends.postgres.names import POS, beside
from instar.backends.sql import literal, qualified
from instar.core.schema import TableName

CREATE, COPY, BUILD, VERIFY, TIDY, SWAP, LOOK, NAMES, ABANDON = (
    "create",
    "copy",
    "build",
    "verify",
    "tidy",
    "swap",
    "look",
    "names",
    "abandon",
)
SWAPPED = (LOOK, NAMES)
"""The phases in which the copy has the table's name, so that nothing can be undone."""


@dataclass(frozen=True, slots=True)
class State:
    """`seen` are rows and checksum of the table as it was compared; `kept` is the old table's name to be."""

    recipe: DsqlRecipe
    phase: str
    place: Place | None
    rows: int
    seen: str
    kept: str


class Position:
    """Written in the transaction of the batch it speaks of: two writers of it conflict."""

    def __init__(self, session: DsqlSession, table: TableName) -> None:
        self._session = session
        self.name = qualified(beside(table, POS))

    def there(self) -> bool:
        return not self._session.ask("SELECT to_regclass(%s) IS NULL", [self.name])[0][0]

    def read(self) -> State | None:
        if not self.there():
            return None
        rows = self._session.ask(f"SELECT recipe, phase, place, rows, seen, kept FROM {self.name}")
        if not rows:
            return None
        recipe, phase, place, count, seen, kept = rows[0]
        found = None if place is None else [str(v) for v in json.loads(place)]
        return State(DsqlRecipe.load(recipe), phase, found, int(count), seen or "", kept or "")

    def make(self, recipe: DsqlRecipe) -> None:
        session = self._session
        session.ddl(
            f"CREATE TABLE IF NOT EXISTS {self.name} (one int PRIMARY KEY, recipe text NOT NULL, "
            "phase text NOT NULL, place text, rows bigint NOT NULL, seen text, kept text)"
        )
        session.execute(
            f"INSERT INTO {self.name} (one, recipe, phase, rows) VALUES "
            f"(1, {literal(recipe.dump())}, {literal(CREATE)}, 0) ON CONFLICT (one) DO NOTHING"
        )

    def set(self, **values: str) -> None:
        sets = ", ".join(f"{name} = {literal(value)}" for name, value in values.items())
        self._session.execute(f"UPDATE {self.name} SET {sets}")

    def moved(self, place: Place, rows: int) -> str:
        """The statement that goes with a batch."""
        position = literal(json.dumps(list(place)))
        return f"UPDATE {self.name} SET place = {position}, rows = rows + {rows}"

    def drop(self) -> None:
        self._session.ddl(f"DROP TABLE IF EXISTS {self.name}")
