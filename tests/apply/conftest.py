"""A memory engine in a file of its own: empty, or with a table that holds rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from apply.worlds import filled
from instar.backends.memory import MemoryBackend
from instar.state import Store


@pytest.fixture
def backend(tmp_path: Path) -> MemoryBackend:
    return MemoryBackend(tmp_path / "engine.json")


@pytest.fixture
def full(backend: MemoryBackend, store: Store) -> MemoryBackend:
    return filled(backend, store)
