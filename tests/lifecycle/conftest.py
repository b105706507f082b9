"""A DuckDB project in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifecycle.world import World, duckdb_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    return duckdb_world(tmp_path)
