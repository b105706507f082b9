"""Kill at every failpoint on Delta, Iceberg and Parquet; the plain suite takes the worst moments only.

`make kill` takes all cases and all points, and kills Spark's server in the process's place too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from apply.worlds import CASES, Case
from instar.spark import SparkHandle, SparkSettings, open_session, server_status, stop_server
from kill.harness import ForkServer, Killer, Score
from kill.spark_world import ROOT

pytestmark = pytest.mark.spark

WORST = {
    "delta": frozenset({"rewrite:committed"}),
    "iceberg": frozenset({"swap:rename-old-done"}),
    "parquet": frozenset({"swap:rename-old-done"}),
}
"""The rows are written and nobody has said so; the table has no name of its own."""
REWRITTEN = next(c for c in CASES if c.name == "text to number")

all_points = pytest.mark.skipif(not os.environ.get("INSTAR_KILL_ALL"), reason="long: `make kill`")


@pytest.fixture(params=WORST)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(spark: SparkHandle, spark_root: Path) -> Iterator[ForkServer]:
    """A fork server of its own: its children find the Spark of this run by the environment."""
    del spark
    os.environ[ROOT] = str(spark_root)
    with ForkServer() as running:
        yield running
    del os.environ[ROOT]


@pytest.mark.skipif(bool(os.environ.get("INSTAR_KILL_ALL")), reason="all points are taken")
def test_killed_at_the_worst_moment_every_row_is_right_in_the_end(
    engine: str, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, engine, only=WORST[engine]).everywhere(REWRITTEN, tmp_path, score)


@all_points
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, engine: str, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, engine).everywhere(case, tmp_path, score)


@all_points
def test_killed_anywhere_with_the_state_store_lost(
    engine: str, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, engine, amnesia=True).everywhere(REWRITTEN, tmp_path, score)


@dataclass(frozen=True)
class Spark:
    """A local server of its own, started again by whoever asks next."""

    root: Path

    def pid(self) -> int:
        with open_session(SparkSettings(self.root), note=print):
            found = server_status(self.root)
        assert found is not None
        return found.pid

    def revive(self) -> None:
        self.pid()


@all_points
def test_the_server_is_killed_anywhere(engine: str, tmp_path: Path, score: Score) -> None:
    own = tmp_path / "spark"
    os.environ[ROOT] = str(own)
    try:
        with ForkServer() as server:
            killer = Killer(server, engine, victim=Spark(own))
            killer.everywhere(REWRITTEN, tmp_path, score)
    finally:
        del os.environ[ROOT]
        stop_server(own)
