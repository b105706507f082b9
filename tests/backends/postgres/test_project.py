"""A project on PostgreSQL, from its files to its tables: the url comes from the environment and never shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World
from instar import Project
from instar.core.policy import Policy

PROJECT = """\
name: shop
environments:
  prod: {{type: postgres, url: "${{DATABASE_URL}}", schema: {schema}, lock_timeout: 2}}
"""
TABLE = """\
table: orders
primary_key: [id]
constraints:
  positive: {{check: "AMOUNT >= 0"}}
columns:
  - {{name: id, type: BIGINT, nullable: false}}
  - {{name: amount, type: {amount}}}
  - {{name: status, type: VARCHAR(20), nullable: false, default: "'new'"}}
"""


@pytest.fixture
def project(
    tmp_path: Path, world: World, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setenv("DATABASE_URL", postgres.url().replace("postgres@", "postgres:hunter2@"))
    (tmp_path / "instar.yml").write_text(PROJECT.format(schema=world.schema))
    (tmp_path / "tables").mkdir()
    return tmp_path


def declare(root: Path, amount: str) -> Project:
    (root / "tables" / "orders.yml").write_text(TABLE.format(amount=amount))
    return Project.load(root)


def apply(project: Project) -> list[str]:
    plan = project.plan(policy=Policy(allow_rewrite=True))
    report = project.apply(plan, confirm=lambda *_: True)
    assert all(table.ok for table in report.tables), report
    assert not project.plan(policy=Policy(allow_rewrite=True)).pending
    return [step.kind for table in plan.tables for step in table.steps]


def test_from_files_to_tables(project: Path, world: World) -> None:
    assert apply(declare(project, "INT")) == ["create"]
    world.sql("INSERT INTO orders (id, amount) SELECT i, i FROM generate_series(1, 300) AS i")
    assert apply(declare(project, "BIGINT")) == ["recreate"]
    assert world.sql("SELECT count(*), sum(amount), min(status) FROM orders") == [
        (300, 45150, "new")
    ]
    assert world.backend.keeper().own(world.schema) == ["orders__instar_old_1"]


def test_the_password_never_shows(project: Path) -> None:
    loaded = declare(project, "INT")
    assert "hunter2" not in repr(loaded.config)
    assert "hunter2" not in str(loaded.environment().options)
