"""Kill at every failpoint on the memory engine, kept in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from apply.worlds import CASES, Case
from kill.harness import ForkServer, Killer, Score

ENGINE = "memory"


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE).everywhere(case, tmp_path, score)
