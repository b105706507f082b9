"""Fills old rows in batches by key, each as large as a transaction may be; the place is remembered."""

from __future__ import annotations

import json

from instar.backends.base import RunContext
from instar.backends.dsql.batches import Batches
from instar.backends.dsql.session import DsqlSession
from instar.backends.postgres.fill import Fill
from instar.backends.postgres.keyset import Keyset, Place
from instar.backends.sql import qualified

_PLACE = "fill_place"


def run_fill(session: DsqlSession, fill: Fill, context: RunContext) -> None:
    """Rows that are written meanwhile have the column's default, or what their writer gave them."""
    keyset = Keyset(qualified(fill.table), fill.key)
    batches, done = Batches(session.patience.batch), 0
    text = context.memo.get(_PLACE)
    place: Place | None = json.loads(text) if text else None

    def batch(rows: int) -> tuple[Place | None, int]:
        with session.transaction():
            end = keyset.end_of_batch(session, place, rows)
            if end is None:
                return None, 0
            return end, session.execute(fill.update(keyset.between(place, end)))

    while True:
        context.failpoint("fill batch")
        end, touched = batches.run(lambda rows: session.patiently(lambda: batch(rows)))
        if end is None:
            break
        place, done = end, done + touched
        context.memo[_PLACE] = json.dumps(list(end))
        context.progress(f"fill {fill.table}", done, None)
    context.failpoint("filled")
