"""One PostgreSQL server for these tests, started with the first case that needs it."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import psycopg
import pytest

from backends.postgres.server import PostgresServer


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """With a role `guest` that may read and do nothing else."""
    with PostgresServer() as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE ROLE guest LOGIN; GRANT pg_read_all_data TO guest")
        yield server


@pytest.fixture(scope="session")
def small_server() -> Iterator[PostgresServer]:
    """No file of it may be larger than 17 MB, one more than a segment of its log."""
    server = PostgresServer()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (17 << 20, hard))
    try:
        server.start()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    yield server
    server.stop()
