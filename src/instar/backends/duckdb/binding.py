"""Values in statements as literals: a bound parameter makes DuckDB's client import pandas, half a second."""

from __future__ import annotations

from collections.abc import Sequence

from instar.backends.sql import literal


def bound(sql: str, values: Sequence[object]) -> str:
    """The statement with each `?` replaced; a statement without values is left alone."""
    if not values:
        return sql
    parts = sql.split("?")
    assert len(parts) == len(values) + 1, "as many question marks as values"
    return "".join(p + v for p, v in zip(parts, [*map(_literal, values), ""], strict=True))


def _literal(value: object) -> str:
    match value:
        case str():
            return literal(value)
        case bool() | int():
            return str(value)
        case list() | tuple():
            return f"[{', '.join(_literal(v) for v in value)}]"
        case _:
            raise AssertionError(f"no literal for {type(value).__name__}")
