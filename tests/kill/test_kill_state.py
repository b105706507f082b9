"""Kill at every failpoint with the state store on PostgreSQL; `make kill` takes all cases."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from apply.worlds import CASES, Case
from backends.postgres.server import PostgresServer
from kill.harness import ForkServer, Killer, Score
from kill.postgres_world import URL
from kill.worker import STATE

ENGINE = "duckdb, state on PostgreSQL"


def _chosen(*telling: str) -> list[Case]:
    return [c for c in CASES if os.environ.get("INSTAR_KILL_ALL") or c.name in telling]


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresServer]:
    """One of its own: it is killed, too."""
    with PostgresServer() as made:
        yield made


@pytest.fixture(scope="module")
def server(cluster: PostgresServer) -> Iterator[ForkServer]:
    """A fork server of its own: its children find the state by the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(URL, cluster.url())
        patch.setenv(STATE, "1")
        with ForkServer() as running:
            yield running


@pytest.fixture(autouse=True)
def _tidy(cluster: PostgresServer) -> Iterator[None]:
    yield
    with psycopg.connect(cluster.url(), autocommit=True) as sql:
        found = sql.execute("SELECT datname FROM pg_database WHERE datname LIKE 'kill%%'")
        for (name,) in found.fetchall():
            sql.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("case", _chosen("swap"), ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, "duckdb").everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", _chosen("swap"), ids=lambda c: c.name)
def test_the_server_of_the_state_is_killed_anywhere(
    case: Case, tmp_path: Path, cluster: PostgresServer, server: ForkServer, score: Score
) -> None:
    Killer(server, "duckdb", victim=cluster).everywhere(case, tmp_path, score)
