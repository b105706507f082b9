"""Wall time, CPU and peak memory of a command, and a line that says how they compare."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

INSTAR = [sys.executable, "-m", "instar.cli.main"]


@dataclass(frozen=True, slots=True)
class Measured:
    wall: float
    cpu: float
    mib: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s wall, {self.cpu:.2f} s CPU, {self.mib:.0f} MiB"


# Installed packages have their bytecode; a checkout may have been told not to keep its own.
_ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def command(
    argv: Sequence[str],
    cwd: Path,
    *,
    expect: Sequence[int] = (0,),
    says: str = "",
    env: Mapping[str, str] = _ENVIRONMENT,
) -> Measured:
    """Run a command cold, with nobody to answer its questions; memory is the peak of its largest process.

    `says`: a text that must be in what it prints, so that only work that was done is measured.
    """
    started = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=dict(env)
        )
        _, status, usage = os.wait4(process.pid, 0)
        ended = time.perf_counter()
        out.seek(0)
        printed = out.read().decode(errors="replace")
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in expect or says not in printed:
        raise SystemExit(f"{' '.join(argv)} ended with {process.returncode}:\n{printed[-4000:]}")
    return Measured(ended - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def middle(runs: Sequence[Measured]) -> Measured:
    return sorted(runs, key=lambda m: m.wall)[len(runs) // 2]


def alternating(rounds: int, **sides: Callable[[], float]) -> dict[str, float]:
    """The median seconds of each side, the sides taking turns so that noise hits both."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            times[name].append(run())
    return {name: median(values) for name, values in times.items()}


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def conditions() -> str:
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, load {load:.1f}, Python {sys.version.split()[0]}"
