"""Fills old rows in batches by key: short transactions, the place remembered, harmless when repeated."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from instar.backends.base import RunContext
from instar.backends.postgres.keyset import Keyset
from instar.backends.postgres.session import Session
from instar.backends.sql import qualified, quote_double
from instar.core.plan import Rung, Step
from instar.core.schema import Table, TableName

FILL = "fill"
_PLACE = "fill_place"


@dataclass(frozen=True, slots=True)
class Fill:
    """`sets` are (column, expression); only rows in which `empty` columns are all NULL are touched."""

    schema: str
    name: str
    sets: tuple[tuple[str, str], ...]
    empty: tuple[str, ...]
    key: tuple[tuple[str, str], ...]
    """(column, type text) of a key; empty: all rows in one transaction."""

    @property
    def table(self) -> TableName:
        return TableName(self.schema, self.name)

    def update(self, where: str = "") -> str:
        sets = ", ".join(f"{quote_double(c)} = {sql}" for c, sql in self.sets)
        open_ = " OR ".join(f"{quote_double(c)} IS NULL" for c in self.empty)
        also = f" AND {where}" if where else ""
        return f"UPDATE {qualified(self.table)} AS live SET {sets} WHERE ({open_}){also}"

    @property
    def words(self) -> str:
        return f"fill {', '.join(c for c, _ in self.sets)} of old rows"

    def step(self, title: str, after: Table) -> Step:
        return Step(
            id="",
            kind="fill",
            rung=Rung.STEPS,
            title=title,
            sql=(self.update(),),
            after=after,
            repeatable=True,
            data={FILL: self.dump()},
        )

    def dump(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def load(text: str) -> Fill:
        raw = json.loads(text)
        pairs = {f: tuple((a, b) for a, b in raw[f]) for f in ("sets", "key")}
        return Fill(raw["schema"], raw["name"], pairs["sets"], tuple(raw["empty"]), pairs["key"])


def run_fill(session: Session, fill: Fill, context: RunContext) -> None:
    what = f"fill {fill.table}"
    if fill.key:
        _walk(session, fill, context, what)
    context.failpoint("fill rest")
    session.locked_transaction([fill.update()])
    context.failpoint("filled")


def _walk(session: Session, fill: Fill, context: RunContext, what: str) -> None:
    keyset = Keyset(qualified(fill.table), fill.key)
    size, done = session.patience.batch, 0
    place: Sequence[str] | None = None
    if text := context.memo.get(_PLACE):
        place = json.loads(text)
    while (end := keyset.end_of_batch(session, place, size)) is not None:
        context.failpoint("fill batch")
        begun = time.monotonic()
        sql = fill.update(keyset.between(place, end))

        def once(sql: str = sql) -> int:
            with session.patient_transaction():
                return session.execute(sql)

        done += session.patiently(once)
        place = end
        context.memo[_PLACE] = json.dumps(list(end))
        context.progress(what, done, None)
        size = keyset.adapted(size, time.monotonic() - begun, session.patience.batch_seconds)
