"""A new project can be read at once, and never overwrites."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from instar.errors import ProjectError, UsageError
from instar.sources.manifest import load_manifests
from instar.sources.project import load_project
from instar.sources.scaffold import init_project


@pytest.mark.parametrize(("kind", "default"), [("spark", "dev"), ("duckdb", "quick")])
def test_a_new_project_can_be_read(
    tmp_path: Path, kind: Literal["spark", "duckdb"], default: str
) -> None:
    root = tmp_path / "my shop: 1"
    files = init_project(root, kind)
    assert all(path.is_file() for path in files)
    project = load_project(root)
    assert (project.name, project.default_env) == ("my_shop_1", default)
    for env in project.environments:
        found = load_manifests(project, env)
        assert [w.table.name.name for w in found] == ["customers", "orders"]
    assert (root / ".gitignore").read_text() == ".instar/\n"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "orders.yml").write_text("mine")
    with pytest.raises(ProjectError) as caught:
        init_project(tmp_path, "spark")
    assert caught.value.code == "E141"
    assert not (tmp_path / "instar.yml").exists()
    assert (tmp_path / "tables" / "orders.yml").read_text() == "mine"


@pytest.mark.parametrize("root", ["file", "file/below"])
def test_a_folder_that_is_a_file_is_said(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError) as caught:
        init_project(tmp_path / root)
    assert caught.value.code == "E142"
    assert "instar.yml cannot be written: " in caught.value.message
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("before", "after"),
    [("*.log", "*.log\n.instar/\n"), ("/.instar/\n", "/.instar/\n"), ("", ".instar/\n")],
)
def test_a_gitignore_that_is_there_gets_one_line_more(
    tmp_path: Path, before: str, after: str
) -> None:
    (tmp_path / ".gitignore").write_text(before)
    init_project(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == after
