"""How a case's command is run: in this process, or in one of its own that a limit or a terminal needs."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest

from bad_input.case_text import Case
from bad_input.worlds import World
from cli.running import Result
from instar.cli import main, screen

INSTAR = [sys.executable, "-m", "instar.cli.main"]


def ended(
    command: str,
    case: Case,
    world: World,
    capsys: pytest.CaptureFixture[str],
    *,
    judged: bool = False,
    meanwhile: Callable[[], None] = lambda: None,
) -> Result:
    """`meanwhile` is what happens while the question waits."""
    words = shlex.split(command)
    if judged and "when asked" in case.parts:
        return asked(words, world, meanwhile)
    if judged and "with" in case.parts:
        return LIMITS[case.part("with", world.engine)](words, world)
    screen.use(screen.Screen())
    code = main.run([*words, "--project", str(world.root)])
    seen = capsys.readouterr()
    return Result(code, seen.out, seen.err)


def asked(words: Sequence[str], world: World, meanwhile: Callable[[], None]) -> Result:
    """At a terminal: what happens while the question waits, and then the word."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(world.root)
        os.execve(
            sys.executable, [*INSTAR, *words], {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        )
    seen, answered = b"", 0
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        if seen.count(b"[y/N]") + seen.count(b"(yes/no)") > answered:
            if not answered:
                meanwhile()
            answered += 1
            os.write(terminal, b"yes\n")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    text = seen.decode("utf-8", "replace").replace("\r\n", "\n")
    return Result(os.waitstatus_to_exitcode(status), text, "")


def separately(words: Sequence[str], world: World, before: Sequence[str] = ()) -> Result:
    done = subprocess.run(
        [*before, *INSTAR, *words],
        cwd=world.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def read_only(words: Sequence[str], world: World) -> Result:
    """Root may write everywhere: it gives that power away first."""
    before = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    assert not before or shutil.which("setpriv")
    file = world.root / "dev.duckdb"
    file.chmod(0o444)
    try:
        return separately(words, world, before)
    finally:
        file.chmod(0o644)


def full_disk(words: Sequence[str], world: World) -> Result:
    """No file may grow beyond what is there and a little more: the system refuses the write.

    PostgreSQL's files are its server's: that was started so.
    """
    if world.engine == "postgres":
        return separately(words, world)
    blocks = (world.root / "dev.duckdb").stat().st_size // 1024 + 64
    return separately(words, world, ["prlimit", f"--fsize={blocks * 1024}"])


def guest(words: Sequence[str], world: World) -> Result:
    """As a role that may only read."""
    url = os.environ["DATABASE_URL"].replace("postgres@", "guest@")
    return separately(words, world, ["env", f"DATABASE_URL={url}"])


LIMITS: dict[str, Callable[[Sequence[str], World], Result]] = {
    "a read-only database": read_only,
    "a full disk": full_disk,
    "a role without rights": guest,
}
