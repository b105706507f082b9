"""A clean in-memory DuckDB for each test; one that nobody used before where it matters."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from backends.duckdb.world import World


@pytest.fixture(scope="session")
def shared() -> Iterator[duckdb.DuckDBPyConnection]:
    """Opening a database takes longer than most tests."""
    connection = duckdb.connect()
    yield connection
    connection.close()


@pytest.fixture
def world(shared: duckdb.DuckDBPyConnection) -> Iterator[World]:
    made = World(shared)
    made.sql("RESET TimeZone")
    yield made
    made.backend.close()
    made.clean()


@pytest.fixture
def own_world() -> Iterator[World]:
    made = World(duckdb.connect())
    yield made
    made.backend.close()
    made.connection.close()
