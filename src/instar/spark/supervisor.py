"""The detached process that owns one local Spark server: starts it, watches it, ends it when idle.

Run as `python -m instar.spark.supervisor`; its orders come as JSON on stdin, and it answers with
one line on stdout: `ready`, or what went wrong.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType

from instar.spark.files import FileLock, ServerFiles, write_private
from instar.spark.orders import STARTING, Orders, Ready, read_ready

START_SECONDS = 240.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.2
_STARTED = re.compile(r"Spark Connect server started at: \S*:(\d+)")
_PR_SET_PDEATHSIG = 1


class Supervisor:
    """One server: its JVM, the lock that says it lives, the lease that says it is used."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.files = ServerFiles(Path(orders.root))
        self.alive = FileLock(self.files.alive_lock)
        self.lease = FileLock(self.files.lease)
        self.jvm: subprocess.Popen[bytes] | None = None
        self.stopping = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self._on_signal)
        self.alive.alone()
        try:
            problem = self._start()
            _answer(problem or "ready")
            if problem is None:
                self._watch()
        finally:
            self._end()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.stopping = True

    def _start(self) -> str | None:
        token = secrets.token_urlsafe(32)
        self._fresh_folders()
        with self.files.log.open("wb") as log:
            self.jvm = subprocess.Popen(
                self.orders.command,
                env=self.orders.environment | {"SPARK_CONNECT_AUTHENTICATE_TOKEN": token},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.files.folder,
                # The JVM holds the lock too: no second server while it lives.
                pass_fds=[self.alive.fd],
                preexec_fn=die_with_parent,
            )
        starting = Ready(
            os.getpid(), self.jvm.pid, STARTING, token, self.orders.fingerprint, time.time()
        )
        write_private(self.files.ready, json.dumps(asdict(starting)))
        port = self._wait_for_port(self.jvm)
        if port is None:
            return "failed"
        write_private(self.files.ready, json.dumps(asdict(replace(starting, port=port))))
        return None

    def _fresh_folders(self) -> None:
        shutil.rmtree(self.files.tmp, ignore_errors=True)
        self.files.tmp.mkdir(parents=True)
        if self.files.log.exists():
            self.files.log.replace(self.files.log.with_suffix(".log.1"))

    def _wait_for_port(self, jvm: subprocess.Popen[bytes]) -> int | None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and not self.stopping:
            told = _STARTED.search(self.files.log.read_text(errors="replace"))
            if told:
                return int(told.group(1))
            if jvm.poll() is not None:
                return None
            time.sleep(0.05)
        return None

    def _watch(self) -> None:
        used = time.monotonic()
        while not self.stopping and self._is_running():
            if not self.lease.try_alone():
                used = time.monotonic()
            elif time.monotonic() - used > self.orders.idle_seconds:
                # The lease stays ours until the JVM is gone: who comes now waits, then starts anew.
                return
            else:
                self.lease.unlock()
            time.sleep(_POLL_SECONDS)

    def _is_running(self) -> bool:
        if self.jvm is None or self.jvm.poll() is not None:
            return False
        ready = read_ready(self.files)
        # Gone or another's: the project folder was removed under us.
        return ready is not None and ready.pid == os.getpid()

    def _end(self) -> None:
        ready = read_ready(self.files)
        if ready is not None and ready.pid == os.getpid():
            self.files.ready.unlink(missing_ok=True)
        if self.jvm is not None:
            self.jvm.terminate()
            try:
                self.jvm.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.jvm.kill()
                self.jvm.wait()
        shutil.rmtree(self.files.tmp, ignore_errors=True)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent dies; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def detach() -> None:
    """Leave the caller's terminal and process group, with nobody to wait for us."""
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _answer(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
    # The caller reads until the end; it must not wait for our whole life.
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)


def main() -> None:
    orders = Orders(**json.loads(sys.stdin.read()))
    detach()
    Supervisor(orders).run()


if __name__ == "__main__":
    main()
