"""Differences between two schemas in one line a person can read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from instar.core.changes import Change, ModifyColumn, kind
from instar.core.schema import Table
from instar.core.types import path_text, type_text

MANY = 8


def changes_text(changes: Iterable[Change]) -> str:
    """`add_column STATUS; modify_column ID (type: INT → BIGINT)`, the first few of them."""
    said = [_change_text(change) for change in changes]
    more = f"; and {len(said) - MANY} more" if len(said) > MANY else ""
    return "; ".join(said[:MANY]) + more


def _change_text(change: Change) -> str:
    path = path_text(getattr(change, "path", ()))
    if isinstance(change, ModifyColumn):
        inner = (f"{kind(m)}: {_side(m.old)} → {_side(m.new)}" for m in change.modifications)
        return f"{kind(change)} {path} ({', '.join(inner)})"
    if (constraint := getattr(change, "constraint", None)) is not None:
        return f"{kind(change)} {constraint.name}"
    if hasattr(change, "old"):
        name = getattr(change, "key", "") or path
        sides = f"{_side(change.old)} → {_side(getattr(change, 'new', None))}"
        return " ".join(part for part in (kind(change), name, f"({sides})") if part)
    return f"{kind(change)} {path}".rstrip()


def _side(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "nullable" if value else "not null"
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return f"({', '.join(value)})"
    return type_text(value)


def table_text(table: Table | None) -> str:
    """The columns of a table in one line."""
    if table is None:
        return "no such table"
    columns = (
        f"{path_text((c.name,))} {type_text(c.type)}{'' if c.nullable else ' NOT NULL'}"
        for c in table.columns
    )
    return f"({', '.join(columns)})"
