"""`instar --help` against a Python that does nothing."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.measure import INSTAR, command, middle


def main() -> None:
    here = Path.cwd()
    ours = middle([command([*INSTAR, "--help"], here) for _ in range(7)])
    bare = middle([command([sys.executable, "-c", "pass"], here) for _ in range(7)])
    print(f"help: instar --help               {ours}")
    print(f"help: reference, python -c pass   {bare}")
    print(f"help: {ours.wall / bare.wall:.2f}x wall")


if __name__ == "__main__":
    main()
