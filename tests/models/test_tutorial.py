"""The tutorial, step by step as it stands in the docs: its files, its commands, its results."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import duckdb
import pytest

from instar.cli import main, screen

DOC = Path(__file__).parents[2] / "docs" / "tutorial-models.md"
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_tutorial_works_as_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = ""
    blocks = BLOCK.findall(DOC.read_text(encoding="utf-8"))
    assert [kind for kind, _, _ in blocks].count("check") == 3
    for kind, said, body in blocks:
        match kind:
            case "file":
                path = tmp_path / said
                path.parent.mkdir(exist_ok=True)
                path.write_text(body)
            case "run":
                screen.use(screen.Screen())
                args = [*shlex.split(body)[1:], "--project", str(tmp_path)]
                expected = int(said.removeprefix("exit=")) if said else 0
                assert main.run(args) == expected, capsys.readouterr()
                seen = capsys.readouterr().out
            case "sql" | "check":
                with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
                    rows = connection.execute(said if kind == "check" else body).fetchall()
                if kind == "check":
                    assert ["  ".join(map(str, r)).split() for r in rows] == [
                        line.split() for line in body.splitlines()
                    ]
            case _:
                raise AssertionError(f"a block of kind {kind}")
    assert "main.best.best\n  <- main.daily.total\n    <- main.clean.amount" in seen
