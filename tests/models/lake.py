"""A project of models on the shared Spark, in a schema of its own, and what tests ask of it."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from instar import Plan, Policy, Project
from instar.run.options import RunOptions
from instar.spark import SparkHandle
from models.world import policy, statuses

CATALOGS = {"delta": "spark_catalog", "iceberg": "ice", "parquet": "spark_catalog"}


class Lake:
    def __init__(self, root: Path, spark: SparkHandle) -> None:
        self.root, self.spark = root, spark
        self.schema = f"m_{uuid.uuid4().hex[:8]}"
        (root / "models").mkdir()
        (root / "instar.yml").write_text(
            f"name: shop\nenvironments:\n  dev: {{type: spark, schema: {self.schema}, format: delta}}\n"
        )
        spark.run(f"CREATE SCHEMA spark_catalog.{self.schema}")
        spark.run(f"CREATE NAMESPACE IF NOT EXISTS ice.{self.schema}")

    def model(self, name: str, query: str, front: str = "") -> None:
        head = f"---\n{front.strip()}\n---\n" if front else ""
        (self.root / "models" / f"{name}.sql").write_text(head + query)

    def plan(self, *flags: str) -> Plan:
        return Project.load(self.root).plan(policy=policy(flags), spark=self.spark.session)

    def apply(self, *flags: str) -> Plan:
        project = Project.load(self.root)
        plan = project.plan(policy=Policy(**dict.fromkeys(flags, True)), spark=self.spark.session)
        assert not plan.blocked, [(t.table.name, t.findings) for t in plan.blocked]
        report = project.apply(plan, confirm=lambda _: True, spark=self.spark.session)
        assert all(r.ok for r in report.tables), [r.error for r in report.tables if r.error]
        return plan

    def run(self, *flags: str, **options: Any) -> dict[str, str]:
        report = Project.load(self.root).run(
            policy=policy(flags),
            options=RunOptions(**options),
            confirm=lambda _: True,
            spark=self.spark.session,
        )
        assert report.ok, report.results
        return statuses(report)

    def rows(self, table: str, catalog: str = "spark_catalog", order: str = "1") -> list[Any]:
        found = self.spark.run(f"SELECT * FROM {catalog}.{self.schema}.{table} ORDER BY {order}")
        return [row.asDict(recursive=True) for row in found]

    def close(self) -> None:
        for row in self.spark.run(f"SHOW TABLES IN ice.{self.schema}"):
            self.spark.run(f"DROP TABLE ice.{self.schema}.{row['tableName']} PURGE")
        self.spark.run(f"DROP NAMESPACE ice.{self.schema}")
        self.spark.run(f"DROP SCHEMA spark_catalog.{self.schema} CASCADE")
