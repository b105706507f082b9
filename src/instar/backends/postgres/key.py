"""The key by which the rows of a live table are walked and found again."""

from __future__ import annotations

from collections.abc import Iterator

from instar.backends.postgres.facts import facts_of
from instar.backends.postgres.types import type_sql
from instar.core.schema import Table

KeyColumns = tuple[tuple[str, str], ...]


def chosen_key(live: Table) -> KeyColumns:
    """The primary key, else a unique key without NULLs, as (column, type text); empty if there is none."""
    facts = facts_of(live)
    by_name = {c.name: c for c in live.columns}
    for columns in _candidates(live):
        if all(not by_name[c].nullable for c in columns):
            return tuple((c, facts.types.get(c) or type_sql(by_name[c].type)) for c in columns)
    return ()


def _candidates(live: Table) -> Iterator[tuple[str, ...]]:
    facts = facts_of(live)
    keys = [k for k in facts.keys if not (k.deferrable or k.elsewhere)]
    yield from (k.columns for k in keys if k.primary)
    yield from (k.columns for k in keys if not k.primary)
    yield from (i.keys for i in facts.indexes if i.keys)
