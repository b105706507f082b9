"""The column blocks of change-tracked tables in their live order: to be printed, or written into the manifests."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path

from instar.core.changes import DropColumn
from instar.core.plan import Plan, TablePlan
from instar.core.schema import Table, TableName
from instar.errors import ProjectError
from instar.sources.rewrite import columns_block, write_columns

Blocks = tuple[tuple[TableName, str], ...]


def corrected(
    plan: Plan,
    done: Container[TableName],
    root: Path,
    note: Callable[[str], None],
    *,
    write: bool,
) -> tuple[Blocks, tuple[Path, ...]]:
    """The blocks that are left to a person, and the manifests that were written."""
    blocks: list[tuple[TableName, str]] = []
    written: list[Path] = []
    for table in plan.tables:
        if not table.normalized_columns or table.target is None or table.table not in done:
            continue
        path = root / table.origin if table.origin else None
        target = _declared(table, table.target)
        if write and path is not None:
            try:
                write_columns(path, target, root=root)
                written.append(path)
                continue
            except ProjectError as error:
                note(f"{error.message}; its corrected block is printed instead")
        blocks.append((table.table, _block(target, path)))
    return tuple(blocks), tuple(written)


def _declared(plan: TablePlan, target: Table) -> Table:
    """Without the columns that stay undeclared: written in, a removal that waits for `drop` is undone."""
    dropped = (c.change for c in plan.changes if isinstance(c.change, DropColumn))
    gone = {c.path[0] for c in dropped if len(c.path) == 1}
    return replace(target, columns=tuple(c for c in target.columns if c.name not in gone))


def _block(target: Table, path: Path | None) -> str:
    """The manifest's own entries, or plain ones where its layout keeps them together."""
    try:
        return columns_block(target, path)
    except ProjectError:
        return columns_block(target)
