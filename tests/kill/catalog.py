"""A table as its engine's own catalog shows it, read by plain SQL; and what it must show of a wish."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from instar.core.schema import Check, Table, Unique
from instar.core.types import Array, Integer, String, Struct, Type

Words = Mapping[Type, str]
Picture = dict[str, Any]
DUCKDB: Words = {Integer(32): "INTEGER", Integer(64): "BIGINT", String(): "VARCHAR"}
POSTGRES: Words = {Integer(32): "integer", Integer(64): "bigint", String(): "text"}


def picture(
    columns: Sequence[tuple[str, str, bool, str | None]],
    constraints: Sequence[tuple[str, Sequence[str]]],
    **more: Any,
) -> Picture:
    """`columns`: name, type, nullable, default, in their order; `constraints`: kind and columns."""
    shown = [(n, t.replace('"', ""), null, _bare(default)) for n, t, null, default in columns]
    return {"columns": shown, "constraints": sorted((k, tuple(c)) for k, c in constraints), **more}


def wrong(found: Picture, wish: Table, words: Words) -> str:
    """What the catalog does not show of the wish; empty if it shows it all. Order is the plan's matter."""
    columns = {(c.name, word(c.type, words), c.nullable, c.default) for c in wish.columns}
    parts = []
    if set(found["columns"]) != columns or len(found["columns"]) != len(columns):
        parts.append(f"the columns are {found['columns']}, not {sorted(map(str, columns))}")
    if found["constraints"] != (wished := sorted(_constraints(wish))):
        parts.append(f"the constraints are {found['constraints']}, not {wished}")
    return "; ".join(parts)


def word(type_: Type, words: Words) -> str:
    match type_:
        case Struct(fields):
            return f"STRUCT({', '.join(f'{f.name} {word(f.type, words)}' for f in fields)})"
        case Array(element):
            return word(element.type, words) + "[]"
    return words[type_]


def _constraints(wish: Table) -> list[tuple[str, tuple[str, ...]]]:
    found = [("PRIMARY KEY", wish.primary_key)] if wish.primary_key else []
    for constraint in wish.constraints:
        match constraint:
            case Unique(_, columns):
                found.append(("UNIQUE", columns))
            case Check(_, expression):
                named = (c.name for c in wish.columns if re.search(rf"\b{c.name}\b", expression))
                found.append(("CHECK", tuple(named)))
    return found


def _bare(default: str | None) -> str | None:
    """PostgreSQL shows the type of a literal behind it."""
    return default and default.split("::")[0]
