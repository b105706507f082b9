"""Which rows differ where two checksums do: a few of each side, in words."""

from __future__ import annotations

from instar.errors import EngineError
from instar.spark import SparkHandle

_MOST = 5


def differing_rows(handle: SparkHandle, expected: str, found: str) -> str:
    """Rows that only one of two queries gives; empty where Spark cannot say, for the mismatch stands anyhow."""
    said = []
    for words, one, other in (
        ("only before", expected, found),
        ("only after", found, expected),
    ):
        try:
            rows = handle.run(f"{_as_text(one)} EXCEPT ALL {_as_text(other)} LIMIT {_MOST}")
        except EngineError:
            continue
        if rows:
            said.append(f"{words}: {', '.join(row['r'] for row in rows)}")
    return "; ".join(said)


def _as_text(query: str) -> str:
    return f"SELECT to_json(struct(*)) AS r FROM ({query})"
