"""Rows and values as one number, to compare what is there with what should be there."""

from __future__ import annotations

from instar.backends.sql import quote_double


def row_hash(columns: tuple[str, ...]) -> str:
    """One number for a row: the hash of a value tells NULL from '' at any depth, its text -0.0 from 0.0."""
    parts = [p for c in columns for p in (quote_double(c), f"CAST({quote_double(c)} AS VARCHAR)")]
    return f"hash({', '.join(parts)})" if parts else "1"


def content_sql(columns: tuple[str, ...], source: str) -> str:
    """Rows and a checksum that does not depend on their order."""
    return f"SELECT count(*), COALESCE(sum({row_hash(columns)}), 0) FROM {source}"
