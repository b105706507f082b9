"""The case files: a live table, a wanted one, and every change between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.case_text import Case, read_cases
from core.change_text import lines
from instar.backends.base import differences
from instar.backends.memory import MemoryBackend
from instar.core.diff import diff
from instar.core.evolve import evolve
from instar.core.planner import draft
from instar.core.policy import ColumnConflict, Policy
from instar.core.types import path_text

CASES = list(read_cases(Path(__file__).parent / "cases"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    fold = str if case.exact else str.casefold
    changes = diff(case.live, case.wanted, fold, case.done)
    assert lines(changes) == case.changes


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_changes_lead_to_a_table_that_needs_none(case: Case) -> None:
    """Carried out and compared again, with its renames known as done, nothing is left."""
    fold = str if case.exact else str.casefold
    target = evolve(case.live, diff(case.live, case.wanted, fold, case.done))
    done = frozenset(
        (tuple(map(fold, path)), fold(hint.renamed_from))
        for path, hint in case.wanted.hints.items()
        if hint.renamed_from is not None
    )
    assert lines(diff(target, case.wanted, fold, done)) == ()
    assert differences(target, target) == ()


@pytest.mark.parametrize("case", [c for c in CASES if c.findings is not None], ids=str)
def test_what_is_said(case: Case) -> None:
    policy = Policy(ColumnConflict.DROP if case.drop else ColumnConflict.PRESERVE)
    said = draft(case.wanted, case.live, MemoryBackend().rules, policy, case.done).findings
    lines = (f"{f.severity.value} {f.code} {path_text(f.path)}: {f.message} {f.hint}" for f in said)
    assert tuple(lines) == case.findings
