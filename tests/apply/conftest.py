"""A memory engine and a state store, both in files of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar.backends.memory import MemoryBackend
from instar.state import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store("sqlite:///state.db", tmp_path)


@pytest.fixture
def backend(tmp_path: Path) -> MemoryBackend:
    return MemoryBackend(tmp_path / "engine.json")
