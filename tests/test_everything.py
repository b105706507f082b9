"""`make test` shows what each part of the suite said, also one that died, and how long it took."""

from __future__ import annotations

import re

import pytest

from everything import PARTS, PYTEST, ROOT, main

PYTHON = PYTEST[: PYTEST.index("-m")]
SAYS = "import sys; print('part:', *sys.argv[1:], end=''); "


def said(name: str) -> str:
    return " ".join(("part:", *PARTS[name]))


def test_all_parts_are_shown_with_their_seconds(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*PYTHON, "-c", f"{SAYS} print()"]) == 0
    first, *others, seconds = capfd.readouterr().out.splitlines()
    shown, *beside = PARTS
    assert first == said(shown)
    assert others == [line for name in beside for line in (f"# {name}", said(name))]
    took = ", ".join(rf"\d+ s {name}" for name in PARTS)
    assert re.fullmatch(f"# {took}, side by side", seconds)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_dies_has_said_what_it_said_and_fails_the_run(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    dies = f"import os; sys.argv[1:] == {list(PARTS[name])!r} and os.kill(os.getpid(), 9)"
    assert main([*PYTHON, "-c", SAYS + dies]) != 0
    assert said(name) in capfd.readouterr().out


def test_what_one_part_on_spark_leaves_out_the_other_takes() -> None:
    without, one, other = PARTS.values()
    assert (*without,) == ("-m", "not spark")
    assert (*one[:2],) == (*other[:2],) == ("-m", "spark")
    assert [word.removeprefix("--ignore=") for word in one[2:]] == [*other[2:]]
    assert all((ROOT / folder).is_dir() for folder in other[2:])
