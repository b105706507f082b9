"""Runs the whole suite as `make test` does: in parts side by side, each on Spark with a server of its own.

The first part is shown as it goes; the others write to files that are shown when all are done. Any part may fail the
run. In the end stands how long each took.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import IO

ROOT = Path(__file__).parents[1]
# Unbuffered: what a part has said is not lost with it.
PYTEST = [sys.executable, "-u", "-m", "pytest", "--durations=10"]

_APART = ("tests/models", "tests/spark")
"""About half of the time on Spark."""
PARTS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "without Spark": ("-m", "not spark"),
        "on Spark": ("-m", "spark", *(f"--ignore={folder}" for folder in _APART)),
        "models and sessions on Spark": ("-m", "spark", *_APART),
    }
)


class Part:
    """One part of the suite in a process of its own; its clock stops when it ends, whoever waits for it."""

    def __init__(self, command: Sequence[str], out: IO[bytes] | None = None) -> None:
        self._began = time.monotonic()
        err = None if out is None else subprocess.STDOUT
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=err)
        self._watch = threading.Thread(target=self._ended, daemon=True)
        self.seconds = 0.0
        self._watch.start()

    def _ended(self) -> None:
        self._process.wait()
        self.seconds = time.monotonic() - self._began

    def wait(self) -> int:
        """Its exit code."""
        self._watch.join()
        return self._process.returncode

    def stop(self) -> None:
        self._process.terminate()


def main(pytest: Sequence[str] = PYTEST) -> int:
    with ExitStack() as files:
        logs = [None, *(files.enter_context(tempfile.TemporaryFile()) for _ in list(PARTS)[1:])]
        parts = [
            Part([*pytest, *words], log) for words, log in zip(PARTS.values(), logs, strict=True)
        ]
        try:
            codes = [part.wait() for part in parts]
        finally:
            for part in parts:
                part.stop()
            for name, log in zip(PARTS, logs, strict=True):
                _show(name, log)
    took = ", ".join(f"{p.seconds:.0f} s {name}" for name, p in zip(PARTS, parts, strict=True))
    print(f"# {took}, side by side")
    return next((code for code in codes if code), 0)


def _show(name: str, log: IO[bytes] | None) -> None:
    if log is None:
        return
    print(f"# {name}", flush=True)
    log.seek(0)
    sys.stdout.buffer.write(log.read())
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
