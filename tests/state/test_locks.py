"""One process a table: who has the lock, how it is kept, how it is taken over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from instar.core.schema import TableName
from instar.errors import StateError
from instar.state import Store, open_store

URL = "sqlite:///state.db"
ORDERS = TableName("main", "orders")

HOLD = """
import sys, pathlib
from instar.state import open_store
from instar.core.schema import TableName
with open_store('sqlite:///state.db', pathlib.Path(sys.argv[1])) as store:
    with store.lock('dev', TableName('main', 'orders'), 'instar apply'):
        print('held', flush=True)
        sys.stdin.read()
"""


def holding(root: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its stdin is closed."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


class Clock:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(URL, tmp_path)


def test_a_second_process_is_told_who_holds_the_table(store: Store, tmp_path: Path) -> None:
    other = holding(tmp_path)
    with pytest.raises(StateError) as caught, store.lock("dev", ORDERS, "me"):
        pass
    assert caught.value.code == "E303"
    assert f"process {other.pid} on {os.uname().nodename}" in caught.value.message
    assert "'instar apply'" in caught.value.message
    assert "since 20" in caught.value.message
    other.communicate("")
    with store.lock("dev", ORDERS, "me"):
        pass


def test_other_tables_and_environments_are_free(store: Store, tmp_path: Path) -> None:
    other = holding(tmp_path)
    with store.lock("prod", ORDERS, "me"), store.lock("dev", TableName("main", "items"), "me"):
        pass
    other.communicate("")


def test_the_lock_of_a_killed_process_is_taken_over_at_once(store: Store, tmp_path: Path) -> None:
    other = holding(tmp_path)
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    with store.lock("dev", ORDERS, "me"):
        held = store.holder("dev", ORDERS)
        assert held is not None
        assert held.process.pid == os.getpid()


def test_a_zombie_holds_nothing(store: Store, tmp_path: Path) -> None:
    other = holding(tmp_path)
    os.kill(other.pid, signal.SIGKILL)
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    with store.lock("dev", ORDERS, "me"):
        pass
    other.wait()


def test_an_expired_lease_is_taken_over_and_the_first_holder_notices(tmp_path: Path) -> None:
    clock = Clock()
    first, second = open_store(URL, tmp_path, clock), open_store(URL, tmp_path, clock)
    lock = first.lock("dev", ORDERS, "sleeper")
    with lock:
        with pytest.raises(StateError), second.lock("dev", ORDERS, "me"):
            pass
        clock.now += 61
        with second.lock("dev", ORDERS, "me"):
            with pytest.raises(StateError) as caught:
                lock.check()
            assert caught.value.code == "E308"
            held = second.holder("dev", ORDERS)
            assert held is not None
            assert held.owner == "me"
    assert first.holder("dev", ORDERS) is None


def test_the_first_holder_does_not_release_a_lock_that_is_no_longer_its_own(tmp_path: Path) -> None:
    clock = Clock()
    store = open_store(URL, tmp_path, clock)
    first, second = store.lock("dev", ORDERS, "first"), store.lock("dev", ORDERS, "second")
    first.__enter__()
    clock.now += 61
    second.__enter__()
    first.__exit__(None, None, None)
    held = store.holder("dev", ORDERS)
    assert held is not None
    assert held.owner == "second"
    second.__exit__(None, None, None)


def test_a_heartbeat_renews_the_lease(store: Store) -> None:
    with store.lock("dev", ORDERS, "me", lease=0.4):
        first = store.holder("dev", ORDERS)
        assert first is not None
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            now = store.holder("dev", ORDERS)
            if now is not None and now.expires > first.expires:
                break
            time.sleep(0.02)
        else:
            pytest.fail("the lease was never renewed")


def test_a_reused_process_number_is_no_holder(store: Store) -> None:
    with store.lock("dev", ORDERS, "me"):
        store._database.read("UPDATE locks SET born = '1'")
        with store.lock("dev", ORDERS, "somebody else"):
            pass


def test_a_process_on_another_machine_is_never_declared_dead(store: Store) -> None:
    with store.lock("dev", ORDERS, "me"):
        store._database.read("UPDATE locks SET node = 'elsewhere', pid = 2147483646")
        with pytest.raises(StateError), store.lock("dev", ORDERS, "somebody else"):
            pass


def test_the_lock_is_free_after_an_error_inside(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.lock("dev", ORDERS, "me"):
        raise ZeroDivisionError
    assert store.holder("dev", ORDERS) is None
