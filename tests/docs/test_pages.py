"""Links in the docs lead somewhere, the commands they name exist, and their environments can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from instar import Project
from instar.cli.index import COMMANDS
from instar.sources.project import load_project

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
ENVIRONMENTS = re.compile(r"```yaml\n(environments:\n.*?)```", re.DOTALL)
COMMAND = re.compile(r"(?:^\$? ?|`)instar ([a-z]+)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_exist(page: Path) -> None:
    named = set(COMMAND.findall(page.read_text(encoding="utf-8")))
    assert named <= set(COMMANDS)


EXAMPLES = {
    page.stem: text
    for page in PAGES
    for text in ENVIRONMENTS.findall(page.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES.keys())
def test_environments_can_be_read(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in re.findall(r"\$\{(\w+)}", text):
        monkeypatch.setenv(name, "said")
    (tmp_path / "instar.yml").write_text(f"name: shop\n{text}", encoding="utf-8")
    assert load_project(tmp_path).environments


def test_every_engine_has_an_example() -> None:
    assert {"spark", "postgres", "dsql", "snowflake"} <= set(EXAMPLES)


def test_the_table_and_the_model_of_the_readme_can_be_planned(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"```yaml\n(.*?)```", readme, re.DOTALL)
    (query,) = re.findall(r"```sql\n(.*?)```", readme, re.DOTALL)
    for file, text in {
        "instar.yml": "name: shop\nenvironments:\n  dev: {type: duckdb}\n",
        "tables/orders.yml": table,
        "models/by_status.sql": query,
    }.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    plan = Project.load(tmp_path).plan()
    assert [(str(t.table), t.status.value) for t in plan.tables] == [
        ("main.orders", "create"),
        ("main.by_status", "create"),
    ]
