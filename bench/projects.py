"""A throw-away project with a DuckDB and a Spark environment, for the benchmarks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from instar import Plan, Policy, Project

PROJECT = """
name: bench
version: 1
default_env: quick
environments:
  quick: {type: duckdb, database: .instar/dev.duckdb, schema: main}
  dev: {type: spark, format: delta, schema: main}
  iceberg: {type: spark, format: iceberg, schema: main}
  parquet: {type: spark, format: parquet, schema: main}
"""


@contextmanager
def project_folder() -> Iterator[Path]:
    """A new project without tables; an embedded Spark that it started is stopped at the end."""
    from instar.spark import stop_server

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "tables").mkdir()
        (root / ".instar").mkdir()
        (root / "instar.yml").write_text(PROJECT)
        try:
            yield root
        finally:
            stop_server(root / ".instar")


def write_manifest(
    root: Path, table: str, columns: Mapping[str, str], options: Mapping[str, str] | None = None
) -> None:
    """`columns`: name → type, with ` NOT NULL` behind it where wanted; `options`: name → a yml line."""
    lines = [f"table: {table}", "columns:"]
    for name, kind in columns.items():
        lines += [f"  - name: {name}", f"    type: {kind.removesuffix(' NOT NULL')}"]
        lines += ["    nullable: false"] if kind.endswith(" NOT NULL") else []
        lines += [f"    {options[name]}"] if options and name in options else []
    (root / "tables" / f"{table}.yml").write_text("\n".join(lines) + "\n")


def apply_now(root: Path, env: str, policy: Policy = Policy.of(allow_rewrite=True)) -> Plan:
    """Plan and apply, with a yes to every question."""
    project = Project.load(root)
    plan = project.plan(env, policy)
    report = project.apply(plan, confirm=lambda _: True)
    failed = [r for r in report.tables if not r.ok]
    if failed:
        raise SystemExit(f"apply failed: {failed[0].error}")
    return plan
