"""Failpoints kill the real process, at the place and the time that was asked for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from instar.apply import Failpoints

WALK = """
from instar.apply import Failpoints
point = Failpoints.from_environment()
for name in ("alter:before", "alter:after", "alter:before", "alter:after"):
    point(name)
"""


def walk(**environment: str) -> int:
    return subprocess.run(
        [sys.executable, "-c", WALK], env={**os.environ, **environment}, check=False
    ).returncode


@pytest.mark.parametrize(
    ("point", "reached"),
    [
        ("alter:before", ["alter:before"]),
        ("alter:before:1", ["alter:before"]),
        ("alter:after", ["alter:before", "alter:after"]),
        ("alter:before:2", ["alter:before", "alter:after", "alter:before"]),
    ],
)
def test_the_process_is_killed_at_the_nth_time(
    tmp_path: Path, point: str, reached: list[str]
) -> None:
    trace = tmp_path / "trace"
    assert walk(INSTAR_FAILPOINT=point, INSTAR_FAILPOINT_TRACE=str(trace)) == -signal.SIGKILL
    assert trace.read_text().splitlines() == reached


@pytest.mark.parametrize("point", ["", "alter:before:3", "alter", "drop:before"])
def test_a_place_that_is_not_reached_kills_nobody(tmp_path: Path, point: str) -> None:
    trace = tmp_path / "trace"
    assert walk(INSTAR_FAILPOINT=point, INSTAR_FAILPOINT_TRACE=str(trace)) == 0
    assert len(trace.read_text().splitlines()) == 4


def test_without_a_word_in_the_environment_nothing_happens() -> None:
    point = Failpoints.from_environment({})
    point("anything")
