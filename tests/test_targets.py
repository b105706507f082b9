"""The long suites have a target: every test file that asks for more by a variable is run by one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def run_by(target: str) -> set[Path]:
    """The test files that a target's recipe names, by themselves or by their folder."""
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    found: set[Path] = set()
    for word in re.findall(r"tests/\S+", recipe[1]):
        for path in ROOT.glob(word):
            found |= set(path.rglob("test_*.py")) if path.is_dir() else {path}
    return found


@pytest.mark.parametrize(
    ("target", "variable"),
    [("full", "INSTAR_ALL"), ("full", "INSTAR_TEST_PG_ROWS"), ("kill", "INSTAR_KILL_ALL")],
)
def test_every_file_that_reads_the_variable_is_run_by_the_target(
    target: str, variable: str
) -> None:
    reading = {
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__) and f'"{variable}"' in path.read_text(encoding="utf-8")
    }
    assert reading
    assert reading - run_by(target) == set()


def test_every_target_says_what_it_does() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert set(re.findall(r"^([a-z]+):.*##", MAKEFILE, re.MULTILINE)) == set(phony.split())
