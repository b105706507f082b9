"""After a rewrite: the rows of the table and of its old copy, and what may be done with the copy."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from instar.app.lifecycle import REVERT, LifecycleWorld
from instar.apply import Counted, TableReport
from instar.backends.base import Backend
from instar.core.schema import TableName
from instar.state import Kept


def counts_told(
    world: LifecycleWorld,
    backends: Mapping[TableName, str],
    reports: Sequence[TableReport],
    fresh: Callable[[Kept], bool],
) -> tuple[TableReport, ...]:
    """The rows of both tables beside each rewrite that was applied, and what may be done now.

    `backends` names each table's; `fresh` are the copies that this apply, or the run it resumed, has kept.
    """
    known = world.store.kept(world.env.name)
    new = {k.table: k for k in known if fresh(k)}
    tables = {*backends, *(k.table for k in known)}
    told: list[TableReport] = []
    for report in reports:
        kept = new.get(report.table)
        if kept is None:
            told.append(report)
            continue
        counted = report.counted
        if counted is None or counted.kept != kept.kept_name:
            counted = _counted(world.engine.backend(backends[report.table]), kept)
        notes = () if counted is None else (_counts(kept, counted, _short(kept.table, tables)),)
        told.append(replace(report, notes=(*report.notes, *notes)))
    return tuple(told)


def _counted(backend: Backend, kept: Kept) -> Counted | None:
    """By asking: where the rewrite was resumed, or its engine compares chunk by chunk."""
    keeper = backend.keeper()
    found = keeper.copies(kept.table.schema, [kept.table]) if keeper is not None else ()
    copy = next((c for c in found if c.name == kept.kept_name), None)
    if copy is None or keeper is None:
        return None
    return Counted(copy.name, keeper.counted(copy).rows or 0, keeper.rows(copy.table))


def _short(table: TableName, tables: Iterable[TableName]) -> str:
    """The name that tells it from all others, for a shell."""
    alone = all(t == table or t.name.casefold() != table.name.casefold() for t in tables)
    return shlex.quote(table.name if alone else str(table))


def _counts(kept: Kept, counted: Counted, name: str) -> str:
    then = "" if kept.in_history else f", `instar cleanup {name}` drops it for good"
    if kept.command == REVERT:
        return (
            f"The table has {counted.new:,} rows, what it was before {counted.old:,} (kept as"
            f" {counted.kept}). `instar revert {name}` puts that back{then}."
        )
    return (
        f"Original table has {counted.old:,} rows (kept as {counted.kept}),"
        f" new table has {counted.new:,} rows. `instar revert {name}` puts it back{then}."
    )
