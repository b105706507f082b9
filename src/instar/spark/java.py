"""Finds a Java that Spark can run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from instar.errors import EnvironmentProblem
from instar.spark.versions import JAVA

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation: what JAVA_HOME should say, and its major version."""

    home: Path
    major: int


def find_java() -> Java:
    """JAVA_HOME first, then PATH; an unsuitable one is passed over if the other fits."""
    seen: list[str] = []
    for executable in _candidates():
        major = _major(executable)
        if major in JAVA:
            return Java(executable.resolve().parent.parent, major)
        seen.append(f"{executable} is {'not usable' if major is None else f'Java {major}'}")
    found = "; ".join(seen) or "no `java` in JAVA_HOME or on PATH"
    raise EnvironmentProblem(
        "E201",
        f"Spark needs Java {JAVA[0]} or {JAVA[1]}: {found}.",
        hint="Install a JDK 17 (Debian: openjdk-17-jre-headless; macOS: brew install openjdk@17)"
        " or point JAVA_HOME at one.",
    )


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path)


def _major(executable: Path) -> int | None:
    try:
        done = subprocess.run(
            [str(executable), "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    told = _VERSION.search(done.stderr + done.stdout)
    return int(told.group(1)) if told and done.returncode == 0 else None
