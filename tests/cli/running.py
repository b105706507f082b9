"""Run the command line as a user does: in a process of its own, through pipes or a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Result:
    code: int
    out: str
    err: str


def environment(**extra: str) -> dict[str, str]:
    """A clean environment: nothing of the developer's colours, locale or projects."""
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "PYTHONPATH", "TMPDIR")}
    return kept | {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"} | extra


def instar(
    *args: str, cwd: Path | None = None, stdin: str = "", env: Mapping[str, str] | None = None
) -> Result:
    done = subprocess.run(
        [sys.executable, "-m", "instar.cli.main", *args],
        cwd=cwd,
        input=stdin.encode(),
        capture_output=True,
        env=environment(**(env or {})),
        check=False,
        timeout=120,
    )
    return Result(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def in_terminal(
    args: Sequence[str], typed: bytes, cwd: Path, *, when: str, **env: str
) -> tuple[int, str]:
    """The exit code and everything a person sees who types once the terminal shows `when`."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        # A suite that runs in the background has ^C switched off, and children inherit that.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.execve(
            sys.executable,
            [sys.executable, "-m", "instar.cli.main", *args],
            environment(TERM="xterm", **env),
        )
    seen, answered = b"", False
    while True:
        if answered and not select.select([terminal], [], [], _PATIENCE)[0]:
            # ^C may fall where Python can only ignore it; a person presses it again.
            os.write(terminal, typed)
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        if not answered and when.encode() in seen:
            answered = True
            os.write(terminal, typed)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), seen.decode("utf-8", "replace").replace("\r\n", "\n")
