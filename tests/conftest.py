"""Fixtures shared by all tests: one warm local Spark and one PostgreSQL for the whole run, state stores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from backends.postgres.server import PostgresServer
from backends.spark.few_rows import for_few_rows
from instar.spark import SparkHandle, SparkSettings, open_session, stop_server
from instar.state import Store, open_store

# A busy machine is no failure, and a run can be repeated; INSTAR_FUZZ looks for new examples.
settings.register_profile(
    "suite",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not os.environ.get("INSTAR_FUZZ"),
    database=None,
)
settings.load_profile("suite")

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def spark_root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the run's Spark; INSTAR_TEST_SPARK_ROOT keeps one warm between runs."""
    kept = os.environ.get("INSTAR_TEST_SPARK_ROOT")
    if kept:
        yield Path(kept)
        return
    root = tmp_path_factory.mktemp("spark")
    yield root
    stop_server(root)


@pytest.fixture(scope="session")
def spark(spark_root: Path) -> Iterator[SparkHandle]:
    """A session on the run's warm server; `make full` leaves it as the product has it."""
    with for_few_rows(open_session(SparkSettings(spark_root), note=lambda _: None)) as handle:
        yield handle


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def state_url(request: pytest.FixtureRequest) -> str:
    """The address of a state store that is not there yet: in the test's folder, or in a new schema."""
    if request.param == "sqlite":
        return "sqlite:///state.db"
    server: PostgresServer = request.getfixturevalue("postgres")
    return f"{server.url()}?schema=state_{next(_NUMBERS)}"


@pytest.fixture
def store(tmp_path: Path, state_url: str) -> Iterator[Store]:
    with open_store(state_url, tmp_path) as opened:
        yield opened
