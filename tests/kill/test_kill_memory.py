"""Kill at every failpoint on the memory engine, kept in a file; the plain suite takes telling operations."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from apply.worlds import CASES, Case
from kill.harness import ForkServer, Killer, Score

ENGINE = "memory"
TELLING = {"create", "swap", "merge", "rewrite with _using", "another key", "everything at once"}


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if os.environ.get("INSTAR_KILL_ALL") or c.name in TELLING],
    ids=lambda c: c.name,
)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE).everywhere(case, tmp_path, score)
