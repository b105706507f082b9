"""Plan of 1,000 tables x 50 columns, ten changed: Instar and the peers that install here, taking turns.

The peers get environments of their own under .bench/. `INSTAR_BENCH_TABLES` sets another size. SQLMesh and
Instar work on DuckDB; dbt only lists the models that have changed; Alembic works on SQLite. Caches are warm on
all sides: each command has run once before. Memory is the largest process of each command.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import peer_projects
from bench.measure import INSTAR, Measured, command, middle
from bench.plan_1000 import CHANGED, COLUMNS, MAKE
from bench.venvs import OUTSIDE, NotThere, installed

TABLES = int(os.environ.get("INSTAR_BENCH_TABLES", "1000"))
ROUNDS = 3
LAST = f"t{CHANGED - 1:04}"
"""What every plan must speak of: the last table that has changed."""


@dataclass(frozen=True, slots=True)
class Peer:
    """`prepare(tools, root, tables)` writes the project and gives the command to measure."""

    name: str
    packages: Sequence[str]
    prepare: Callable[[Path, Path, int], list[str]]
    expect: Sequence[int] = (0,)


PEERS = (
    Peer("sqlmesh", ("sqlmesh",), peer_projects.sqlmesh, expect=(0, 1)),
    Peer("dbt", ("dbt-core", "dbt-duckdb"), peer_projects.dbt),
    Peer("alembic", ("alembic",), peer_projects.alembic),
)


def ours(root: Path) -> Callable[[], Measured]:
    subprocess.run([sys.executable, "-c", MAKE.format(str(root), TABLES)], check=True)
    plan = [*INSTAR, "plan", "--format", "json", "--detailed-exit-code"]
    return lambda: command(plan, root, expect=(5,), says=LAST)


def theirs(peer: Peer, root: Path) -> Callable[[], Measured] | None:
    tools = installed(peer.name, peer.packages)
    if isinstance(tools, NotThere):
        print(f"peers: {peer.name:<8} left out, it does not install here: {tools.why}", flush=True)
        return None
    plan = peer.prepare(tools, root, TABLES)
    return lambda: command(plan, root, expect=peer.expect, says=LAST, env=OUTSIDE)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        sides: dict[str, Callable[[], Measured]] = {}
        for peer in PEERS:
            (root := Path(name, peer.name)).mkdir()
            if (side := theirs(peer, root)) is not None:
                sides[peer.name] = side
        (root := Path(name, "instar")).mkdir()
        sides["instar"] = ours(root)
        for side in sides.values():
            side()
        runs: dict[str, list[Measured]] = {side: [] for side in sides}
        for _ in range(ROUNDS):
            for side, run in sides.items():
                runs[side].append(run())
        report({side: middle(found) for side, found in runs.items()})


def report(found: dict[str, Measured]) -> None:
    own = found.pop("instar")
    print(f"peers: {TABLES} tables x {COLUMNS} columns, {CHANGED} changed, median of {ROUNDS}")
    print(f"peers: {'instar':<8} {own}")
    for name, peer in found.items():
        print(f"peers: {name:<8} {peer}")
        print(
            f"peers: instar / {name}: {own.wall / peer.wall:.2f}x wall, "
            f"{own.cpu / peer.cpu:.2f}x CPU, {own.mib / peer.mib:.2f}x memory",
            flush=True,
        )


if __name__ == "__main__":
    main()
