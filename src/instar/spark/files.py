"""The files of the local server under the project's folder, and the locks on them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Where everything of one local server is; data and running state side by side."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "spark"

    @property
    def conf(self) -> Path:
        return self.folder / "conf"

    @property
    def tmp(self) -> Path:
        return self.folder / "tmp"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def supervisor_log(self) -> Path:
        return self.folder / "supervisor.log"

    @property
    def ready(self) -> Path:
        """Written when the server answers; holds its token, so only its owner may read it."""
        return self.folder / "server.json"

    @property
    def start_lock(self) -> Path:
        """Held by the one command that starts or stops the server."""
        return self.folder / "start.lock"

    @property
    def alive_lock(self) -> Path:
        """Held by the supervisor and its JVM for as long as either lives."""
        return self.folder / "alive.lock"

    @property
    def lease(self) -> Path:
        """Held, shared, by every client with an open session; alone by who ends the server."""
        return self.folder / "lease.lock"


class FileLock:
    """An flock on a file: the kernel lets go of it when the process dies, however it dies."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def shared(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_SH)

    def alone(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def try_alone(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        return self._try(fcntl.LOCK_SH)

    def unlock(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def locked(path: Path) -> Iterator[FileLock]:
    """Hold the lock alone while the block runs."""
    lock = FileLock(path)
    try:
        lock.alone()
        yield lock
    finally:
        lock.close()


def is_held(path: Path) -> bool:
    """Whether someone holds the lock alone; asking never looks like holding to another asker."""
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        return not lock.try_shared()
    finally:
        lock.close()


def wait_free(path: Path, seconds: float) -> bool:
    """Wait until nobody holds the lock alone; False when the time is up."""
    until = time.monotonic() + seconds
    while is_held(path):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step; nobody else may read it at any moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    aside.replace(path)
