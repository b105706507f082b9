"""A run on Delta is killed; `run --resume` finishes it, and no interval is committed twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from instar import Project
from instar.apply.failpoints import POINT
from instar.spark import SparkHandle
from models.lake import Lake
from run.score import Score

pytestmark = pytest.mark.spark

POINTS = ["interval:committed:1", "interval:built:2"]
MORE = [
    "model:before:1",
    "interval:begin:2",
    "interval:marked:1",
    "model:built:1",
    "model:logged:1",
]
EVENTS = "incremental: {event_time_column: seen, granularity: day}"
ROWS = "(1, 10, '2024-01-01 10:00'), (2, 20, '2024-01-02 10:00')"
LATER = "(3, 30, '2024-01-02 11:00'), (4, 40, '2024-01-03 10:00')"
FINAL = [(1, 10), (2, 20), (3, 30), (4, 40)]


def test_killed_on_delta_and_resumed(
    tmp_path: Path, spark: SparkHandle, spark_root: Path, score: Score
) -> None:
    for number, point in enumerate(POINTS + (MORE if os.environ.get("INSTAR_KILL_ALL") else [])):
        root = tmp_path / str(number)
        root.mkdir()
        lake = Lake(root, spark)
        try:
            score.count(point, verdict(lake, spark_root, point))
        finally:
            lake.close()
    assert score.wrong == []


def verdict(lake: Lake, spark_root: Path, point: str) -> str:
    raw = f"spark_catalog.{lake.schema}.raw"
    lake.spark.run(f"CREATE TABLE {raw} (id INT, n INT, seen TIMESTAMP) USING delta")
    lake.spark.run(f"INSERT INTO {raw} VALUES {ROWS}")
    lake.model("events", "SELECT seen, id, n FROM raw", EVENTS)
    lake.run()
    lake.spark.run(f"INSERT INTO {raw} VALUES {LATER}")
    killed = worker(lake.root, spark_root, point)
    if killed != -9:
        return f"it was not killed, but ended with {killed}"
    again = Project.load(lake.root).run(
        confirm=lambda _: True, resume=True, spark=lake.spark.session
    )
    found = [(r["id"], r["n"]) for r in lake.rows("events", order="id")]
    if not again.ok or found != FINAL:
        return f"{found}, {again.results}"
    twice = [mark for mark, count in commits(lake).items() if count > 1]
    return f"committed twice: {twice}" if twice else ""


def worker(root: Path, spark_root: Path, point: str) -> int:
    folders = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "-m", "run.delta_worker", str(root), str(spark_root)],
        env={**os.environ, "PYTHONPATH": folders, POINT: point},
        capture_output=True,
        check=False,
    ).returncode


def commits(lake: Lake) -> Counter[Any]:
    """How often each interval's mark stands in the history."""
    history = lake.spark.run(f"DESCRIBE HISTORY spark_catalog.{lake.schema}.events")
    return Counter(row["userMetadata"] for row in history if row["userMetadata"])
