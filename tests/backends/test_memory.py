"""The memory backend: conformance, and that it keeps its rows in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from instar.backends.memory import MemoryBackend
from instar.core.schema import Table
from instar.testing import SCENARIOS, Scenario, emptied, run_scenario

ALL = [*SCENARIOS, *map(emptied, SCENARIOS)]


class MemoryHarness:
    schema = "main"

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._backend = MemoryBackend(file)

    @property
    def backend(self) -> MemoryBackend:
        """With a file, a new process every time: nothing may live in the object alone."""
        return MemoryBackend(self.file) if self.file else self._backend

    def insert(self, table: Table, rows: Sequence[Any]) -> None:
        self.backend.insert(table.name, rows)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return self.backend.rows(table.name)


@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_conformance(scenario: Scenario) -> None:
    run_scenario(MemoryHarness(), scenario)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_conformance_from_a_file(scenario: Scenario, tmp_path: Path) -> None:
    run_scenario(MemoryHarness(tmp_path / "tables.json"), scenario)
