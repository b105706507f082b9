"""What Spark does for each change of a Parquet table: the rung, and why no cheaper one."""

from __future__ import annotations

import re
from typing import assert_never

from sqlglot import exp

from instar.backends.spark.expressions import parsed
from instar.backends.spark.parquet_overlay import reads_right
from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangeClustering,
    ChangePartitioning,
    ChangePrimaryKey,
    ChangeProperty,
    CommentChange,
    CreateTable,
    DefaultChange,
    DropColumn,
    DropConstraint,
    Modification,
    ModifyColumn,
    Nullability,
    Rename,
    ReorderColumns,
    TypeChange,
)
from instar.core.matching import Fold, in_map_key
from instar.core.plan import Capability, Rung
from instar.core.schema import Hint, Table, Wanted
from instar.core.types import (
    Array,
    Column,
    Integer,
    Interval,
    Map,
    Path,
    Struct,
    Timestamp,
    Type,
    Variant,
    children,
    path_text,
    type_text,
)
from instar.expressions import BadExpression

METADATA = Capability(Rung.METADATA)
WRITERS = (
    "writers must stop while the table is copied: a file that appears meanwhile refuses the swap"
)
EXTERNAL, EXISTS, NEVER_OVERLAY = "external", "exists_defaults", "never_overlay"
"""In a live table's extras: its files outlive its definition; columns whose old rows read a default that is
kept in the catalog alone; an earlier run found files that must not be read so."""
BUCKETS = "buckets"
"""In a live table's extras: by which columns its files are bucketed, and into how many."""


def rewrite(why: str) -> Capability:
    return Capability(Rung.REWRITE, f"{why}; {WRITERS}")


def capability(change: Change, live: Table, wanted: Wanted, fold: Fold) -> Capability:
    """The cheapest rung; `wanted` has been normalized."""
    found = _cheapest(change, live, wanted, fold)
    buckets = live.extras.get(BUCKETS)
    if buckets and found.rung in (Rung.OVERLAY, Rung.REWRITE):
        return Capability(
            Rung.NEVER, f"a new definition would lose the buckets of the table ({buckets})"
        )
    return found


def _cheapest(change: Change, live: Table, wanted: Wanted, fold: Fold) -> Capability:
    path: Path = getattr(change, "path", ())
    if in_map_key(wanted.table.columns, path, fold) or in_map_key(live.columns, path, fold):
        return rewrite(f"a map's key is not read under another definition: '{path_text(path)}'")
    match change:
        case AddColumn():
            return _add(change, live, wanted, fold)
        case DropColumn():
            return rewrite(f"'{path_text(path)}' would come back with its old values if it stayed")
        case ModifyColumn():
            hint = wanted.hint(change.path, fold)
            each = [_modify(m, change, live, hint, fold) for m in change.modifications]
            return max(each, key=lambda c: c.rung.height, default=METADATA)
        case ReorderColumns():
            return _overlay("columns cannot be moved by ALTER", live)
        case ChangePartitioning():
            return rewrite("files lie in the folders of their partition")
        case AddConstraint():
            return Capability(Rung.NEVER, "Parquet keeps no constraints")
        case (
            CreateTable()
            | ChangePrimaryKey()
            | DropConstraint()
            | ChangeClustering()
            | ChangeProperty()
        ):
            return METADATA
        case _:
            assert_never(change)


def _overlay(why: str, live: Table) -> Capability:
    """A new definition over the same files, where that is safe; else a rewrite."""
    if live.extras.get(EXTERNAL) != "yes":
        return rewrite(f"{why}, and a managed table loses its files with its definition")
    if names := live.extras.get(EXISTS):
        return rewrite(f"{why}, and old rows of {names} read a default that only the catalog has")
    if reason := live.extras.get(NEVER_OVERLAY):
        return rewrite(f"{why}, and {reason}")
    return Capability(Rung.OVERLAY, why)


def _add(change: AddColumn, live: Table, wanted: Wanted, fold: Fold) -> Capability:
    shown = path_text(change.path)
    hint = wanted.hint(change.path, fold)
    value = hint.using or hint.default or change.column.default
    if hint.using is not None:
        return rewrite(f"'{shown}' is computed by _using, and there is no UPDATE")
    nested = len(change.path) > 1
    alters = alterable(change.column, live)
    if value is not None and (nested or change.after is not None or not alters):
        return rewrite(f"'{shown}' takes a value in rows that are there, and there is no UPDATE")
    if value is not None and not is_constant(value, change.column.type):
        return rewrite(f"'{shown}' takes a value that is no constant, and there is no UPDATE")
    if reason := live.extras.get(NEVER_OVERLAY):
        return rewrite(f"'{shown}' is new, and {reason}")
    if nested:
        return _overlay(f"ALTER cannot add the field '{shown}'", live)
    if change.after is not None:
        return _overlay(f"ALTER cannot place '{shown}'", live)
    if not alters:
        return _overlay(
            f"ALTER cannot add '{shown}': a Hive metastore does not know its type", live
        )
    return METADATA


_PLAIN = re.compile(r"\w+", re.ASCII)


def alterable(column: Column, live: Table) -> bool:
    """Whether ALTER can add it: a table that Hive can read must stay one, another one takes any type."""
    return _hive_knows(column.type) or not all(_hive_knows(c.type) for c in live.columns)


def _hive_knows(type_: Type) -> bool:
    match type_:
        case Struct(fields):
            return all(_PLAIN.fullmatch(f.name) and _hive_knows(f.type) for f in fields)
        case Array() | Map():
            return all(_hive_knows(c.type) for c in children(type_))
        case Timestamp(zone):
            return zone
        case _:
            return not isinstance(type_, Variant | Interval)


_LITERAL = (
    exp.Literal,
    # Two texts in a row.
    exp.Concat,
    exp.Neg,
    exp.Boolean,
    exp.Cast,
    exp.DataType,
    exp.DataTypeParam,
    exp.Paren,
)


def is_constant(expression: str, type_: Type) -> bool:
    """A plain literal of a scalar: Spark keeps its value for the rows that are there."""
    if isinstance(type_, Struct | Array | Map):
        return False
    try:
        tree = parsed(expression)
    except BadExpression:
        return False
    return all(isinstance(node, _LITERAL) for node in tree.walk())


def _modify(
    modification: Modification, change: ModifyColumn, live: Table, hint: Hint, fold: Fold
) -> Capability:
    shown = path_text(change.path)
    partition = fold(change.old_path[0]) in {fold(p) for p in live.partition_by}
    match modification:
        case Rename():
            return rewrite(f"'{shown}' would read NULL: files are read by name")
        case TypeChange(old, new):
            return _type(old, new, shown, live, hint, partition=partition)
        case CommentChange() if len(change.path) == 1 and not partition:
            return METADATA
        case CommentChange():
            return _overlay(f"ALTER cannot comment on '{shown}'", live)
        case DefaultChange() | Nullability():
            return METADATA
        case _:
            assert_never(modification)


def _type(
    old: Type, new: Type, shown: str, live: Table, hint: Hint, *, partition: bool
) -> Capability:
    words = f"{type_text(old)} → {type_text(new)}"
    if hint.using is not None:
        return rewrite(f"'{shown}' is computed by _using")
    widened = isinstance(old, Integer) and isinstance(new, Integer)
    if not reads_right(old, new) or (partition and not widened):
        return rewrite(f"files with the old type of '{shown}' are not read right ({words})")
    return _overlay(f"ALTER cannot change a type ({words})", live)
