"""When two names are one to DuckDB: letters A to Z in any case; É and é are two names."""

from __future__ import annotations

from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase

_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@lru_cache(maxsize=65536)
def fold(name: str) -> str:
    return name.translate(_LOWER)


def fold_sql(value: str) -> str:
    """The same in SQL; DuckDB's lower() knows more letters than its names do."""
    return f"translate({value}, '{ascii_uppercase}', '{ascii_lowercase}')"
