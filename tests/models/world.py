"""A project of models on a real DuckDB file, and what tests ask of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from instar import Plan, Policy, Project, TablePlan
from instar.app.running import RunReport
from instar.core.findings import Severity

PROJECT = "name: shop\nenvironments:\n  dev: {type: duckdb, database: shop.duckdb, schema: main}\n"


class World:
    """In a new folder, or in one that holds such a project already."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "models").mkdir(exist_ok=True)
        (root / "tables").mkdir(exist_ok=True)
        (root / "instar.yml").write_text(PROJECT)

    def model(self, name: str, query: str, front: str = "") -> None:
        head = f"---\n{front.strip()}\n---\n" if front else ""
        (self.root / "models" / f"{name}.sql").write_text(head + query)

    def manifest(self, name: str, *columns: str) -> None:
        body = "".join(f"  - {{{c}}}\n" for c in columns)
        (self.root / "tables" / f"{name}.yml").write_text(f"table: {name}\ncolumns:\n{body}")

    @property
    def project(self) -> Project:
        return Project.load(self.root)

    def plan(self, *flags: str) -> Plan:
        return self.project.plan(policy=policy(flags))

    def table(self, name: str, *flags: str) -> TablePlan:
        return next(t for t in self.plan(*flags).tables if t.table.name == name)

    def apply(self, *flags: str) -> Plan:
        project = self.project
        plan = project.plan(policy=policy(flags))
        assert not plan.blocked, told(plan)
        report = project.apply(plan, confirm=lambda _: True)
        assert all(r.ok for r in report.tables), [r.error for r in report.tables]
        return plan

    def run(self, **options: Any) -> RunReport:
        flags = options.pop("flags", ())
        return self.project.run(policy=policy(flags), confirm=lambda _: True, **options)

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.root / "shop.duckdb")) as connection:
            for statement in statements[:-1]:
                connection.execute(statement)
            return connection.execute(statements[-1]).fetchall()

    def types(self, table: str) -> dict[str, str]:
        return {str(r[0]): str(r[1]) for r in self.sql(f"DESCRIBE {table}")}


def policy(flags: Sequence[str]) -> Policy:
    return Policy(**dict.fromkeys(flags, True))


def told(plan: Plan) -> list[str]:
    return [f"{f.code} {f.message}" for t in plan.tables for f in t.findings]


def errors(table: TablePlan) -> list[str]:
    return [f.code for f in table.findings if f.severity is Severity.ERROR]


def statuses(report: RunReport) -> dict[str, str]:
    return {r.table.name: r.status for r in report.results}
