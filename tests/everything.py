"""Runs the whole suite as `make test` does: tests that need Spark beside all the others, on two cores.

The Spark half writes to a file that is shown when the other half is done; either may fail the run. In the end
stands how long each half took.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[1]
# Unbuffered: what a half has said is not lost with it.
PYTEST = [sys.executable, "-u", "-m", "pytest", "--durations=10"]


class Half:
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
    with tempfile.TemporaryFile() as log:
        spark = Half([*pytest, "-m", "spark"], log)
        others = Half([*pytest, "-m", "not spark"])
        try:
            first, second = others.wait(), spark.wait()
        finally:
            others.stop()
            spark.stop()
            log.seek(0)
            print("# the tests on Spark", flush=True)
            sys.stdout.buffer.write(log.read())
            sys.stdout.flush()
    print(f"# {spark.seconds:.0f} s with Spark, {others.seconds:.0f} s without, side by side")
    return first or second


if __name__ == "__main__":
    raise SystemExit(main())
