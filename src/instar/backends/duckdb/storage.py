"""What a database file can hold: its storage version decides that, not DuckDB's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_OF_DATABASE = """SELECT tags['storage_version'] FROM duckdb_databases()
WHERE database_name = current_database()"""
_OF_NEW_FILE = "SELECT current_setting('storage_compatibility_version')"
_FIRST = (1, 5)
"""The first storage version that holds VARIANT."""


def too_old_for_variant(
    ask: Callable[[str], list[tuple[Any, ...]]], *, new_file: bool
) -> str | None:
    """The storage version where it is too old; `new_file`: of a file that is not there yet."""
    version = str(ask(_OF_NEW_FILE if new_file else _OF_DATABASE)[0][0])
    found = re.match(r"v(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) >= _FIRST:
        return None
    return version
