"""Plan of 1,000 models in three layers on DuckDB, cold: of a new project, and with ten models changed.

Beside it SQLMesh's plan of the same new project, up to its question, where it can be installed into a
throw-away environment. `INSTAR_BENCH_MODELS` sets another number, `INSTAR_BENCH_PEERS=0` leaves SQLMesh out.
Memory is the peak of the planning process itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

from bench.measure import INSTAR, Measured, command, middle
from bench.model_projects import SOURCE, TABLE, change_instar, models, write_instar, write_sqlmesh
from bench.projects import PROJECT

MODELS = int(os.environ.get("INSTAR_BENCH_MODELS", "1000"))
CHANGED, ROUNDS = 10, 3
AIM = 5.0


def prepare(root: Path) -> None:
    (root / ".instar").mkdir()
    (root / "instar.yml").write_text(PROJECT)
    write_instar(root, MODELS)
    with duckdb.connect(str(root / ".instar/dev.duckdb")) as connection:
        connection.execute(f"CREATE TABLE {TABLE} AS SELECT {SOURCE} FROM range(100) r(i)")


def planned(root: Path) -> Measured:
    plan = [*INSTAR, "plan", "--format", "json", "--detailed-exit-code"]
    return middle([command(plan, root, expect=(5,)) for _ in range(ROUNDS)])


def deployed(root: Path) -> Measured:
    """Every model's table is there (empty: a plan does not look at rows), and ten queries change."""
    with duckdb.connect(str(root / ".instar/dev.duckdb")) as connection:
        for model in models(MODELS):
            query = model.query.format(parent=model.parent or TABLE)
            connection.execute(f"CREATE TABLE {model.name} AS {query} LIMIT 0")
    change_instar(root, [f"m{n:04}" for n in range(CHANGED)])
    return planned(root)


def sqlmesh(folder: Path) -> Measured | None:
    """None where it does not install."""
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(venv / "bin/pip"), "install", "-q", "--disable-pip-version-check", "sqlmesh"]
    if subprocess.run(pip, capture_output=True, check=False).returncode:
        return None
    root = folder / "sqlmesh"
    write_sqlmesh(root, MODELS)
    with duckdb.connect(
        str(root / "dev.duckdb"), config={"storage_compatibility_version": "v1.0.0"}
    ) as c:
        c.execute(f"CREATE TABLE {TABLE} AS SELECT {SOURCE} FROM range(100) r(i)")
    os.environ["SQLMESH__DISABLE_ANONYMIZED_ANALYTICS"] = "1"
    plan = [str(venv / "bin/sqlmesh"), "plan", "--no-prompts", "--skip-tests"]
    return command(plan, root, expect=(0, 1), stdin=subprocess.DEVNULL)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = folder / "instar"
        root.mkdir()
        prepare(root)
        new = planned(root)
        print(f"models_1000: instar plan, {MODELS} new models      {new}", flush=True)
        if os.environ.get("INSTAR_BENCH_PEERS") != "0":
            peer = sqlmesh(folder)
            if peer is None:
                print("models_1000: SQLMesh could not be installed here; left out")
            else:
                print(f"models_1000: SQLMesh plan, the same new models  {peer}")
                print(
                    f"models_1000: {new.wall / peer.wall:.2f}x wall, {new.cpu / peer.cpu:.2f}x CPU"
                )
        changed = deployed(root)
        print(f"models_1000: instar plan, {CHANGED} of {MODELS} changed   {changed}")
        print(
            f"models_1000: aim {AIM:.0f} s wall: {'met' if max(new.wall, changed.wall) < AIM else 'MISSED'}"
        )


if __name__ == "__main__":
    main()
