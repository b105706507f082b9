"""A stand-in for Spark's own server script, so that its life can be tested in moments."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from instar.spark import SparkSettings, server, stop_server

_STAND_IN = """\
#!{python}
# {arguments}
import os, sys, time
open({starts!r}, "a").write(str(os.getpid()) + "\\n")
time.sleep({delay})
if {broken}:
    sys.exit("Caused by: java.net.BindException: no such luck\\n\\tat somewhere")
print("INFO Spark Connect server started at: 127.0.0.1:4711", flush=True)
time.sleep(600)
"""


class StandIn:
    """Which settings to use, and how many servers were started."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "a project" / ".instar"
        self.script = folder / "spark-submit"
        self.starts_file = folder / "starts"
        self.write()

    def write(self, *, delay: float = 0.0, broken: bool = False) -> None:
        text = _STAND_IN.format(
            python=sys.executable,
            arguments="stands for spark-submit",
            starts=str(self.starts_file),
            delay=delay,
            broken=broken,
        )
        self.script.write_text(text)
        self.script.chmod(0o755)

    def settings(self, *, idle_seconds: float = 600.0, **conf: str) -> SparkSettings:
        return SparkSettings(self.root, conf=tuple(conf.items()), idle_seconds=idle_seconds)

    @property
    def starts(self) -> int:
        return len(self.starts_file.read_text().split()) if self.starts_file.exists() else 0


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """Replaces Spark's script and the jars; the supervisor and the locks are the real ones."""
    made = StandIn(tmp_path)
    monkeypatch.setattr(server, "script", lambda _: str(made.script))
    monkeypatch.setattr(server, "engine_jars", lambda *_: [])
    yield made
    stop_server(made.root)


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def note(notes: list[str]) -> Callable[[str], None]:
    return notes.append
