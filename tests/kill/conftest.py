"""One fork server for the kill suite, and its score at the end of the run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kill.harness import ForkServer, Score

_SCORES: dict[str, Score] = {}


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    with ForkServer() as running:
        yield running


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """The engine of the module."""
    return str(request.module.ENGINE)


@pytest.fixture
def score(engine: str) -> Score:
    return _SCORES.setdefault(engine, Score(engine))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for found in _SCORES.values():
        terminalreporter.write_line(str(found))
