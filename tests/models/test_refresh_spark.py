"""Full refreshes on Spark: Python models, NOT NULL on Iceberg, blocks of Parquet; models at once; skipping."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from instar import Project
from instar.errors import ProjectError
from instar.spark import SparkHandle
from models.lake import CATALOGS, Lake
from models.readers import reading

pytestmark = pytest.mark.spark

PYTHON = """# ---
# format: {format}
# columns: {{id: {{nullable: {nullable}}}}}
# ---
def model(spark, refs):
    return refs["src"].selectExpr({columns})
"""


@pytest.fixture
def lake(tmp_path: Path, spark: SparkHandle) -> Iterator[Lake]:
    lake = Lake(tmp_path, spark)
    spark.run(f"CREATE TABLE spark_catalog.{lake.schema}.raw (id INT, n INT) USING delta")
    spark.run(f"INSERT INTO spark_catalog.{lake.schema}.raw VALUES (1, 10), (2, 20)")
    lake.model("src", "SELECT id, n FROM raw")
    yield lake
    lake.close()


def nullable(lake: Lake, name: str, catalog: str) -> dict[str, bool]:
    schema = lake.spark.session.table(f"{catalog}.{lake.schema}.{name}").schema
    return {field.name: field.nullable for field in schema.fields}


def test_a_full_refresh_of_every_kind(lake: Lake) -> None:
    """`n` becomes a number: what was only SQL and nullable columns before works for all."""

    def written(columns: str) -> None:
        for format_ in ("delta", "iceberg", "parquet"):
            needed = "true" if format_ == "parquet" else "false"
            text = PYTHON.format(format=format_, columns=columns, nullable=needed)
            (lake.root / "models" / f"p_{format_}.py").write_text(text)
        front = "format: iceberg\ncolumns: {id: {nullable: false}}"
        sql = columns.replace('"', "")
        lake.model("s_iceberg", f"SELECT {sql} FROM src", front)

    written('"id", "concat(\'v\', n) AS n"')
    lake.run()
    written('"id", "n"')
    blocked = lake.plan()
    assert {t.table.name for t in blocked.blocked} == {
        "p_delta",
        "p_iceberg",
        "p_parquet",
        "s_iceberg",
    }
    with pytest.raises(ProjectError, match="a Python model, which only a run can recompute"):
        lake.apply("allow_full_refresh")
    done = lake.run("allow_full_refresh")
    for name in ("p_delta", "p_iceberg", "p_parquet", "s_iceberg"):
        catalog = CATALOGS[name[2:]]
        assert done[name] == "built"
        assert lake.rows(name, catalog) == [{"id": 1, "n": 10}, {"id": 2, "n": 20}], name
        if catalog == "ice":
            assert nullable(lake, name, catalog) == {"id": False, "n": True}
    for catalog in ("spark_catalog", "ice"):
        left = [r["tableName"] for r in lake.spark.run(f"SHOW TABLES IN {catalog}.{lake.schema}")]
        assert not [name for name in left if "__instar" in name]
    assert not lake.plan().pending
    written('"id", "n > 15 AS n"')
    lake.run("allow_full_refresh")
    assert lake.rows("s_iceberg", "ice") == [{"id": 1, "n": False}, {"id": 2, "n": True}]


MEETS = """import pathlib, time

def model(spark, refs):
    rows = refs["src"].where("id > 0")
    if rows.count():
        here = pathlib.Path({here!r})
        here.touch()
        deadline = time.monotonic() + 120
        while not pathlib.Path({other!r}).exists():
            if time.monotonic() > deadline:
                raise RuntimeError("the other model was never begun")
            time.sleep(0.05)
    return rows
"""


def test_two_models_at_once_and_what_reads_them_after(lake: Lake, tmp_path: Path) -> None:
    """Each of the two waits until the other one has begun."""
    for here, other in (("a", "b"), ("b", "a")):
        text = MEETS.format(here=str(tmp_path / here), other=str(tmp_path / other))
        (tmp_path / "models" / f"{here}.py").write_text(text)
    lake.model("both", "SELECT * FROM a UNION ALL SELECT * FROM b")
    lake.run(threads=2)
    project = Project.load(tmp_path)
    told = {
        e.table.name: (e.when - (e.seconds or 0), e.when)
        for e in project.history()
        if e.what.startswith("built")
    }
    assert max(told["a"][0], told["b"][0]) < min(told["a"][1], told["b"][1])
    assert told["both"][0] >= max(told["a"][1], told["b"][1])


def test_a_reader_of_delta_sees_the_old_table_or_the_new_one(lake: Lake) -> None:
    lake.model("m", "SELECT id, 'one' AS n FROM src")
    lake.run()
    lake.model("m", "SELECT id, n FROM src")
    asked = f"SELECT count(*), min(n), max(n) FROM spark_catalog.{lake.schema}.m"
    with reading(lambda: tuple(lake.spark.run(asked)[0])) as seen:
        lake.run("allow_full_refresh")
    assert set(seen) == {(2, "one", "one"), (2, 10, 20)}


def test_a_new_required_column_of_parquet_is_not_let_through(lake: Lake) -> None:
    lake.model("m", "SELECT id FROM src", "format: parquet")
    lake.run()
    front = "format: parquet\ncolumns: {n: {nullable: false}}"
    lake.model("m", "SELECT id, n FROM src", front)
    (blocked,) = lake.plan().blocked
    (finding,) = [f for f in blocked.findings if f.code == "F701"]
    assert "'n' is NOT NULL and has no default for the rows that exist" in finding.message
    lake.run("allow_full_refresh")
    assert lake.rows("m") == [{"id": 1, "n": 10}, {"id": 2, "n": 20}]


def test_a_function_and_files_outside_are_skipped_while_they_are_the_same(lake: Lake) -> None:
    files = f"spark_catalog.{lake.schema}.files"
    lake.spark.run(f"CREATE TABLE {files} (id INT) USING parquet")
    lake.spark.run(f"INSERT INTO {files} VALUES (1)")
    lake.model("m", "SELECT id FROM files")
    text = "def model(spark, refs):\n    return refs['src']\n"
    (lake.root / "models" / "always.py").write_text(text)
    (lake.root / "models" / "once.py").write_text("# ---\n# deterministic: true\n# ---\n" + text)
    lake.run()
    again = lake.run()
    assert (again["m"], again["always"], again["once"]) == ("skipped", "built", "skipped")
    lake.spark.run(f"INSERT INTO {files} VALUES (2)")
    lake.spark.run(f"INSERT INTO spark_catalog.{lake.schema}.raw VALUES (3, 30)")
    third = lake.run()
    assert (third["m"], third["once"]) == ("built", "built")
    assert nullable(lake, "m", "spark_catalog") == {"id": True}
