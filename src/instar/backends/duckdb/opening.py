"""A connection to a database file: with a log that was left behind, and without memory for nothing."""

from __future__ import annotations

from pathlib import Path

import duckdb

from instar.backends.duckdb.replay import is_stuck, replay
from instar.backends.sql import literal

SPARING = {"memory_limit": "16MB"}
"""While the catalog is read: DuckDB would keep every block of it, 150 MiB for a thousand tables."""


def connected(path: str, *, alone: bool) -> duckdb.DuckDBPyConnection:
    """`alone`: nobody else in this process opens the file, so that it may be opened in its own way."""
    try:
        return _sparing(path) if alone else duckdb.connect(path)
    except duckdb.Error as error:
        if not is_stuck(error):
            raise
    replay(path)
    return duckdb.connect(path)


def _sparing(path: str) -> duckdb.DuckDBPyConnection:
    """A log that must be replayed may need more; so may what cannot be foreseen."""
    ways: list[dict[str, str]] = [SPARING, {}]
    if Path(path + ".wal").exists():
        ways.reverse()
    try:
        return _opened(path, ways[0])
    except (duckdb.OutOfMemoryException, duckdb.ConnectionException):
        # A process opens a file in one way at a time: an earlier connection may have taken the other.
        return _opened(path, ways[1])


def _opened(path: str, way: dict[str, str]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(path, config=way)
    if way:
        # RESET alone brings back the setting that is shown, not the limit that is kept.
        connection.execute("RESET memory_limit")
        shown = connection.execute("SELECT current_setting('memory_limit')").fetchone()
        connection.execute(f"SET memory_limit = {literal(str(shown[0]) if shown else '')}")
    return connection
