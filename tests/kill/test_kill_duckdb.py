"""Kill at every failpoint on DuckDB; the plain suite takes telling operations, `make kill` takes all of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from apply.worlds import CASES, Case
from kill.harness import ForkServer, Killer, Score, without_memory

ENGINE = "duckdb"
TELLING = {
    "create",
    "swap in place",
    "fill and require",
    "another key",
    "text to number beside a key",
    "everything at once",
}
FORGETFUL = {"rewrite with _using", "everything at once"}


def chosen(cases: Sequence[Case], telling: set[str]) -> list[Case]:
    everything = os.environ.get("INSTAR_KILL_ALL")
    return [c for c in cases if everything or c.name in telling]


@pytest.mark.parametrize("case", chosen(CASES, TELLING), ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE).everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", chosen(without_memory(CASES), FORGETFUL), ids=lambda c: c.name)
def test_killed_anywhere_with_the_state_store_lost(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE, amnesia=True).everywhere(case, tmp_path, score)
