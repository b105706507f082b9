"""Fixtures of the tests of formats on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from instar.spark import SparkHandle, SparkSettings, open_session


@pytest.fixture(scope="module")
def other(spark_root: Path) -> Iterator[SparkHandle]:
    """Another writer, in a session of its own."""
    with open_session(SparkSettings(spark_root), note=lambda _: None) as handle:
        yield handle
