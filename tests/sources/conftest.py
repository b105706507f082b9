"""A project in a temporary folder, for tests that read files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from instar.core.schema import Wanted
from instar.sources.manifest import load_manifests
from instar.sources.project import load_project

PROJECT = """\
name: shop
version: 1
default_env: dev
environments:
  dev: {type: spark, schema: main, format: delta}
  quick: {type: duckdb, database: .instar/dev.duckdb, schema: raw}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project without tables."""
    (tmp_path / "instar.yml").write_text(PROJECT)
    (tmp_path / "tables").mkdir()
    return tmp_path


@pytest.fixture
def read(root: Path) -> Callable[..., Wanted]:
    """Write one manifest and read it: `read(text, env="dev")`."""

    def read_one(text: str, env: str = "dev") -> Wanted:
        (root / "tables" / "t.yml").write_bytes(text.encode())
        (wanted,) = load_manifests(load_project(root), env)
        return wanted

    return read_one
