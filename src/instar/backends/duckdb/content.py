"""Rows and values as one number, to compare what is there with what should be there."""

from __future__ import annotations

from instar.backends.sql import quote_double


def content_sql(columns: tuple[str, ...], source: str) -> str:
    """Rows and a checksum that does not depend on their order.

    The hash of a value tells NULL from '' at any depth; its text tells -0.0 from 0.0.
    """
    parts = [p for c in columns for p in (quote_double(c), f"CAST({quote_double(c)} AS VARCHAR)")]
    row = f"hash({', '.join(parts)})" if parts else "1"
    return f"SELECT count(*), COALESCE(sum({row}), 0) FROM {source}"
