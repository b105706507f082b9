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

ORDERS = TableName("main", "orders")

HOLD = """
import sys, pathlib
from instar.state import open_store
from instar.core.schema import TableName
with open_store(sys.argv[2], pathlib.Path(sys.argv[1])) as store:
    with store.lock('dev', TableName('main', 'orders'), 'instar apply'):
        print('held', flush=True)
        sys.stdin.read()
"""


def started(script: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def heard(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def tell(child: subprocess.Popen[str], word: str) -> None:
    assert child.stdin is not None
    child.stdin.write(f"{word}\n")
    child.stdin.flush()


def holding(root: Path, url: str) -> subprocess.Popen[str]:
    """Another process that holds the lock until its stdin is closed."""
    child = started(HOLD, str(root), url)
    assert heard(child) == "held"
    return child


def written(store: Store, statement: str) -> None:
    with store._database.write() as sql:
        sql.execute(statement)


class Clock:
    """A clock that a test moves by hand."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


def test_a_second_process_is_told_who_holds_the_table(
    store: Store, tmp_path: Path, state_url: str
) -> None:
    other = holding(tmp_path, state_url)
    with pytest.raises(StateError) as caught, store.lock("dev", ORDERS, "me"):
        pass
    assert caught.value.code == "E303"
    assert f"process {other.pid} on {os.uname().nodename}" in caught.value.message
    assert "'instar apply'" in caught.value.message
    assert "since 20" in caught.value.message
    other.communicate("")
    with store.lock("dev", ORDERS, "me"):
        pass


def test_other_tables_and_environments_are_free(
    store: Store, tmp_path: Path, state_url: str
) -> None:
    other = holding(tmp_path, state_url)
    with store.lock("prod", ORDERS, "me"), store.lock("dev", TableName("main", "items"), "me"):
        pass
    other.communicate("")


def test_the_lock_of_a_killed_process_is_taken_over_at_once(
    store: Store, tmp_path: Path, state_url: str
) -> None:
    other = holding(tmp_path, state_url)
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    with store.lock("dev", ORDERS, "me"):
        held = store.holder("dev", ORDERS)
        assert held is not None
        assert held.process.pid == os.getpid()


def test_a_zombie_holds_nothing(store: Store, tmp_path: Path, state_url: str) -> None:
    other = holding(tmp_path, state_url)
    os.kill(other.pid, signal.SIGKILL)
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    with store.lock("dev", ORDERS, "me"):
        pass
    other.wait()


def test_an_expired_lease_is_taken_over_and_the_first_holder_notices(
    tmp_path: Path, state_url: str
) -> None:
    clock = Clock()
    first, second = open_store(state_url, tmp_path, clock), open_store(state_url, tmp_path, clock)
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


def test_the_first_holder_does_not_release_a_lock_that_is_no_longer_its_own(
    tmp_path: Path, state_url: str
) -> None:
    clock = Clock()
    store = open_store(state_url, tmp_path, clock)
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
        written(store, "UPDATE locks SET born = '1'")
        with store.lock("dev", ORDERS, "somebody else"):
            pass


def test_a_process_on_another_machine_is_never_declared_dead(store: Store) -> None:
    with store.lock("dev", ORDERS, "me"):
        written(store, "UPDATE locks SET node = 'elsewhere', pid = 2147483646")
        with pytest.raises(StateError), store.lock("dev", ORDERS, "somebody else"):
            pass


def test_the_lock_is_free_after_an_error_inside(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.lock("dev", ORDERS, "me"):
        raise ZeroDivisionError
    assert store.holder("dev", ORDERS) is None


def test_the_lock_of_a_killed_process_elsewhere_is_free_when_its_lease_has_run_out(
    store: Store, tmp_path: Path, state_url: str
) -> None:
    other = holding(tmp_path, state_url)
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    written(store, "UPDATE locks SET node = 'elsewhere'")
    with pytest.raises(StateError) as caught, store.lock("dev", ORDERS, "me"):
        pass
    assert caught.value.code == "E303"
    written(store, "UPDATE locks SET expires = since")
    with store.lock("dev", ORDERS, "me"):
        pass


RACE = """
import sys, pathlib
from instar.errors import StateError
from instar.state import open_store
from instar.core.schema import TableName
with open_store(sys.argv[2], pathlib.Path(sys.argv[1])) as store:
    print('ready', flush=True)
    for line in sys.stdin:
        try:
            with store.lock('dev', TableName('main', line.strip()), 'instar apply'):
                print('won', flush=True)
                sys.stdin.readline()
        except StateError as error:
            print(error.code, flush=True)
            sys.stdin.readline()
        print('done', flush=True)
"""


def test_of_processes_that_want_a_lock_at_once_exactly_one_has_it(
    tmp_path: Path, state_url: str
) -> None:
    children = [started(RACE, str(tmp_path), state_url) for _ in range(4)]
    assert [heard(c) for c in children] == ["ready"] * 4
    for n in range(10):
        for child in children:
            tell(child, f"t{n}")
        assert sorted(heard(c) for c in children) == ["E303", "E303", "E303", "won"]
        for child in children:
            tell(child, "let go")
        assert [heard(c) for c in children] == ["done"] * 4
    for child in children:
        child.communicate()
    assert [child.returncode for child in children] == [0] * 4
