"""A fresh in-memory DuckDB for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends.duckdb.world import World


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.backend.close()
    made.connection.close()
