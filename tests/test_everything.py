"""`make test` shows what each half of the suite said, also one that died, and how long it took."""

from __future__ import annotations

import re

import pytest

from everything import PYTEST, main

PYTHON = PYTEST[: PYTEST.index("-m")]
SAYS = "import sys; print('half:', sys.argv[2], end=''); "


def test_both_halves_are_shown_with_their_seconds(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*PYTHON, "-c", f"{SAYS} print()"]) == 0
    first, head, second, seconds = capfd.readouterr().out.splitlines()
    assert (first, second) == ("half: not spark", "half: spark")
    assert head == "# the tests on Spark"
    assert re.fullmatch(r"# \d+ s with Spark, \d+ s without, side by side", seconds)


@pytest.mark.parametrize("half", ["spark", "not spark"])
def test_a_half_that_dies_has_said_what_it_said_and_fails_the_run(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, half: str
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    dies = f"import os; sys.argv[2] == {half!r} and os.kill(os.getpid(), 9)"
    assert main([*PYTHON, "-c", SAYS + dies]) != 0
    assert f"half: {half}" in capfd.readouterr().out
