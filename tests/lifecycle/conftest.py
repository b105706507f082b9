"""A project in a folder of its own, on each engine that runs here without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from backends.dsql.bed import ADMIN, DsqlBed
from backends.postgres.server import PostgresServer
from lifecycle.world import World, duckdb_world, postgres_world

_EMPTY = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return duckdb_world(tmp_path)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server of its own: these tests ask whole catalogs, and know what is in them."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def on_postgres(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    monkeypatch.setenv("DATABASE_URL", postgres.url())
    with psycopg.connect(postgres.url(), autocommit=True, prepare_threshold=None) as connection:
        connection.execute(_EMPTY)
        yield postgres_world(tmp_path, "postgres", "lock_timeout: 2", connection)


@pytest.fixture(scope="session")
def bed() -> Iterator[DsqlBed]:
    made = DsqlBed()
    yield made
    made.stop()


@pytest.fixture
def on_dsql(bed: DsqlBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("DATABASE_URL", bed.url())
    with psycopg.connect(bed.inside(), autocommit=True) as service:
        service.execute(f"{_EMPTY}; GRANT ALL ON SCHEMA public TO {ADMIN}")
    with psycopg.connect(bed.url(), autocommit=True, prepare_threshold=None) as connection:
        yield postgres_world(tmp_path, "dsql", "batch_rows: 2", connection)
