"""A memory engine in a file of its own, and a state store in each database that can hold one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from instar.backends.memory import MemoryBackend
from instar.state import Store, open_store


@pytest.fixture
def store(tmp_path: Path, state_url: str) -> Iterator[Store]:
    with open_store(state_url, tmp_path) as opened:
        yield opened


@pytest.fixture
def backend(tmp_path: Path) -> MemoryBackend:
    return MemoryBackend(tmp_path / "engine.json")
