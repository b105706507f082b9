"""Opens a DuckDB environment: one file, or memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from instar.backends.duckdb.backend import open_duckdb
from instar.backends.registry import Engine, EngineSettings

IN_MEMORY = ":memory:"


def open_engine(settings: EngineSettings, note: Callable[[str], None]) -> Engine:
    """The database's path is relative to the project."""
    del note
    where = settings.database or ".instar/dev.duckdb"
    path = where if where == IN_MEMORY else Path(settings.root, where)
    to_come = isinstance(path, Path) and settings.reading and not path.exists()
    if to_come:
        # A database that is not there has no tables: there is no need to make it for a look.
        path = IN_MEMORY
    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
    backend = open_duckdb(path, alone=settings.alone, new_file=to_come)
    return Engine({"": backend, "duckdb": backend}, "", backend.close)
