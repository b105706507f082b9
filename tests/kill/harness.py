"""Kills a process, or its engine's server, at every failpoint, starts it again, and compares every row.

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
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from apply.worlds import CASES, Case
from instar.apply.failpoints import POINT, TRACE, VICTIM

KILLED = -signal.SIGKILL
MADE_ANEW = {"delta", "iceberg", "parquet"}
"""A server has their tables, and no copy of a folder copies those."""


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

    def count(self, where: str, problem: str) -> None:
        self.kills += 1
        if problem:
            self.wrong.append(f"{where}: {problem}")
        else:
            self.right += 1

    def __str__(self) -> str:
        return f"kill: {self.right}/{self.kills} {self.engine}"


def without_memory(cases: Sequence[Case]) -> list[Case]:
    """Cases that a lost state store leaves decidable: a swap of names looks the same before and after."""
    return [case for case in cases if not case.name.startswith("swap")]


class EngineServer(Protocol):
    """The server of an engine, which can die in place of the process."""

    def pid(self) -> int: ...
    def revive(self) -> None: ...


@dataclass(frozen=True)
class Killer:
    """How one engine is struck: at all points, or `only` at some.

    With `amnesia` the state store is lost with the process; a `victim` dies in the process's place.
    """

    server: ForkServer
    engine: str
    only: frozenset[str] = frozenset()
    amnesia: bool = False
    victim: EngineServer | None = None

    def everywhere(self, case: Case, root: Path, score: Score) -> None:
        """One undisturbed run to learn the failpoints; then one killed run for each, all right in the end."""
        before = len(score.wrong)
        start = root / "start"
        start.mkdir()
        assert self.run(start, case, "prepare") == 0, "the start could not be made"
        trace = root / "trace"
        calm = self.another(case, start, root / "calm")
        assert self.run(calm, case, "apply", **{TRACE: str(trace)}) == 0
        problems = verdict(calm, case, calm)
        assert not problems, f"{case.name}, undisturbed: {problems}"
        seen: Counter[str] = Counter()
        # Where the engine keeps no such thing nothing is done, and nobody can be killed at it.
        names = trace.read_text().splitlines() if trace.exists() else []
        assert self.only <= set(names), f"never reached: {self.only - set(names)}"
        for name in names:
            seen[name] += 1
            if self.only and name not in self.only:
                continue
            killed = self.another(case, start, root / "killed")
            problem = self._struck(case, killed, f"{name}:{seen[name]}", calm)
            score.count(f"{case.name} @ {name}:{seen[name]}", problem)
            shutil.rmtree(killed)
        wrong = score.wrong[before:]
        assert not wrong, "\n".join(wrong)

    def _struck(self, case: Case, root: Path, point: str, calm: Path) -> str:
        """What is wrong after a kill there and, if it comes by again, another; empty if nothing is."""
        if self.victim is not None:
            aim = {POINT: point, VICTIM: str(self.victim.pid())}
            codes = [self.run(root, case, "apply", **aim)]
            self.victim.revive()
            codes.append(self.run(root, case, "apply"))
        else:
            codes = [self.run(root, case, "apply", **{POINT: point})]
            if codes != [KILLED]:
                return f"exit code {codes}"
            self._forget(root)
            codes.append(self.run(root, case, "apply", **{POINT: point}))
            if codes[-1] == KILLED:
                self._forget(root)
                codes.append(self.run(root, case, "apply"))
        return verdict(root, case, calm) if codes[-1] == 0 else f"exit codes {codes}"

    def _forget(self, root: Path) -> None:
        for file in root.glob("state.db*") if self.amnesia else ():
            file.unlink()

    def run(self, root: Path, case: Case, work: str, **environment: str) -> int:
        return self.server.run(root, self.engine, case, work, **environment)

    def another(self, case: Case, start: Path, to: Path) -> Path:
        """The start once more: copied where it is all in the folder, else made anew."""
        if self.engine in MADE_ANEW:
            to.mkdir()
            assert self.run(to, case, "prepare") == 0, "the start could not be made"
        else:
            shutil.copytree(start, to)
        return to


def verdict(root: Path, case: Case, calm: Path) -> str:
    """What is wrong with the world that the last run left behind; empty if nothing is.

    The rows, the old ones too, and the catalog are held against the case; the order of columns, the names of
    what hangs on the table and how many old copies there are, against the undisturbed run.
    """
    found, undisturbed = result(root), result(calm)
    expected: dict[str, Any] = {
        "rows": sorted((dict(r) for r in case.result), key=lambda r: r["id"]),
        "kept": [sorted((dict(r) for r in case.rows), key=lambda r: r["id"])]
        * len(undisturbed["kept"]),
        "left to do": (),
        "unfinished": 0,
        "tables": [case.wish.table.name],
        "not as wished": "",
        "catalog": undisturbed["catalog"],
    }
    wrong = {k: (found.get(k), v) for k, v in expected.items() if found.get(k) != v}
    return "; ".join(f"{key} is {was!r}, not {wish!r}" for key, (was, wish) in wrong.items())


def result(root: Path) -> dict[str, Any]:
    """What the last run in a folder has seen and said."""
    with (root / "result").open("rb") as file:
        found: dict[str, Any] = pickle.load(file)
    return found
