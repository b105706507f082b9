"""Two processes want the same table: one works, the other is told; a dead one is succeeded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apply.worlds import ENV, NAME, PLAIN, ROWS, plan, wanted
from instar.apply import Result, apply_table, resume
from instar.backends.memory import MemoryBackend
from instar.core.types import Column, String
from instar.errors import StateError
from instar.state import Store

NOTE = wanted(*PLAIN.columns, Column("note", String()))

APPLY = """
import sys
from pathlib import Path
from apply.test_two_processes import ENV, NOTE, plan, MemoryBackend, apply_table
from instar.state import open_store

def wait_there(name):
    if name == sys.argv[2]:
        print("there", flush=True)
        sys.stdin.readline()

root = Path(sys.argv[1])
backend, store = MemoryBackend(root / "engine.json"), open_store(sys.argv[3], root)
apply_table(plan(backend, store, NOTE), backend, store, ENV, failpoint=wait_there)
"""


def applying(root: Path, place: str, state: str) -> subprocess.Popen[str]:
    """Another process in the middle of an apply."""
    child = subprocess.Popen(
        [sys.executable, "-c", APPLY, str(root), place, state],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "there\n"
    return child


def test_the_second_is_told_and_may_work_when_the_first_has_ended(
    full: MemoryBackend, store: Store, tmp_path: Path, state_url: str
) -> None:
    change = plan(full, store, NOTE)
    other = applying(tmp_path, "alter:applying", state_url)
    with pytest.raises(StateError) as caught:
        apply_table(change, full, store, ENV)
    assert caught.value.code == "E303"
    assert f"process {other.pid} " in caught.value.message
    (run,) = store.unfinished(ENV)
    with pytest.raises(StateError) as caught:
        resume(full, store, ENV, run)
    assert caught.value.code == "E303", "a run that still goes on is not resumed"
    with pytest.raises(StateError) as caught:
        store.abandon(run)
    assert caught.value.code == "E303", "nor forgotten"
    other.communicate("\n")
    assert other.returncode == 0
    fresh = MemoryBackend(tmp_path / "engine.json")
    assert plan(fresh, store, NOTE).steps == ()


@pytest.mark.parametrize("place", ["alter:applying", "alter:ran"])
def test_the_second_goes_on_at_once_when_the_first_was_killed(
    full: MemoryBackend, store: Store, tmp_path: Path, state_url: str, place: str
) -> None:
    del full
    other = applying(tmp_path, place, state_url)
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    (run,) = store.unfinished(ENV)
    fresh = MemoryBackend(tmp_path / "engine.json")
    assert resume(fresh, store, ENV, run).result is Result.APPLIED
    assert fresh.rows(NAME) == [{**r, "note": None} for r in ROWS]
