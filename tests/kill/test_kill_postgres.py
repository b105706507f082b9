"""Kill at every failpoint on PostgreSQL; `make kill` takes all cases, the plain suite the telling ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from apply.worlds import CASES, Case
from backends.postgres.server import PostgresServer
from kill.harness import ForkServer, Killer, Score, without_memory

ENGINE = "postgres"
_JSON = {"nested", "nested in an array"}
"""Structs are kept as jsonb there: nothing happens to their rows."""
_TELLING = ("key", "text to number beside a key")
_ALL = [c for c in CASES if c.name not in _JSON]


def _chosen(*telling: str) -> list[Case]:
    return [c for c in _ALL if os.environ.get("INSTAR_KILL_ALL") or c.name in telling]


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresServer]:
    made = PostgresServer()
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def url(cluster: PostgresServer) -> str:
    return cluster.url()


@pytest.fixture(scope="module")
def server(url: str) -> Iterator[ForkServer]:
    """A fork server of its own: its children find PostgreSQL by the environment."""
    os.environ["INSTAR_TEST_PG_URL"] = url
    with ForkServer() as running:
        yield running
    del os.environ["INSTAR_TEST_PG_URL"]


@pytest.fixture(autouse=True)
def _tidy(url: str) -> Iterator[None]:
    """A database a kill is dropped again: they are small, but many."""
    yield
    with psycopg.connect(url, autocommit=True) as sql:
        names = sql.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE 'kill%%'"
        ).fetchall()
        for (name,) in names:
            sql.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("case", _chosen(*_TELLING), ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE).everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", without_memory(_chosen(*_TELLING)), ids=lambda c: c.name)
def test_killed_anywhere_with_the_state_store_lost(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE, amnesia=True).everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", _chosen("key"), ids=lambda c: c.name)
def test_the_server_is_killed_anywhere(
    case: Case, tmp_path: Path, cluster: PostgresServer, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE, victim=cluster).everywhere(case, tmp_path, score)
