"""Kill at every failpoint on DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from apply.worlds import CASES, Case
from kill.harness import ForkServer, Killer, Score, without_memory

ENGINE = "duckdb"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE).everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", without_memory(CASES), ids=lambda c: c.name)
def test_killed_anywhere_with_the_state_store_lost(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE, amnesia=True).everywhere(case, tmp_path, score)
