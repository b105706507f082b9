"""Progress: a bar for a person who waits, lines for machines, nothing for a pipe."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time

import pytest

from cli.running import environment
from instar.cli.progress import Pace, Watcher
from instar.cli.screen import LogFormat, Screen

WORK = """
import time
from instar.cli.progress import Watcher
from instar.cli.screen import Screen
with Watcher(Screen()) as watcher:
    watcher.note("begun")
    watcher.progress("copying main.orders", 0, 1000)
    time.sleep({seconds})
    watcher.progress("copying main.orders", 500, 1000)
    watcher.note("halfway")
    time.sleep({tail})
"""


def _at_a_terminal(code: str) -> str:
    parent, child = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=child,
        env=environment(TERM="xterm", COLUMNS="100"),
    ) as process:
        os.close(child)
        seen = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            seen += piece
        assert process.wait() == 0
    os.close(parent)
    return seen.decode()


def test_a_bar_is_drawn_once_the_work_is_long() -> None:
    seen = _at_a_terminal(WORK.format(seconds=1.4, tail=0.3))
    assert "copying main.orders" in seen
    assert "500/1,000" in seen
    assert "/s · 0:00:0" in seen
    assert " left" in seen
    assert "halfway" in seen


def test_quick_work_draws_nothing() -> None:
    seen = _at_a_terminal(WORK.format(seconds=0.0, tail=0.0))
    assert "copying" not in seen
    assert "\x1b[?25" not in seen


def test_a_pipe_sees_notes_only(capsys: pytest.CaptureFixture[str]) -> None:
    with Watcher(Screen()) as watcher:
        watcher.note("begun")
        watcher.progress("copying", 1, 2)
    seen = capsys.readouterr()
    assert (seen.out, seen.err) == ("", "begun\n")


def test_machines_get_events(capsys: pytest.CaptureFixture[str]) -> None:
    with Watcher(Screen(log_format=LogFormat.JSON)) as watcher:
        watcher.note("begun")
        watcher.progress("copying", 0, 2)
        watcher.progress("copying", 1, 2)
        watcher.progress("copying", 2, 2)
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [e["type"] for e in events] == ["note", "progress", "progress"]
    assert [e.get("done") for e in events[1:]] == [0, 2]


def test_rate_and_time_left_count_from_where_the_work_was_taken_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr("instar.cli.progress.time.monotonic", lambda: now[0])
    pace = Pace(9_000)
    assert pace.words(9_000, 10_000) == ["9,000/10,000"]
    now[0] += 10
    assert pace.words(9_100, 10_000) == ["9,100/10,000", "10/s", "0:01:30 left"]
    assert (pace.rate(9_100), pace.left(9_100, 10_000)) == (10, 90)
    assert pace.words(9_100, None) == ["9,100", "10/s"]


def test_a_pipe_is_told_now_and_then_that_long_work_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("instar.cli.progress.SELDOM", 0.3)
    with Watcher(Screen()) as watcher:
        watcher.progress("building main.a, main.b", 1, 4)
        time.sleep(0.5)
    seen = capsys.readouterr()
    assert seen.err.splitlines()[0] == "building main.a, main.b · 1/4 · 0:00:00 so far"
