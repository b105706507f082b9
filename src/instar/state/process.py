"""Who is a process, beyond its number: numbers are reused, and containers share them."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """`node` is where the number counts (machine, boot, pid namespace); `born` tells reuse apart."""

    host: str
    node: str
    pid: int
    born: str


def this_process() -> Process:
    pid = os.getpid()
    return Process(socket.gethostname(), _node(), pid, _born(pid))


def is_dead(process: Process) -> bool:
    """True only when it is certain: the same node, and no such process any more."""
    if process.node != _node():
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    born = _born(process.pid)
    return bool(process.born and born and born != process.born)


def _node() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        # Machines of one name may share a state store; without an address of its own, none is alike.
        return f"{socket.gethostname()}/{uuid.getnode():x}"


def _born(pid: int) -> str:
    """The start of a process in clock ticks since boot; empty where the system does not say."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The name in parentheses may hold anything, so count from its end; a zombie is as good as gone.
    state, *rest = stat.rpartition(")")[2].split()
    return "ended" if state in "ZX" else rest[18]
