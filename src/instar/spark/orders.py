"""What a command and the supervisor tell each other: orders one way, the ready file the other."""

from __future__ import annotations

import json
from dataclasses import dataclass

from instar.spark.files import ServerFiles

STARTING = 0


@dataclass(frozen=True, slots=True)
class Orders:
    """What the starting command asks for."""

    root: str
    command: list[str]
    environment: dict[str, str]
    fingerprint: str
    idle_seconds: float


@dataclass(frozen=True, slots=True)
class Ready:
    """The content of the ready file; `port` is STARTING until the server answers."""

    pid: int
    jvm: int
    port: int
    token: str
    fingerprint: str
    started: float


def read_ready(files: ServerFiles) -> Ready | None:
    """The ready file, if there is one that can be read."""
    try:
        return Ready(**json.loads(files.ready.read_text()))
    except (OSError, ValueError, TypeError):
        return None
