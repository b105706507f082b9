"""Ctrl-C during a run: the statement that runs is cancelled, and the run can be resumed."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cli.running import environment
from models.world import World, statuses
from starting import HEEDS_CTRL_C, first

PATIENCE = 240.0


def begun(root: Path, status: str) -> bool:
    state = root / ".instar" / "state.db"
    if not state.exists():
        return False
    with sqlite3.connect(state) as connection:
        tables = {r[0] for r in connection.execute("SELECT name FROM sqlite_master")}
        if "model_results" not in tables:
            return False
        found = connection.execute("SELECT status FROM model_results").fetchall()
    return (status,) in found


def interrupted(root: Path, until: Callable[[], bool]) -> None:
    """`instar run` until the endless model runs, then ^C: the command ends, and says how to go on."""
    process = subprocess.Popen(
        first(HEEDS_CTRL_C, [sys.executable, "-m", "instar.cli.main", "run", "--yes"]),
        cwd=root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert process.poll() is None, process.communicate()[1].decode()
            assert time.monotonic() < deadline, "the endless model was never begun"
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 130, said.decode()
    assert b"instar run --resume" in said


def test_ctrl_c_cancels_what_runs_and_the_run_can_be_resumed(world: World) -> None:
    world.sql("CREATE TABLE raw AS SELECT 1 AS id")
    world.model("a_quick", "SELECT id FROM raw")
    world.model(
        "b_endless", "SELECT sum(hash(a.i + b.i)) AS s FROM range(10000000) a(i), range(10000) b(i)"
    )

    def until() -> bool:
        """The quick model is built, and a moment later the endless one runs."""
        found = begun(world.root, "built")
        time.sleep(1.0 if found else 0.0)
        return found

    interrupted(world.root, until)
    world.model("b_endless", "SELECT 1 AS s")
    report = world.run(resume=True, flags=("allow_full_refresh",))
    assert statuses(report) == {
        "a_quick": "skipped",
        "b_endless": "built",
    }
