"""The recipes for CI, run as they are written: on a blocked plan they comment, then fail."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from ruamel.yaml import YAML

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "run-in-ci.md"
BLOCKS = [
    YAML(typ="safe", pure=True).load(text)
    for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
]
# The forge cannot run here: this stands in for its comments, picked by what the recipe's jq names.
GH = r"""\
import json, pathlib, re, sys
words, store = sys.argv[2:], pathlib.Path("comments.json")
known = json.loads(store.read_text()) if store.exists() else []
place = next(w for w in words if w.startswith("repos/"))
body = next((pathlib.Path(w.removeprefix("body=@")) for w in words if w.startswith("body=@")), None)
if "--jq" in words:
    sieve = re.fullmatch(
        r'.\[\] . select\(.user.login == "(.+)" and \(.body . startswith\("(.+)"\)\)\) . .id',
        words[words.index("--jq") + 1],
    )
    mine = [c for c in known if c["user"]["login"] == sieve[1] and c["body"].startswith(sieve[2])]
    print(*(c["id"] for c in mine), sep="\n")
    sys.exit()
if "PATCH" in words:
    next(c for c in known if str(c["id"]) == place.split("/")[-1])["body"] = body.read_text()
else:
    user = {"login": "github-actions[bot]"}
    known.append({"id": len(known) + 1, "user": user, "body": body.read_text()})
store.write_text(json.dumps(known))
"""


class Runner:
    """A folder with a blocked project, and the programs that a runner has."""

    def __init__(self, root: Path) -> None:
        self.root = root
        tools = root / "bin"
        tools.mkdir()
        self._tool(tools / "instar", "-m instar.cli.main")
        (root / "gh.py").write_text(GH)
        self._tool(tools / "gh", str(root / "gh.py"))
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("INSTAR_")},
            "PATH": f"{tools}:{os.environ['PATH']}",
            "INSTAR_ENV": "dev",
            "GITHUB_OUTPUT": str(root / "output"),
            "GITHUB_STEP_SUMMARY": str(root / "summary"),
            "GITHUB_REPOSITORY": "shop/shop",
            "NUMBER": "7",
        }

    def _tool(self, path: Path, what: str) -> None:
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {what} "$@"\n')
        path.chmod(0o755)

    def shell(self, text: str) -> int:
        """As GitHub runs a step: it stops at the first command that fails."""
        done = subprocess.run(
            ["bash", "-e", "-c", text], cwd=self.root, env=self.env, check=False, timeout=120
        )
        return done.returncode

    def workflow(self) -> int:
        for name in ("Plan", "Comment"):
            assert self.shell(step(name)) == 0, name
        output = (self.root / "output").read_text().split()
        self.env["CODE"] = output[-1].removeprefix("code=")
        return self.shell(step("Result"))

    def comments(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.root / "comments.json").read_text())
        return found


def step(name: str) -> str:
    (job,) = workflow()["jobs"].values()
    text: str = next(s["run"] for s in job["steps"] if s.get("name") == name)
    return text


def workflow() -> dict[str, Any]:
    return next(b for b in BLOCKS if "jobs" in b)


def hooks() -> dict[str, dict[str, Any]]:
    (repo,) = next(b for b in BLOCKS if "repos" in b)["repos"]
    return {hook["id"]: hook for hook in repo["hooks"]}


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """`orders.zip` is to be a number, and one row of it is none."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "orders.yml").write_text(
        "table: orders\ncolumns:\n  - {name: id, type: INT}\n  - {name: zip, type: INT}\n"
    )
    (tmp_path / "instar.yml").write_text(
        "name: shop\nenvironments:\n  dev: {type: duckdb, database: shop.duckdb, schema: main}\n"
    )
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id, 'SW1A' AS zip")
    return Runner(tmp_path)


def test_a_blocked_plan_is_a_comment_and_then_a_failed_job(runner: Runner) -> None:
    assert runner.workflow() == 3
    (comment,) = runner.comments()
    assert comment["body"].startswith("<!-- instar plan dev -->\n## Instar plan for `dev`")
    assert "**F201**" in comment["body"]
    assert "SW1A" in (runner.root / "summary").read_text()


def test_the_next_push_changes_its_own_comment(runner: Runner) -> None:
    stranger = {"id": 1, "user": {"login": "ann"}, "body": "<!-- instar plan dev --> mine"}
    (runner.root / "comments.json").write_text(json.dumps([stranger]))
    runner.workflow()
    with duckdb.connect(str(runner.root / "shop.duckdb")) as connection:
        connection.execute("UPDATE orders SET zip = '1010'")
    (runner.root / "tables" / "orders.yml").write_text(
        "table: orders\ncolumns:\n  - {name: id, type: INT}\n  - {name: zip, type: STRING}\n"
    )
    assert runner.workflow() == 0
    first, second = runner.comments()
    assert first == stranger
    assert "nothing to do" in second["body"]


def test_an_error_is_a_comment_too(runner: Runner) -> None:
    (runner.root / "tables" / "orders.yml").write_text("tabel: orders\n")
    assert runner.workflow() == 1
    assert "**E103**" in runner.comments()[0]["body"]


def test_the_workflow_may_do_what_it_does() -> None:
    found = workflow()
    # YAML 1.1 would read the key `on` as true; GitHub and YAML 1.2 do not.
    assert found["on"] == "pull_request"
    assert found["permissions"] == {"contents": "read", "pull-requests": "write"}


def test_the_hooks_stop_at_what_is_wrong(runner: Runner) -> None:
    validate, plan = hooks()["instar-validate"], hooks()["instar-plan"]
    assert re.match(validate["files"], "tables/orders.yml")
    assert runner.shell(validate["entry"]) == 0
    assert runner.shell(plan["entry"]) == 3
    assert "**F201**" in (runner.root / ".instar" / "plan.md").read_text()
    (runner.root / "tables" / "orders.yml").write_text("tabel: orders\n")
    assert runner.shell(validate["entry"]) == 1
