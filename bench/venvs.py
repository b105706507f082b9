"""Environments of their own for the tools that stand beside Instar, kept in .bench/ between runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).parent.parent / ".bench"
OUTSIDE = {
    **{k: v for k, v in os.environ.items() if not k.startswith("PYTHON")},
    "SQLMESH__DISABLE_ANONYMIZED_ANALYTICS": "1",
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
}
"""Neither this checkout nor a setting for its own Python reaches them."""


@dataclass(frozen=True, slots=True)
class NotThere:
    """Why a tool could not be installed, in one line."""

    why: str


def installed(name: str, packages: Sequence[str]) -> Path | NotThere:
    """The folder with a tool's commands. Wheels only: nothing is built, nothing comes from elsewhere."""
    venv = HOME / "venvs" / name
    done = venv / ".installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        pip = [
            str(venv / "bin/python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
        ]
        run = subprocess.run(
            [*pip, "--disable-pip-version-check", *packages],
            env=OUTSIDE,
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            said = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
            return NotThere((said or ["pip failed"])[-1].removeprefix("ERROR: "))
        done.touch()
    return venv / "bin"
