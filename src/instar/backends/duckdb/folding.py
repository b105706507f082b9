"""When two names are one to DuckDB: letters A to Z in any case; É and é are two names."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase

from instar.core.matching import folded
from instar.core.types import Array, Column, Map, Path, walk

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def fold(name: str) -> str:
    return name.translate(_LOWER)


def fold_sql(value: str) -> str:
    """The same in SQL; DuckDB's lower() knows more letters than its names do."""
    return f"translate({value}, '{ascii_uppercase}', '{ascii_lowercase}')"


def in_collection(columns: tuple[Column, ...], path: Path) -> bool:
    """The path leads through an array or a map."""
    above = {folded(path[:depth], fold) for depth in range(1, len(path))}
    found = (c for here, c in walk(columns) if folded(here, fold) in above)
    return any(isinstance(c.type, Array | Map) for c in found)
