"""Kill at every failpoint on DuckDB; INSTAR_KILL_ALL loses the state store in every operation too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from apply.worlds import CASES, Case
from kill.harness import ForkServer, Killer, Score, without_memory

ENGINE = "duckdb"
TELLING = {"create", "add", "reorder", "rewrite with _using", "another key", "everything at once"}


def forgetful() -> list[Case]:
    everything = os.environ.get("INSTAR_KILL_ALL")
    return [c for c in without_memory(CASES) if everything or c.name in TELLING]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE).everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", forgetful(), ids=lambda c: c.name)
def test_killed_anywhere_with_the_state_store_lost(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE, amnesia=True).everywhere(case, tmp_path, score)
