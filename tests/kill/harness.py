"""Kills a process at every failpoint it reaches, starts it again, and compares every row.

Children are forked from a small server that has everything imported and nothing opened: a real process
and a real SIGKILL each time, without the seconds that a new interpreter would take.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from apply.worlds import CASES, Case
from instar.apply.failpoints import POINT, TRACE

KILLED = -signal.SIGKILL


class ForkServer:
    """Runs one order after the other, each in a child of its own."""

    def __init__(self) -> None:
        folders = os.pathsep.join(path for path in sys.path if path)
        self._server = subprocess.Popen(
            [sys.executable, "-m", "kill.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": folders, "OPENBLAS_NUM_THREADS": "1"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def run(self, root: Path, engine: str, case: Case, work: str, **environment: str) -> int:
        """The child's exit code; minus the signal if it was killed."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        order = {"root": str(root), "engine": engine, "case": CASES.index(case), "work": work}
        self._server.stdin.write(json.dumps({**order, "environment": environment}) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


@dataclass
class Score:
    """How many kills there were, and after how many of them everything was right."""

    engine: str
    right: int = 0
    kills: int = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"kill: {self.right}/{self.kills} {self.engine}"


def kill_everywhere(server: ForkServer, engine: str, case: Case, root: Path, score: Score) -> None:
    """One undisturbed run to learn the failpoints; then one killed run for each of them."""
    start = root / "start"
    start.mkdir()
    assert server.run(start, engine, case, "prepare") == 0, "the start could not be made"
    trace = root / "trace"
    calm = _copy(start, root / "calm")
    assert server.run(calm, engine, case, "apply", **{TRACE: str(trace)}) == 0
    problems = verdict(calm, case)
    assert not problems, f"{case.name}, undisturbed: {problems}"
    seen: Counter[str] = Counter()
    for name in trace.read_text().splitlines():
        seen[name] += 1
        _kill_at(server, engine, case, _copy(start, root / "killed"), f"{name}:{seen[name]}", score)


def _kill_at(
    server: ForkServer, engine: str, case: Case, root: Path, point: str, score: Score
) -> None:
    """Killed there, started again, killed there again if it comes by, and at last left in peace."""
    score.kills += 1
    where = f"{case.name} @ {point}"
    first = server.run(root, engine, case, "apply", **{POINT: point})
    again = server.run(root, engine, case, "apply", **{POINT: point})
    last = server.run(root, engine, case, "apply") if again == KILLED else again
    if first != KILLED or last != 0:
        score.wrong.append(f"{where}: exit codes {first}, {again}, {last}")
    elif problems := verdict(root, case):
        score.wrong.append(f"{where}: {problems}")
    else:
        score.right += 1
    shutil.rmtree(root)


def _copy(start: Path, to: Path) -> Path:
    shutil.copytree(start, to)
    return to


def verdict(root: Path, case: Case) -> str:
    """What is wrong with the world that the last run left behind; empty if nothing is."""
    with (root / "result").open("rb") as file:
        result: dict[str, Any] = pickle.load(file)
    expected: dict[str, Any] = {
        "rows": sorted((dict(r) for r in case.result), key=lambda r: r["id"]),
        "left to do": (),
        "unfinished": 0,
        "tables": [case.wish.table.name],
    }
    wrong = {k: (result.get(k), v) for k, v in expected.items() if result.get(k) != v}
    return "; ".join(f"{key} is {was!r}, not {wish!r}" for key, (was, wish) in wrong.items())
