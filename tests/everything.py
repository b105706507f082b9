"""Runs the whole suite as `make test` does: tests that need Spark beside all the others, on two cores.

The Spark half writes to a file that is shown when the other half is done; either may fail the run.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTEST = [sys.executable, "-m", "pytest", "--durations=10"]


def main() -> int:
    with tempfile.TemporaryFile() as log:
        beside = subprocess.Popen(
            [*PYTEST, "-m", "spark"], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            first = subprocess.run([*PYTEST, "-m", "not spark"], cwd=ROOT, check=False).returncode
            second = beside.wait()
        finally:
            beside.terminate()
        log.seek(0)
        print("# the tests on Spark", flush=True)
        sys.stdout.buffer.write(log.read())
        sys.stdout.flush()
    return first or second


if __name__ == "__main__":
    raise SystemExit(main())
