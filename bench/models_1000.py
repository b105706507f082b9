"""Plan of 1,000 models in three layers on DuckDB, cold: of a new project, and with ten models changed.

Beside it SQLMesh's plan of the same new project, up to its question, where it installs (an environment of its
own under .bench/); the two take turns. `INSTAR_BENCH_MODELS` sets another number, `INSTAR_BENCH_PEERS=0`
leaves SQLMesh out. Memory is the peak of the planning process itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.measure import INSTAR, Measured, command, conditions, middle
from bench.model_projects import SOURCE, TABLE, change_instar, models, write_instar, write_sqlmesh
from bench.venvs import OUTSIDE, NotThere, installed

MODELS = int(os.environ.get("INSTAR_BENCH_MODELS", "1000"))
CHANGED, ROUNDS = 10, 3
AIM = 5.0
LAST = f"m{MODELS - 1:04}"
MAKE = "from pathlib import Path; from bench.models_1000 import {}; {}(Path({!r}))"
"""In a process of its own: a child's peak memory begins at its parent's."""


def prepare(root: Path) -> None:
    import duckdb

    from bench.projects import PROJECT

    (root / ".instar").mkdir()
    (root / "instar.yml").write_text(PROJECT)
    write_instar(root, MODELS)
    with duckdb.connect(str(root / ".instar/dev.duckdb")) as connection:
        connection.execute(f"CREATE TABLE {TABLE} AS SELECT {SOURCE} FROM range(100) r(i)")


def deploy(root: Path) -> None:
    """Every model's table is there (empty: a plan does not look at rows), and ten queries change."""
    import duckdb

    with duckdb.connect(str(root / ".instar/dev.duckdb")) as connection:
        for model in models(MODELS):
            query = model.query.format(parent=model.parent or TABLE)
            connection.execute(f"CREATE TABLE {model.name} AS {query} LIMIT 0")
    change_instar(root, [f"m{n:04}" for n in range(CHANGED)])


def prepare_sqlmesh(root: Path) -> None:
    import duckdb

    write_sqlmesh(root, MODELS)
    with duckdb.connect(
        str(root / "dev.duckdb"), config={"storage_compatibility_version": "v1.0.0"}
    ) as connection:
        connection.execute(f"CREATE TABLE {TABLE} AS SELECT {SOURCE} FROM range(100) r(i)")


def made(what: Callable[[Path], None], root: Path) -> None:
    name = what.__name__
    subprocess.run([sys.executable, "-c", MAKE.format(name, name, str(root))], check=True)


def planned(root: Path) -> Measured:
    plan = [*INSTAR, "plan", "--format", "json", "--detailed-exit-code"]
    return command(plan, root, expect=(5,), says=LAST)


def sqlmesh(root: Path) -> Callable[[], Measured] | NotThere:
    """Its plan of the new project, up to the question; nothing is deployed, so each is the first."""
    if os.environ.get("INSTAR_BENCH_PEERS") == "0":
        return NotThere("INSTAR_BENCH_PEERS=0")
    tools = installed("sqlmesh", ("sqlmesh",))
    if isinstance(tools, NotThere):
        return tools
    made(prepare_sqlmesh, root)
    plan = [str(tools / "sqlmesh"), "plan", "--no-prompts", "--skip-tests"]
    return lambda: command(plan, root, expect=(0, 1), says=LAST, env=OUTSIDE)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        root, other = Path(name, "instar"), Path(name, "sqlmesh")
        root.mkdir()
        made(prepare, root)
        peer = sqlmesh(other)
        pairs = [
            (planned(root), None if isinstance(peer, NotThere) else peer()) for _ in range(ROUNDS)
        ]
        new = middle([own for own, _ in pairs])
        print(f"models_1000: instar plan, {MODELS} new models      {new}")
        if isinstance(peer, NotThere):
            print(f"models_1000: SQLMesh left out: {peer.why}")
        else:
            theirs = middle([m for _, m in pairs if m is not None])
            print(f"models_1000: SQLMesh plan, the same new models  {theirs}")
            print(
                f"models_1000: instar / SQLMesh: {new.wall / theirs.wall:.2f}x wall, "
                f"{new.cpu / theirs.cpu:.2f}x CPU, {new.mib / theirs.mib:.2f}x memory"
            )
        made(deploy, root)
        changed = middle([planned(root) for _ in range(ROUNDS)])
        print(f"models_1000: instar plan, {CHANGED} of {MODELS} changed   {changed}")
        met = max(new.wall, changed.wall) < AIM
        said = f"{'met' if met else 'MISSED'} ({conditions()})"
        print(f"models_1000: aim {AIM:.0f} s wall on a quiet machine: {said}", flush=True)


if __name__ == "__main__":
    main()
