"""One empty project for each test, and the score of the kills at the end of the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.world import World
from run.score import Score

_SCORES: dict[str, Score] = {}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def score(request: pytest.FixtureRequest) -> Score:
    """The score of one test, under its name."""
    name = request.node.name.removeprefix("test_").replace("_", " ")
    return _SCORES.setdefault(name, Score(name))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for found in _SCORES.values():
        terminalreporter.write_line(str(found))
