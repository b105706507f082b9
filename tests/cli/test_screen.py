"""Colour, ASCII, quietness, logs for machines, and pipes that close."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from cli.running import environment, instar
from instar.cli.screen import Color, wants_color


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


PIPE, TTY = io.StringIO(), Terminal()


@pytest.mark.parametrize(
    ("color", "stream", "env", "wanted"),
    [
        (Color.AUTO, TTY, {}, True),
        (Color.AUTO, PIPE, {}, False),
        (Color.AUTO, TTY, {"NO_COLOR": "1"}, False),
        (Color.AUTO, TTY, {"NO_COLOR": ""}, True),
        (Color.AUTO, PIPE, {"FORCE_COLOR": "1"}, True),
        (Color.AUTO, PIPE, {"FORCE_COLOR": "0"}, False),
        (Color.AUTO, PIPE, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (Color.AUTO, TTY, {"TERM": "dumb"}, False),
        (Color.ALWAYS, PIPE, {"NO_COLOR": "1"}, True),
        (Color.NEVER, TTY, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_who_decides_about_colour(
    color: Color, stream: io.StringIO, env: dict[str, str], wanted: bool
) -> None:
    assert wants_color(color, stream, env) is wanted


EVERY_PIPE = [
    ["--help"],
    ["plan", "--help"],
    ["explain", "--all"],
    ["explain", "F201"],
    ["explain", "nothing"],
    ["version"],
    ["pln"],
    ["plan", "--project", "/"],
    ["completion", "bash"],
]


@pytest.mark.parametrize("args", EVERY_PIPE, ids=" ".join)
def test_no_escape_codes_in_a_pipe(args: list[str]) -> None:
    result = instar(*args)
    assert "\x1b" not in result.out + result.err


def test_colour_can_be_forced_into_a_pipe() -> None:
    assert "\x1b[" in instar("explain", "F201", "--color", "always").out
    assert "\x1b[" in instar("explain", "F201", env={"FORCE_COLOR": "1"}).out
    assert "\x1b[" in instar("explain", "F201", env={"INSTAR_COLOR": "always"}).out
    assert (
        "\x1b[" not in instar("explain", "F201", "--color", "never", env={"FORCE_COLOR": "1"}).out
    )


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "1"},
        {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "1"},
        {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "ascii"},
    ],
    ids=str,
)
def test_ascii_where_the_locale_knows_no_utf8(env: dict[str, str]) -> None:
    code = "from instar.cli.screen import Screen; Screen().document('a → b … é 🤑')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment(**env), check=True
    )
    assert done.stdout == b"a -> b ... \\xe9 $$$\n"


def test_json_stays_json_in_ascii() -> None:
    code = "from instar.cli.screen import Screen; Screen().json({'a': 'é → 🤑'})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment(LC_ALL="C"), check=True
    )
    assert done.stdout.isascii()
    assert json.loads(done.stdout) == {"a": "é → 🤑"}


def test_utf8_elsewhere() -> None:
    code = "from instar.cli.screen import Screen; Screen().document('a → b')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment(), check=True
    )
    assert done.stdout.decode() == "a → b\n"


def test_a_closed_pipe_is_no_crash() -> None:
    """The reader leaves at once; the command goes on, ends well, and says nothing about it."""
    code = (
        "import sys\n"
        "from instar.cli.screen import Screen\n"
        "screen = Screen()\n"
        "for n in range(20000): screen.document('a line of some length ' * 5)\n"
        "sys.exit(7)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
    assert (process.returncode, said) == (7, b"")


def test_help_survives_head() -> None:
    done = subprocess.run(
        f"{sys.executable} -m instar.cli.main explain --all | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_log_for_machines_is_one_object_a_line() -> None:
    result = instar("plan", "--project", "/", "--log-format", "json")
    assert result.code == 1
    (line,) = [json.loads(line) for line in result.err.splitlines()]
    assert line["type"] == "error"
    assert line["code"] == "E108"
    assert line["ts"].endswith("Z")
