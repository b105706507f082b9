"""A project with models on an environment that runs none: its declared tables are planned, and a line says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World
from instar import Project
from instar.errors import ProjectError

PROJECT = """\
name: shop
default_env: prod
environments:
  prod: {{type: postgres, url: "{url}", schema: {schema}}}
  cluster: {{type: dsql, host: abc.dsql.eu-west-1.on.aws, schema: public}}
  cloud: {{type: snowflake, account: a, user: u, database: shop, schema: PUBLIC}}
"""
TABLE = "table: {name}\ncolumns:\n  - {{name: id, type: BIGINT}}\n"
# PostgreSQL could not even read the one, and knows nothing of the other.
MODELS = {"daily.sql": "SELECT `id` FROM ref('orders')", "score.py": "not Python"}


class Heard:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, what: str, done: int, total: int | None) -> None:
        del what, done, total


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def project(tmp_path: Path, world: World, postgres: PostgresServer, heard: Heard) -> Project:
    text = PROJECT.format(url=postgres.url(), schema=world.schema)
    (tmp_path / "instar.yml").write_text(text)
    for folder in ("tables", "models"):
        (tmp_path / folder).mkdir()
    for name in ("orders", "daily_orders"):
        (tmp_path / "tables" / f"{name}.yml").write_text(TABLE.format(name=name))
    for name, body in MODELS.items():
        (tmp_path / "models" / name).write_text(body)
    return Project.load(tmp_path, heard)


def test_declared_tables_are_planned_and_applied(project: Project, heard: Heard) -> None:
    plan = project.plan()
    assert heard.notes == ["2 models are left out: 'prod' is postgres, where no model can run"]
    assert all(report.ok for report in plan.apply().tables)
    assert [t.table.name for t in plan.pending] == ["daily_orders", "orders"]
    assert not project.plan().pending
    assert project.drift().undeclared == ()
    assert project.validate() == ()


def test_it_is_said_once_where_an_apply_mends_first(
    project: Project, world: World, heard: Heard
) -> None:
    project.plan().apply()
    world.sql("ALTER TABLE orders RENAME TO orders__instar_old_1")
    heard.notes.clear()
    plan, mended = project.plan_mended()
    assert [report.table.name for report in mended] == ["orders"]
    assert not plan.pending
    assert sum("left out" in text for text in heard.notes) == 1


def test_who_names_declared_tables_hears_of_no_model(project: Project, heard: Heard) -> None:
    assert [t.table.name for t in project.plan(tables=["orders"]).tables] == ["orders"]
    assert heard.notes == []


def test_a_pattern_may_mean_models_too(project: Project, heard: Heard) -> None:
    assert [t.table.name for t in project.plan(tables=["daily*"]).tables] == ["daily_orders"]
    assert heard.notes == ["1 model is left out: 'prod' is postgres, where no model can run"]


ASKED: dict[str, Callable[[Project, str], object]] = {
    "a plan of a model": lambda project, env: project.plan(env, tables=["orders", "daily"]),
    "a run": lambda project, env: project.run(env),
    "lineage": lambda project, env: project.lineage(env=env),
}


@pytest.mark.parametrize("env", ["prod", "cluster", "cloud"])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED.keys())
def test_who_asks_for_a_model_is_refused(
    project: Project, ask: Callable[[Project, str], object], env: str
) -> None:
    with pytest.raises(ProjectError) as raised:
        ask(project, env)
    assert raised.value.code == "E161"


def test_a_name_that_nothing_has_is_still_a_slip(project: Project) -> None:
    with pytest.raises(Exception, match="there is no declared table 'dayly'"):
        project.plan(tables=["dayly"])
