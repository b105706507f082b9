"""What Aurora DSQL does for one change, as a table: the first row that fits decides.

ADD COLUMN takes a name and a type and nothing else; there is no ALTER TYPE and no SET NOT NULL. What is not
recorded of the service (DROP CONSTRAINT) is done by recreation.
"""

from __future__ import annotations

from instar.backends.dsql.catalog import NO_KEY, has_key
from instar.backends.postgres.capability import (
    Case,
    Row,
    cells,
    fills,
    unique,
    using,
)
from instar.backends.postgres.facts import facts_of
from instar.backends.relational import capability as relational
from instar.backends.relational.capability import always, generated, required
from instar.core.changes import AddConstraint, Change
from instar.core.plan import Capability, Rung
from instar.core.schema import Table, Wanted


def capability(change: Change, live: Table, wanted: Wanted) -> Capability:
    """The cheapest rung for one change; a table without a key is never copied."""
    found = relational.capability(TABLE, facts_of(live), str.casefold, change, live, wanted)
    if found.rung is Rung.REWRITE and not _walkable(live):
        return Capability(Rung.NEVER, f"{found.why}; a recreation is not possible: {NO_KEY}")
    return found


def _walkable(live: Table) -> bool:
    return has_key(facts_of(live), frozenset(c.name for c in live.columns if c.nullable))


def _filled(case: Case) -> bool:
    return any(True for _ in fills(case))


def _filled_without_key(case: Case) -> bool:
    return _filled(case) and not _walkable(case.live)


def _takes_a_name(case: Case) -> bool:
    """A new column takes a name that is live, and cannot wait until it is free."""
    live = {name.casefold() for name in case.names}
    if case.root.casefold() not in live:
        return False
    return _filled(case) or any(
        hint.using or hint.default or column.default
        for column in case.wanted.table.columns
        if column.name.casefold() not in live
        for hint in (case.wanted.hint((column.name,), case.fold),)
    )


def _in_key(case: Case) -> bool:
    return case.root in case.live.primary_key


def _name_taken(case: Case) -> bool:
    """An index has the name that the new key is to have."""
    change = case.change
    taken = {index.name for index in case.facts.indexes}
    return unique(case) and isinstance(change, AddConstraint) and change.constraint.name in taken


_NO_NOT_NULL = "Aurora DSQL cannot set NOT NULL on a table that exists"

TABLE = cells(
    "Aurora DSQL",
    {
        "add_column": (
            Row(generated, Rung.REWRITE, "Aurora DSQL adds columns by name and type only"),
            Row(required, Rung.REWRITE, _NO_NOT_NULL),
            Row(_takes_a_name, Rung.REWRITE, "'{root}' takes the name of a column that is there"),
            Row(
                _filled_without_key,
                Rung.NEVER,
                f"old rows get their value in batches, and {NO_KEY}",
            ),
            Row(_filled, Rung.STEPS, "old rows get their value in batches"),
            Row(always, Rung.METADATA),
        ),
        "drop_column": (
            Row(_in_key, Rung.REWRITE, "Aurora DSQL cannot drop a column of the primary key"),
            Row(always, Rung.METADATA),
        ),
        "type": (
            Row(using, Rung.REWRITE, "every value of '{root}' is computed anew"),
            Row(always, Rung.REWRITE, "Aurora DSQL cannot change the type of a column"),
        ),
        "nullability": (Row(always, Rung.REWRITE, _NO_NOT_NULL),),
        "change_primary_key": (
            Row(
                always, Rung.REWRITE, "Aurora DSQL gives a table its primary key when it is created"
            ),
        ),
        "add_constraint": (
            Row(_name_taken, Rung.NEVER, "an index of that name is there already"),
            Row(unique, Rung.STEPS, "the key's index is built by a job while writers go on"),
            Row(always, Rung.STEPS, "every row is looked at by a job while writers go on"),
        ),
        "drop_constraint": (
            Row(always, Rung.REWRITE, "Aurora DSQL is not known to drop a constraint"),
        ),
    },
)
