"""A Delta table as it is after one statement: pure pictures for the steps of a plan."""

from __future__ import annotations

from dataclasses import replace

from instar.backends.spark.delta_sql import parse_path
from instar.core.changes import FIRST
from instar.core.schema import Table, replace_columns
from instar.core.types import Column, Path, Struct, children, path_text, walk, with_children


def level_of(table: Table, parent: Path) -> tuple[Column, ...]:
    if not parent:
        return table.columns
    column = table.column(parent)
    return children(column.type) if column is not None else ()


def levels_of(table: Table) -> list[Path]:
    """Every place that has an order: the table, and each struct in it."""
    return [(), *(p for p, c in walk(table.columns) if isinstance(c.type, Struct))]


def relaxed(column: Column) -> Column:
    """A column as ADD can say it: nothing required, no default."""
    struct = isinstance(column.type, Struct)
    inner = tuple(relaxed(c) if struct else c for c in children(column.type))
    type_ = with_children(column.type, inner)
    return replace(column, type=type_, nullable=True, default=None)


def with_nullable(table: Table, path: Path, *, nullable: bool) -> Table:
    level = tuple(
        replace(c, nullable=nullable) if c.name == path[-1] else c
        for c in level_of(table, path[:-1])
    )
    return replace_columns(table, path[:-1], level)


def renamed_table(table: Table, path: Path, new: str) -> Table:
    """Clustering and partitions follow by themselves; keys are only written down, and stay."""
    level = tuple(
        replace(c, name=new) if c.name == path[-1] else c for c in level_of(table, path[:-1])
    )

    def now(name: str) -> str:
        other = parse_path(name)
        same = other[: len(path)] == path
        return path_text((*path[:-1], new, *other[len(path) :])) if same else name

    return replace(
        replace_columns(table, path[:-1], level),
        cluster_by=tuple(map(now, table.cluster_by)),
        partition_by=tuple(new if (p,) == path else p for p in table.partition_by),
    )


def moved_table(table: Table, parent: Path, name: str, after: str) -> Table:
    level = list(level_of(table, parent))
    column = next(c for c in level if c.name == name)
    level.remove(column)
    names = [c.name for c in level]
    level.insert(0 if after == FIRST else names.index(after) + 1, column)
    return replace_columns(table, parent, tuple(level))
