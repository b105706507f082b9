"""Kill at every failpoint on DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest

from apply.worlds import CASES, Case
from kill.harness import ForkServer, Score, kill_everywhere

ENGINE = "duckdb"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    before = len(score.wrong)
    kill_everywhere(server, ENGINE, case, tmp_path, score)
    assert score.wrong[before:] == []
