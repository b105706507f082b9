"""`instar import` on Spark: every live table as Spark shows it, without what belongs to one table alone."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from instar.app import Project
from instar.spark import SparkHandle

pytestmark = pytest.mark.spark


def test_what_is_imported_is_what_is_there(spark: SparkHandle, tmp_path: Path) -> None:
    schema = f"imp_{uuid.uuid4().hex[:8]}"
    (tmp_path / "instar.yml").write_text(
        "name: shop\nversion: 1\ndefault_env: dev\nenvironments:\n"
        f"  dev: {{type: spark, schema: {schema}, format: delta}}\n"
    )
    ice = f"{spark.iceberg_catalog}.{schema}"
    for statement in (
        f"CREATE SCHEMA {schema}",
        f"CREATE SCHEMA {ice}",
        f"CREATE TABLE {schema}.parts (p INT, id INT, q INT, v INT) USING parquet"
        " PARTITIONED BY (p, q)",
        f"CREATE TABLE {schema}.raw (a INT) USING csv",
        f"CREATE TABLE {schema}.ident (a INT) USING delta"
        " TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
        f"CREATE TABLE {ice}.ident (a INT) USING iceberg",
    ):
        spark.run(statement)
    project = Project.load(tmp_path)
    try:
        found = project.import_tables(spark=spark.session)
        texts = {path.name: text for path, text in found.manifests}
        live = [f.name for f in spark.session.table(f"{schema}.parts").schema.fields]
        (tmp_path / "tables").mkdir()
        for path, text in found.manifests:
            path.write_text(text)
        plan = project.plan(spark=spark.session)
    finally:
        spark.run(f"DROP SCHEMA {schema} CASCADE")
        spark.run(f"DROP TABLE {ice}.ident")
        spark.run(f"DROP SCHEMA {ice}")
    assert sorted(texts) == ["ident.yml", "parts.yml"]
    names = [line.split("name: ")[1].split(",")[0] for line in texts["parts.yml"].splitlines()[-4:]]
    assert names == live == ["id", "v", "p", "q"]
    assert "format: delta" in texts["ident.yml"]
    assert "delta.enableRowTracking" in texts["ident.yml"]
    assert "materialized" not in texts["ident.yml"]
    assert ["csv table" in found.left[0], "as iceberg too" in found.left[1]] == [True, True]
    assert [(t.changes, t.findings) for t in plan.tables] == [((), ()), ((), ())]
