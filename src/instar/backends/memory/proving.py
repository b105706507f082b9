"""Proofs over Python rows: which rows break one, and how such a row is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from instar.backends.memory.convert import Lossy, convert
from instar.backends.memory.expressions import Failed, evaluate
from instar.backends.memory.rows import Row, project_row, values_at
from instar.core.checks import (
    CastProof,
    EmptyProof,
    ExpressionProof,
    LiveProof,
    NotNullProof,
    Proof,
    RowProof,
    UniqueProof,
    VanishProof,
)
from instar.core.findings import Witness
from instar.core.plan import Job
from instar.core.schema import Table
from instar.core.types import KEY, Map, Path, Struct, Type, children, path_text, walk


def broken_rows(proof: Proof, job: Job, rows: Sequence[Row]) -> list[int]:
    """The places of the rows that break the proof."""
    assert job.live is not None
    match proof:
        case CastProof() | ExpressionProof() | VanishProof():
            live = Struct(job.live.columns)
            return _where(rows, lambda row: _live_broken(proof, live, row))
        case NotNullProof() | RowProof() | UniqueProof():
            projected = [project_row(job.projection, row, trying=True) for row in rows]
            return broken_projected(proof, job.target, projected)
        case EmptyProof():
            return list(range(len(rows)))
        case _:
            assert_never(proof)


def broken_projected(
    proof: NotNullProof | RowProof | UniqueProof, table: Table, rows: Sequence[Row]
) -> list[int]:
    """The same for rows that already have the table's shape."""
    match proof:
        case NotNullProof(path):
            whole = Struct(table.columns)
            return _where(rows, lambda row: None in values_at(row, whole, path))
        case RowProof(_, expression):
            return _where(rows, lambda row: _is_false(expression, row))
        case UniqueProof(_, columns):
            return _sharing(columns, rows)
        case _:
            assert_never(proof)


def _where(rows: Sequence[Row], test: Callable[[Row], bool]) -> list[int]:
    return [i for i, row in enumerate(rows) if test(row)]


def _live_broken(proof: LiveProof, live: Type, row: Row) -> bool:
    match proof:
        case CastProof(_, old_path, old, new):
            if any(_lost(v, old, new) for v in values_at(row, live, old_path)):
                return True
            # A struct field may be called `key` as well: only a map's own keys can clash.
            holders = values_at(row, live, old_path[:-1])
            maps = [m for m in holders if m is not None and old_path in map_keys(live)]
            return any(_keys_clash(m, old, new) for m in maps)
        case ExpressionProof(_, sql, new):
            try:
                value = evaluate(sql, row)
            except Failed:
                return True
            return not children(new) and _lost(value, None, new)
        case VanishProof(_, old_path, sql):
            there = any(v is not None for v in values_at(row, live, old_path))
            return there and evaluate(sql, row) is None
        case _:
            assert_never(proof)


def _lost(value: Any, old: Type | None, new: Type) -> bool:
    try:
        convert(value, new, old)
    except Lossy:
        return True
    return False


def map_keys(type_: Type) -> set[Path]:
    """The paths below a type that are keys of maps."""
    assert isinstance(type_, Struct)
    return {(*path, KEY) for path, column in walk(type_.fields) if isinstance(column.type, Map)}


def _keys_clash(value: Mapping[Any, Any], old: Type, new: Type) -> bool:
    """Two keys of one map that become the same key."""
    return len({convert(k, new, old) for k in value}) < len(value)


def _is_false(expression: str, row: Row) -> bool:
    try:
        return evaluate(expression, row) is False
    except Failed:
        return True


def _sharing(columns: Sequence[str], rows: Sequence[Row]) -> list[int]:
    """Rows whose whole key is said (no NULL) and is not theirs alone."""
    groups: defaultdict[Any, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        key = tuple(_hashable(row[_spelled(row, c)]) for c in columns)
        if None not in key:
            groups[key].append(i)
    return sorted(i for group in groups.values() if len(group) > 1 for i in group)


def _spelled(row: Row, name: str) -> str:
    return next(k for k in row if k.casefold() == name.casefold())


def _hashable(value: Any) -> Any:
    match value:
        case dict():
            return tuple((k, _hashable(v)) for k, v in value.items())
        case list():
            return tuple(_hashable(v) for v in value)
        case float() if value != value:
            # NaN equals NaN in a key, though not in Python.
            return ("NaN",)
        case _:
            return value


def witness(live: Table, proof: Proof, row: Row) -> Witness:
    """The row's key (every plain column where it has none) and the value that breaks the proof."""
    plain = [c.name for c in live.columns if not children(c.type)]
    shown = [_spelled(row, k) for k in live.primary_key] or plain
    found = {name: as_text(row[name]) for name in shown}
    if isinstance(proof, CastProof | VanishProof):
        values = values_at(row, Struct(live.columns), proof.old_path)
        found[path_text(proof.old_path)] = as_text(_telling(proof, values))
    return found


def _telling(proof: CastProof | VanishProof, values: Sequence[Any]) -> Any:
    match proof:
        case CastProof(_, _, old, new):
            return next((v for v in values if _lost(v, old, new)), values)
        case VanishProof():
            return next((v for v in values if v is not None), values)


def as_text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else str(value)
