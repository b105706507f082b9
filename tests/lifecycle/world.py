"""A project in a folder and its engine, read apart from Instar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import duckdb

from instar.app import Project
from instar.app.project import ApplyReport
from instar.apply import Question
from instar.core.plan import Plan
from instar.core.policy import Policy
from lifecycle.case_text import row_text

POLICY = Policy(allow_column_removal=True, allow_rewrite=True)


class Sql(Protocol):
    def __call__(self, statement: str) -> list[Any]: ...


@dataclass
class World:
    """`sql` reads and writes as anybody else would; `table` is the table's name in SQL."""

    root: Path
    sql: Sql
    table: str = "t"
    format: str = ""
    engine: str = "duckdb"
    spark: Any = None
    asked: list[Question] = field(default_factory=list)

    @property
    def project(self) -> Project:
        return Project.load(self.root)

    def declare(self, text: str) -> None:
        (self.root / "tables").mkdir(exist_ok=True)
        (self.root / "tables" / "t.yml").write_text(text, encoding="utf-8")

    def plan(self, policy: Policy = POLICY) -> Plan:
        return self.project.plan(policy=policy, spark=self.spark)

    def apply(self, text: str | None = None, policy: Policy = POLICY) -> ApplyReport:
        if text is not None:
            self.declare(text)
        report = self.project.apply(self.plan(policy), confirm=self.yes, spark=self.spark)
        assert all(r.ok for r in report.tables), report
        return report

    def yes(self, questions: Sequence[Question]) -> bool:
        self.asked += questions
        return True

    def fill(self, rows: Iterable[str]) -> None:
        values = ", ".join(f"({row.replace(' | ', ', ')})" for row in rows)
        self.sql(f"INSERT INTO {self.table} VALUES {values}")

    def rows(self, table: str | None = None) -> list[str]:
        return sorted(row_text(r) for r in self.sql(f"SELECT * FROM {table or self.table}"))

    def lose_state(self) -> None:
        for file in (self.root / ".instar").glob("state.db*"):
            file.unlink()


def duckdb_world(root: Path) -> World:
    (root / "instar.yml").write_text(
        "name: shop\nversion: 1\ndefault_env: dev\nenvironments:\n"
        "  dev: {type: duckdb, database: data.duckdb, schema: main}\n"
    )

    def sql(statement: str) -> list[Any]:
        with duckdb.connect(str(root / "data.duckdb")) as connection:
            return connection.execute(statement).fetchall()

    return World(root, sql)


def postgres_world(root: Path, engine: str, settings: str, connection: Any) -> World:
    """An engine that speaks PostgreSQL's protocol; DATABASE_URL says where."""
    (root / "instar.yml").write_text(
        "name: shop\nversion: 1\ndefault_env: dev\nenvironments:\n"
        f'  dev: {{type: {engine}, url: "${{DATABASE_URL}}", schema: public, {settings}}}\n'
    )
    connection.execute("SET TimeZone = 'UTC'")

    def sql(statement: str) -> list[Any]:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []

    return World(root, sql, engine=engine)
