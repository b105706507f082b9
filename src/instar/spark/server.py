"""The local server from a command's side: find it, start it if need be, say how it is, stop it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from instar.errors import EnvironmentProblem
from instar.spark.conf import log4j_text, properties_text, server_conf
from instar.spark.files import FileLock, ServerFiles, is_held, locked, wait_free, write_private
from instar.spark.jars import engine_jars
from instar.spark.launch import clean_environment, script
from instar.spark.orders import STARTING, Orders, Ready, read_ready
from instar.spark.settings import SparkSettings

_SERVER_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_STOP_SECONDS = 20.0
_TELLING = re.compile(r"Exception|Error|ERROR|Caused by|Could not|cannot|failed")


@dataclass(frozen=True, slots=True)
class Lease:
    """A server that may be used, and that will not end on its own before `release`."""

    port: int
    token: str
    lock: FileLock

    def release(self) -> None:
        self.lock.close()


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A running local server, without its token."""

    pid: int
    jvm: int
    port: int
    started: float
    log: Path


def lease_server(settings: SparkSettings, note: Callable[[str], None]) -> Lease:
    """A lease on the project's server, started first where there is none that fits."""
    files = ServerFiles(settings.root.absolute())
    conf = _conf(settings, files, note)
    try:
        lock = FileLock(files.lease)
        try:
            return _lease(lock, files, settings, conf, note)
        except BaseException:
            lock.close()
            raise
    except OSError as error:
        raise EnvironmentProblem(
            "E204",
            f"The folder of the local Spark server cannot be used: {error}",
            hint=f"It must be a local folder that you may write: {files.folder}",
        ) from error


def server_status(root: Path) -> ServerStatus | None:
    """The running server of a project, or None."""
    files = ServerFiles(root.absolute())
    ready = _running(files)
    if ready is None:
        return None
    return ServerStatus(ready.pid, ready.jvm, ready.port, ready.started, files.log)


def stop_server(root: Path) -> bool:
    """Stop the project's server, whoever uses it; False when there was none."""
    files = ServerFiles(root.absolute())
    if not files.folder.is_dir():
        return False
    with locked(files.start_lock):
        return _stop(files)


def _lease(
    lock: FileLock,
    files: ServerFiles,
    settings: SparkSettings,
    conf: str,
    note: Callable[[str], None],
) -> Lease:
    fingerprint = hashlib.sha256(conf.encode()).hexdigest()
    while True:
        lock.shared()
        ready = _running(files)
        if ready is not None and ready.fingerprint == fingerprint:
            return Lease(ready.port, ready.token, lock)
        lock.unlock()
        _replace(files, settings, conf, fingerprint, note)


def _running(files: ServerFiles) -> Ready | None:
    ready = read_ready(files)
    if ready is None or ready.port == STARTING or not is_held(files.alive_lock):
        return None
    return ready


def _replace(
    files: ServerFiles,
    settings: SparkSettings,
    conf: str,
    fingerprint: str,
    note: Callable[[str], None],
) -> None:
    with locked(files.start_lock):
        ready = _running(files)
        if ready is not None and ready.fingerprint == fingerprint:
            return
        if ready is not None:
            _refuse_if_used(files)
            note("The local Spark server has other settings; it is being restarted.")
        _stop(files)
        note("Starting a local Spark server; later commands will use it.")
        _start(files, settings, conf, fingerprint)


def _refuse_if_used(files: ServerFiles) -> None:
    lease = FileLock(files.lease)
    try:
        for _ in range(20):
            if lease.try_alone():
                return
            # The supervisor asks the same question five times a second.
            time.sleep(0.05)
    finally:
        lease.close()
    raise EnvironmentProblem(
        "E205",
        "The project's local Spark server was started with other settings and is in use.",
        hint="Wait until the other command has ended, or give both the same `conf` and jars.",
    )


def _conf(settings: SparkSettings, files: ServerFiles, note: Callable[[str], None]) -> str:
    jars = engine_jars(settings, note)
    return properties_text(server_conf(files.root, files.tmp, jars, dict(settings.conf)))


def _start(files: ServerFiles, settings: SparkSettings, conf: str, fingerprint: str) -> None:
    write_private(files.conf / "spark-defaults.conf", conf)
    write_private(files.conf / "log4j2.properties", log4j_text())
    orders = Orders(
        root=str(files.root),
        command=[script("spark-submit"), "--class", _SERVER_CLASS, "spark-internal"],
        environment=clean_environment(files.conf),
        fingerprint=fingerprint,
        idle_seconds=settings.idle_seconds,
    )
    package = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    with (
        files.supervisor_log.open("wb") as log,
        subprocess.Popen(
            [sys.executable, "-m", "instar.spark.supervisor"],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=files.folder,
        ) as process,
    ):
        answer, _ = process.communicate(json.dumps(asdict(orders)).encode())
    if answer.strip() != b"ready":
        raise _did_not_start(files)


def _did_not_start(files: ServerFiles) -> EnvironmentProblem:
    line = "the log is empty"
    for log in (files.supervisor_log, files.log):
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        telling = [text.strip() for text in lines if _TELLING.search(text)]
        line = telling[-1] if telling else line
    return EnvironmentProblem(
        "E204",
        f"The local Spark server did not start: {line}",
        hint=f"The whole log is in {files.log}.",
    )


def _stop(files: ServerFiles) -> bool:
    """End what lives, gently and then not; the caller holds the start lock."""
    if not is_held(files.alive_lock):
        files.ready.unlink(missing_ok=True)
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        ready = read_ready(files)
        if ready is not None:
            _signal(ready.pid, number)
        if ready is not None and not _is_ours(ready.pid):
            # Orphaned where the kernel cannot tie a child to its parent.
            _signal(ready.jvm, number)
        if wait_free(files.alive_lock, _STOP_SECONDS):
            files.ready.unlink(missing_ok=True)
            return True
    raise EnvironmentProblem(
        "E204",
        f"An old Spark server of this project still runs and does not end ({files.folder}).",
        hint="End it by hand (its command line names that folder), then try again.",
    )


def _signal(pid: int, number: signal.Signals) -> None:
    if _is_ours(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _is_ours(pid: int) -> bool:
    """Numbers of dead processes are used again; ours are known by their command line."""
    listed = Path(f"/proc/{pid}/cmdline")
    if listed.exists():
        shown = listed.read_bytes().decode(errors="replace")
    else:
        shown = subprocess.run(
            ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout
    return "instar.spark.supervisor" in shown or _SERVER_CLASS in shown
