"""The tutorial, run as it is written: every YAML block is a file, every `$` line a command."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"```(yaml|console)\n(.*?)```", re.DOTALL)
EXPECTED = re.compile(r"#\s*exit (\d+)")


def test_the_tutorial_works_as_pasted(tmp_path: Path) -> None:
    ran = []
    for kind, text in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8")):
        if kind == "yaml":
            (tmp_path / "tables" / "orders.yml").write_text(text)
            continue
        for line in text.splitlines():
            command, expected = line.removeprefix("$ "), EXPECTED.search(line)
            done = run(command.split("  #")[0], tmp_path)
            ran.append(command)
            assert done.returncode == (int(expected[1]) if expected else 0), (
                f"{command}\n{done.stdout}\n{done.stderr}"
            )
            if "plan --env quick" in command and ran.count(command) == 3:
                assert "nothing to do" in done.stdout
    assert len(ran) >= 10


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    program = {"instar": [sys.executable, "-m", "instar.cli.main"], "python": [sys.executable]}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("INSTAR_")}
    return subprocess.run(
        [*program[words[0]], *words[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
