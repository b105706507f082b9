"""A log that DuckDB cannot replay by itself, and how to keep it short.

DuckDB binds the functions of ALTER statements again when it replays its log after a crash, and then fails
for want of a default database: the file cannot be opened (duckdb/duckdb#18259, #20543, #22044, on 1.5).
Replayed as an attached database it has one.
"""

from __future__ import annotations

import contextlib

import duckdb

from instar.backends.sql import literal


def is_stuck(error: duckdb.Error) -> bool:
    text = str(error)
    return "replaying WAL" in text and "no default database" in text


def replay(path: str) -> None:
    """Write what the log holds into the database file; nothing committed is lost."""
    with duckdb.connect() as other:
        other.execute(f"ATTACH {literal(path)} AS replayed")
        other.execute("CHECKPOINT replayed")
        other.execute("DETACH replayed")


def shorten(connection: duckdb.DuckDBPyConnection) -> None:
    """Empty the log, so that other programs can open the file whatever happens to this one."""
    # While another transaction is open it stays: `replay` is there for that.
    with contextlib.suppress(duckdb.Error):
        connection.execute("CHECKPOINT")
