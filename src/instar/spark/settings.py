"""What a project says about its Spark: where its data lives and how to reach the engine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

IDLE_SECONDS = 15 * 60.0


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Nothing but `root` means an embedded local Spark; `connect_url` or `master` name another."""

    root: Path
    connect_url: str | None = None
    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    jars: Path | None = None
    repository: str | None = None
    idle_seconds: float = IDLE_SECONDS

    @property
    def jars_folder(self) -> Path | None:
        """The folder that holds the engine jars, where one is named; the environment wins."""
        named = os.environ.get("INSTAR_JARS")
        return Path(named) if named else self.jars

    @property
    def maven_repository(self) -> str | None:
        """The mirror to fetch jars from, where one is named; the environment wins."""
        return os.environ.get("INSTAR_MAVEN_REPOSITORY") or self.repository
