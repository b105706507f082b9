"""Dotted names as people write them: `schema.table`, `ADDRESS.ZIP`, odd parts in backticks or quotes."""

from __future__ import annotations

import re

from instar.core.types import Column, Path, Struct, children

_PART = re.compile(r"""`((?:[^`]|``)+)`|"((?:[^"]|"")+)"|([^.`"]+)""")


def split_path(text: str) -> Path | None:
    """The parts of a dotted name; None when it is not one."""
    parts: list[str] = []
    at = 0
    while True:
        match = _PART.match(text, at)
        if match is None:
            return None
        ticked, quoted, plain = match.groups()
        if ticked is not None:
            parts.append(ticked.replace("``", "`"))
        elif quoted is not None:
            parts.append(quoted.replace('""', '"'))
        else:
            parts.append(plain.strip())
        at = match.end()
        if at == len(text):
            return tuple(parts) if all(parts) else None
        if text[at] != ".":
            return None
        at += 1


def resolve(column: Column, path: Path) -> tuple[Path, tuple[str, ...]]:
    """How far a relative path leads, in the column's own spelling, and the names at the last place."""
    found: list[str] = []
    here = children(column.type)
    for part in path:
        names = tuple(c.name for c in here)
        inner = next((c for c in here if c.name.casefold() == part.casefold()), None)
        if inner is None:
            return tuple(found), names
        found.append(inner.name)
        here = children(inner.type)
    return tuple(found), tuple(c.name for c in here)


def is_field(column: Column, path: Path) -> bool:
    """The path ends in a struct's field, not in an array's element or a map's key or value."""
    type_ = column.type
    for part in path[:-1]:
        type_ = next(c.type for c in children(type_) if c.name == part)
    return isinstance(type_, Struct)
