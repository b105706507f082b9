"""What a killed process does: one use case in a project's folder, under the failpoints of its environment."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import Counter
from pathlib import Path

KILLED = -signal.SIGKILL
_SPAWN = multiprocessing.get_context("forkserver")
_SPAWN.set_forkserver_preload(["instar.app", "instar.backends.duckdb.engine", "lifecycle.world"])


def work(root: str, what: str, environment: dict[str, str]) -> None:
    from instar.app import Project
    from lifecycle.world import POLICY

    os.environ.update(environment)
    project = Project.load(root)
    match what:
        case "apply":
            project.apply(project.plan(policy=POLICY), confirm=lambda _: True)
        case "revert":
            project.revert("t", confirm=lambda _: True)
        case "cleanup":
            project.cleanup(confirm=lambda _: True)
        case "recover":
            assert all(r.ok for r in project.recover())


def run(root: Path, what: str, **environment: str) -> int:
    """The exit code of a process that did it; minus nine if it was killed."""
    process = _SPAWN.Process(target=work, args=(str(root), what, environment))
    process.start()
    process.join(60)
    assert process.exitcode is not None, f"{what} hangs"
    return process.exitcode


def failpoints(trace: Path) -> list[str]:
    """`name:nth` of every failpoint that a traced run has passed."""
    seen: Counter[str] = Counter()
    found = []
    for name in trace.read_text().splitlines():
        seen[name] += 1
        found.append(f"{name}:{seen[name]}")
    return found
