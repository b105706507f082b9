"""Errors in words: where, the line, a caret, help; and what a crash says."""

from __future__ import annotations

import subprocess
import sys

import pytest

from instar.cli import main, screen
from instar.cli.lines import render
from instar.cli.problems import error_lines
from instar.cli.screen import PLAIN
from instar.errors import (
    Blocked,
    ConfirmationNeeded,
    InstarError,
    Interrupted,
    Location,
    PlanMoved,
    ProjectError,
    UsageError,
)


def test_an_error_shows_the_place() -> None:
    where = Location("tables/orders.yml", 7, 11, "  - nam: ID")
    error = ProjectError("E103", "unknown key 'nam'", hint="Did you mean 'name'?", where=where)
    assert render(error_lines(error), PLAIN) == (
        "error[E103]: unknown key 'nam'\n"
        "  --> tables/orders.yml:7:11\n"
        "    │\n"
        "  7 │   - nam: ID\n"
        "    │           ^\n"
        "  help: Did you mean 'name'?"
    )


def test_the_caret_covers_the_word() -> None:
    where = Location("a.yml", 12, 5, "  - nam: ID")
    shown = render(error_lines(ProjectError("E103", "x", where=where)), PLAIN)
    assert shown.endswith("  12 │   - nam: ID\n     │     ^^^")


def test_a_place_without_a_line_is_only_named() -> None:
    shown = render(error_lines(ProjectError("E101", "x", where=Location("a.yml"))), PLAIN)
    assert shown == "error[E101]: x\n  --> a.yml"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run `instar version` with something raised inside it; the exit code and stderr."""
    screen.use(screen.Screen())

    def run(error: BaseException, *args: str) -> tuple[int, str]:
        def broken(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("instar.cli.commands.explain.Screen", broken)
        code = main.run(["version", *args])
        return code, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InstarError("E201", "m"), 1),
        (UsageError("E411", "m"), 2),
        (Blocked("E405", "m"), 3),
        (PlanMoved("E404", "m"), 3),
        (ConfirmationNeeded("E403", "m"), 4),
        (Interrupted("E406", "m"), 130),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_has_its_exit_code(command, error: BaseException, code: int) -> None:  # type: ignore[no-untyped-def]
    ended, said = command(error)
    assert ended == code
    assert "Traceback" not in said


def test_a_crash_says_that_it_is_a_bug(command, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.delenv("INSTAR_TRACEBACK", raising=False)
    code, said = command(KeyError("postgresql://me:geheim@host/db"), "--format", "json")
    assert code == 1
    assert said.startswith("internal error: KeyError: ")
    assert "This is a bug in Instar 0." in said
    assert "command: instar version --format json" in said
    assert "journal: " in said
    assert "where: " in said
    assert "test_problems.py:" in said
    assert "report these lines, with Python 3." in said
    assert "the traceback that the same command prints with INSTAR_TRACEBACK=1" in said
    assert "geheim" not in said
    assert "Traceback" not in said


def test_a_crash_can_be_looked_into(command, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("INSTAR_TRACEBACK", "1")
    _, said = command(KeyError("x"))
    assert "Traceback" in said


@pytest.mark.parametrize(
    ("word", "end"),
    [
        ("plan", "interrupted; no table was touched."),
        ("apply", "help: `instar apply` (or `instar recover`) goes on where this stopped."),
        ("run", "help: `instar run --resume` goes on where this stopped."),
    ],
)
def test_interrupt_says_how_to_go_on(
    word: str, end: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "get_command", stopped)
    screen.use(screen.Screen())
    assert main.run([word]) == 130
    assert capsys.readouterr().err.rstrip().endswith(end)


def test_a_job_that_is_cancelled_ends_as_by_ctrl_c() -> None:
    code = (
        "import os, signal; from instar.cli import main;"
        " main.get_command = lambda _: os.kill(os.getpid(), signal.SIGTERM); main.main(['apply'])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 130
    assert "goes on where this stopped" in ended.stderr
    assert "Traceback" not in ended.stderr
