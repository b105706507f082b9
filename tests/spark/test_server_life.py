"""The life of the local server: started once, found again, ended, never orphaned."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from instar.errors import EnvironmentProblem
from instar.spark.files import ServerFiles
from instar.spark.orders import read_ready
from instar.spark.server import Lease, lease_server, server_status, stop_server
from spark.conftest import StandIn

Note = Callable[[str], None]


def eventually(check: Callable[[], bool], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def is_gone(pid: int) -> bool:
    try:
        stat_line = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat_line.rsplit(")", 1)[1].split()[0] == "Z"


def test_second_command_finds_the_first_ones_server(
    stand_in: StandIn, note: Note, notes: list[str]
) -> None:
    first = lease_server(stand_in.settings(), note)
    second = lease_server(stand_in.settings(), note)
    assert (first.port, first.token) == (second.port, second.token)
    assert stand_in.starts == 1
    assert len(notes) == 1
    assert first.token not in repr(server_status(stand_in.root)) + "".join(notes)
    first.release()
    second.release()


def test_ready_file_and_conf_are_for_the_owner_only(stand_in: StandIn, note: Note) -> None:
    lease_server(stand_in.settings(), note).release()
    files = ServerFiles(stand_in.root)
    for path in (files.ready, files.conf / "spark-defaults.conf"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_many_starters_at_once_make_one_server(stand_in: StandIn, note: Note) -> None:
    stand_in.write(delay=0.3)
    leases: list[Lease] = []
    threads = [
        threading.Thread(target=lambda: leases.append(lease_server(stand_in.settings(), note)))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({lease.token for lease in leases}) == 1
    assert stand_in.starts == 1
    for lease in leases:
        lease.release()


def test_stop_ends_both_processes(stand_in: StandIn, note: Note) -> None:
    lease_server(stand_in.settings(), note).release()
    status = server_status(stand_in.root)
    assert status is not None
    assert stop_server(stand_in.root) is True
    assert is_gone(status.pid)
    assert is_gone(status.jvm)
    assert server_status(stand_in.root) is None
    assert stop_server(stand_in.root) is False


@pytest.mark.parametrize("victim", ["supervisor", "jvm"])
def test_one_killed_takes_the_other_along_and_the_file_is_replaced(
    stand_in: StandIn, note: Note, victim: str
) -> None:
    old = lease_server(stand_in.settings(), note)
    old.release()
    status = server_status(stand_in.root)
    assert status is not None
    os.kill(status.pid if victim == "supervisor" else status.jvm, signal.SIGKILL)
    assert eventually(lambda: is_gone(status.pid) and is_gone(status.jvm))
    new = lease_server(stand_in.settings(), note)
    assert new.token != old.token
    assert stand_in.starts == 2
    new.release()


def test_idle_server_ends_but_not_while_it_is_leased(stand_in: StandIn, note: Note) -> None:
    lease = lease_server(stand_in.settings(idle_seconds=0.3), note)
    time.sleep(1.0)
    assert server_status(stand_in.root) is not None
    lease.release()
    assert eventually(lambda: server_status(stand_in.root) is None)
    assert not eventually(lambda: ServerFiles(stand_in.root).ready.exists(), 0.1)


def test_removed_project_folder_ends_its_server(stand_in: StandIn, note: Note) -> None:
    lease_server(stand_in.settings(), note).release()
    status = server_status(stand_in.root)
    assert status is not None
    shutil.rmtree(stand_in.root)
    assert eventually(lambda: is_gone(status.pid) and is_gone(status.jvm))


def test_other_settings_restart_an_idle_server_and_spare_a_used_one(
    stand_in: StandIn, note: Note, notes: list[str]
) -> None:
    lease = lease_server(stand_in.settings(), note)
    with pytest.raises(EnvironmentProblem) as caught:
        lease_server(stand_in.settings(a="1"), note)
    assert caught.value.code == "E205"
    lease.release()
    other = lease_server(stand_in.settings(a="1"), note)
    assert other.token != lease.token
    assert any("other settings" in said for said in notes)
    other.release()


def test_server_that_does_not_start_is_explained_by_its_log(stand_in: StandIn, note: Note) -> None:
    stand_in.write(broken=True)
    with pytest.raises(EnvironmentProblem) as caught:
        lease_server(stand_in.settings(), note)
    assert caught.value.code == "E204"
    assert "BindException: no such luck" in caught.value.message
    assert str(ServerFiles(stand_in.root).log) in (caught.value.hint or "")
    stand_in.write()
    lease_server(stand_in.settings(), note).release()


def test_start_abandoned_by_its_command_is_taken_over(stand_in: StandIn, note: Note) -> None:
    stand_in.write(delay=5.0)
    refused: list[str] = []

    def first_command() -> None:
        try:
            lease_server(stand_in.settings(), note)
        except EnvironmentProblem as problem:
            refused.append(problem.code)

    thread = threading.Thread(target=first_command)
    thread.start()
    files = ServerFiles(stand_in.root)
    assert eventually(lambda: stand_in.starts == 1 and read_ready(files) is not None)
    assert server_status(stand_in.root) is None
    ready = read_ready(files)
    assert ready is not None
    os.kill(ready.pid, signal.SIGTERM)
    thread.join()
    assert refused == ["E204"]
    stand_in.write()
    lease_server(stand_in.settings(), note).release()
    assert stand_in.starts == 2
