"""A telling sample of seed 004 on Spark: Delta first, Iceberg and Parquet beside it, with real rows."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from instar import Plan, Project, TablePlan
from instar.core.plan import Rung
from instar.run.running import RunOptions
from instar.spark import SparkHandle
from models.world import errors, policy

pytestmark = pytest.mark.spark


class Lake:
    """A project of models on the shared Spark, in a schema of its own."""

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

    def run(self, *flags: str, **options: Any) -> dict[str, str]:
        report = Project.load(self.root).run(
            policy=policy(flags),
            options=RunOptions(**options),
            confirm=lambda _: True,
            spark=self.spark.session,
        )
        assert report.ok, report.results
        return {r.table.name: r.status for r in report.results}

    def rows(self, table: str, catalog: str = "spark_catalog", order: str = "1") -> list[Any]:
        found = self.spark.run(f"SELECT * FROM {catalog}.{self.schema}.{table} ORDER BY {order}")
        return [row.asDict(recursive=True) for row in found]

    def close(self) -> None:
        for row in self.spark.run(f"SHOW TABLES IN ice.{self.schema}"):
            self.spark.run(f"DROP TABLE ice.{self.schema}.{row['tableName']} PURGE")
        self.spark.run(f"DROP NAMESPACE ice.{self.schema}")
        self.spark.run(f"DROP SCHEMA spark_catalog.{self.schema} CASCADE")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, spark: SparkHandle) -> Iterator[Lake]:
    made = Lake(tmp_path_factory.mktemp("lake"), spark)
    yield made
    made.close()


@dataclass(frozen=True)
class Case:
    """One column: its expression before and after, and the values that two old rows have then."""

    before: str | None
    after: str
    values: list[Any]
    front: str = ""


SAFE: dict[str, dict[str, Case]] = {
    "delta": {
        "added": Case(None, "name", [None, None]),
        "status": Case(
            None, "name", ["pending", "pending"], "{default: \"'pending'\", nullable: false}"
        ),
        "twice": Case(None, "id * 2", [2, 4], "{backfill: id * 2}"),
        "meta": Case(
            None,
            "named_struct('status', name, 'count', n)",
            [{"status": "unknown", "count": 0}] * 2,
            "{default: \"STRUCT_PACK(status := 'unknown', count := 0)\"}",
        ),
        "wide": Case("n", "CAST(n AS BIGINT)", [10, 20]),
        "profile": Case(
            "named_struct('a', n, 'b', name)",
            "named_struct('a', CAST(n AS BIGINT), 'c', true, 'b', name)",
            [{"a": 10, "c": None, "b": "ann"}, {"a": 20, "c": None, "b": "bob"}],
        ),
        "swapped": Case(
            "named_struct('a', n, 'b', name)",
            "named_struct('b', name, 'a', n)",
            [{"b": "ann", "a": 10}, {"b": "bob", "a": 20}],
        ),
        "items": Case(
            "array(named_struct('id', n))",
            "array(named_struct('id', n, 'score', 1.5D))",
            [[{"id": 10, "score": None}], [{"id": 20, "score": None}]],
        ),
        "lookup": Case("map(name, n)", "map(name, CAST(n AS BIGINT))", [{"ann": 10}, {"bob": 20}]),
    },
    "iceberg": {
        "renamed": Case(None, "n", [10, 20], "{renamed_from: old}"),
        "wide": Case("n", "CAST(n AS BIGINT)", [10, 20]),
        "added": Case(None, "name", [None, None]),
    },
    "parquet": {"added": Case(None, "name", [None, None])},
}
UNSAFE: dict[str, tuple[str, str, list[Any]]] = {
    "delta": ("CAST(n AS BIGINT)", "n", [10, 20]),
    "iceberg": ("map(name, n)", "map(n, n)", [{10: 10}, {20: 20}]),
    "parquet": ("named_struct('a', n)", "n", [10, 20]),
}
SOURCE = "VALUES (1, 'ann', 10), (2, 'bob', 20) AS t(id, name, n)"
KEYS = {"delta": "unique_key", "iceberg": "unique_key", "parquet": "partition_column"}
CATALOGS = {"delta": "spark_catalog", "iceberg": "ice", "parquet": "spark_catalog"}


def write(lake: Lake, name: str, format_: str, columns: dict[str, str], front: str = "") -> None:
    listed = ", ".join(f"{sql} AS {column}" for column, sql in {"id": "id", **columns}.items())
    head = f"format: {format_}\nincremental: {{{KEYS[format_]}: id}}\n{front}"
    lake.model(name, f"SELECT {listed}, n AS last FROM {SOURCE}", head)


@dataclass(frozen=True)
class Evolved:
    lake: Lake
    plan: Plan
    again: Plan
    rows: dict[str, list[Any]]
    """By table, read once: a query on a busy machine takes seconds."""


def table(plan: Plan, name: str) -> TablePlan:
    return next(t for t in plan.tables if t.table.name == name)


@pytest.fixture(scope="module")
def evolved(lake: Lake) -> Evolved:
    """Every case in one project: built by the first query, evolved to the second, not rebuilt."""
    for format_, cases in SAFE.items():
        before = {c: case.before for c, case in cases.items() if case.before}
        if any("renamed_from: old" in case.front for case in cases.values()):
            before["old"] = "n"
        write(lake, f"safe_{format_}", format_, before)
        write(lake, f"unsafe_{format_}", format_, {"x": UNSAFE[format_][0]})
    lake.run(threads=2)
    for format_, cases in SAFE.items():
        front = "".join(f"  {c}: {case.front}\n" for c, case in cases.items() if case.front)
        said = f"columns:\n{front}" if front else ""
        write(lake, f"safe_{format_}", format_, {c: x.after for c, x in cases.items()}, said)
        write(lake, f"unsafe_{format_}", format_, {"x": UNSAFE[format_][1]})
    plan = lake.plan()
    project = Project.load(lake.root)
    found = project.plan(policy=policy(["allow_full_refresh"]), spark=lake.spark.session)
    assert not found.blocked, [(t.table.name, t.findings) for t in found.blocked]
    report = project.apply(found, confirm=lambda _: True, spark=lake.spark.session)
    assert all(r.ok for r in report.tables), [r.error for r in report.tables if r.error]
    rows = {
        f"{kind}_{f}": lake.rows(f"{kind}_{f}", CATALOGS[f], order="id")
        for f in SAFE
        for kind in ("safe", "unsafe")
    }
    return Evolved(lake, plan, lake.plan(), rows)


@pytest.mark.parametrize(("format_", "column"), [(f, c) for f in SAFE for c in SAFE[f]])
def test_a_safe_change_is_made_in_place(evolved: Evolved, format_: str, column: str) -> None:
    name = f"safe_{format_}"
    found = table(evolved.plan, name)
    assert not errors(found), found.findings
    assert all(s.rung.height <= Rung.STEPS.height for s in found.steps)
    values = [row[column] for row in evolved.rows[name]]
    assert values == SAFE[format_][column].values
    assert not table(evolved.again, name).steps, "a second plan is empty"


@pytest.mark.parametrize("format_", UNSAFE)
def test_an_unsafe_change_is_blocked_then_recomputed(evolved: Evolved, format_: str) -> None:
    name = f"unsafe_{format_}"
    found = table(evolved.plan, name)
    assert "F701" in errors(found)
    hint = next(f.hint or "" for f in found.findings if f.code == "F701")
    assert hint.startswith("Consider using Delta format or run with") is (format_ == "parquet")
    assert [row["x"] for row in evolved.rows[name]] == UNSAFE[format_][2]
    assert not table(evolved.again, name).steps


EVENTS = "format: {format}\nincremental: {{event_time_column: seen, granularity: day}}"


def test_layers_intervals_and_python(tmp_path: Path, spark: SparkHandle) -> None:
    """A view, merges and intervals on Delta and Iceberg, and a Python model, run twice with new rows."""
    lake = Lake(tmp_path, spark)
    raw = f"spark_catalog.{lake.schema}.raw"
    try:
        spark.run(f"CREATE TABLE {raw} (id INT, n INT, seen TIMESTAMP) USING delta")
        spark.run(
            f"INSERT INTO {raw} VALUES (1, 10, '2024-01-01 10:00'), (2, 20, '2024-01-02 10:00')"
        )
        lake.model("clean", "SELECT id, n, seen FROM raw WHERE n > 0", "materialization: view")
        for format_ in ("delta", "iceberg"):
            lake.model(f"e_{format_}", "SELECT seen, n FROM clean", EVENTS.format(format=format_))
        lake.model("merged", "SELECT id, n FROM ref('clean')", "incremental: {unique_key: id}")
        (tmp_path / "models" / "doubled.py").write_text(
            "def model(spark, refs):\n    return refs['merged'].selectExpr('id', 'n * 2 AS twice')\n"
        )
        first = lake.run()
        assert first["doubled"] == "built"
        spark.run(
            f"INSERT INTO {raw} VALUES (3, 21, '2024-01-02 11:00'), (4, 40, '2024-01-03 10:00')"
        )
        spark.run(f"UPDATE {raw} SET n = 11 WHERE id = 1")
        lake.run()
        for place in (("e_delta", "spark_catalog"), ("e_iceberg", "ice")):
            assert [r["n"] for r in lake.rows(*place, order="n")] == [10, 20, 21, 40]
        assert [r["n"] for r in lake.rows("merged")] == [11, 20, 21, 40]
        assert [r["twice"] for r in lake.rows("doubled")] == [22, 40, 42, 80]
        again = lake.run()
        assert {again[n] for n in ("clean", "e_delta", "e_iceberg", "merged")} == {"skipped"}
    finally:
        lake.close()
