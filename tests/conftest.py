"""Fixtures shared by all tests: one warm local Spark for the whole run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from instar.spark import SparkHandle, SparkSettings, open_session, stop_server

# A busy machine is no failure, and a run can be repeated; INSTAR_FUZZ looks for new examples.
settings.register_profile(
    "suite",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not os.environ.get("INSTAR_FUZZ"),
    database=None,
)
settings.load_profile("suite")


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
    """A session on the run's warm server."""
    handle = open_session(SparkSettings(spark_root), note=lambda _: None)
    yield handle
    handle.close()
