"""Full refreshes on Spark: Python models, NOT NULL on Iceberg, blocks of Parquet; models at once; skipping."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from instar import Project
from instar.errors import ProjectError
from instar.spark import SparkHandle, SparkSettings, SparkSqlError, open_session
from instar.spark.conf import KEEPS_NOT_NULL
from models.lake import CATALOGS, Lake
from models.readers import reading
from models.world import policy

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


def test_a_partitioned_parquet_model_is_recomputed(lake: Lake) -> None:
    """Its session overwrites single partitions elsewhere: a refresh leaves nothing of the old rows."""
    lake.spark.session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    front = "format: parquet\nincremental: {partition_column: id}"
    lake.model("p", "SELECT concat('v', n) AS n, id FROM src", front)
    lake.run()
    lake.model("p", "SELECT n, id FROM src WHERE id > 1", front)
    assert lake.run("allow_full_refresh")["p"] == "built"
    assert lake.rows("p", "spark_catalog") == [{"n": 20, "id": 2}]
    parts = lake.spark.run(f"SHOW PARTITIONS spark_catalog.{lake.schema}.p")
    assert [row[0] for row in parts] == ["id=2"]
    assert not lake.plan().pending
    lake.spark.session.conf.unset("spark.sql.sources.partitionOverwriteMode")


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


REQUIRED = "columns: {id: {nullable: false}}"


@pytest.mark.parametrize("front", ["format: delta", f"format: iceberg\n{REQUIRED}"])
def test_a_reader_sees_the_old_table_or_the_new_one(lake: Lake, front: str) -> None:
    catalog = "ice" if "iceberg" in front else "spark_catalog"
    lake.model("m", "SELECT id, 'one' AS n FROM src", front)
    lake.run()
    lake.model("m", "SELECT id, n FROM src", front)
    asked = f"SELECT count(*), min(n), max(n) FROM {catalog}.{lake.schema}.m"
    with reading(lambda: tuple(lake.spark.run(asked)[0])) as seen:
        lake.run("allow_full_refresh")
    told = {answer for answer in seen if not _overtaken(answer)}
    assert told == {(2, "one", "one"), (2, 10, 20)}
    if catalog == "ice":
        assert nullable(lake, "m", "ice") == {"id": False, "n": True}


def _overtaken(answer: object) -> bool:
    """Delta tells a reader that was analysed before the commit and runs after it to ask again."""
    again = "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
    return isinstance(answer, SparkSqlError) and answer.condition == again


VALUES = {
    "b": "id > 0",
    "i": "id",
    "l": "CAST(id AS BIGINT)",
    "f": "CAST(id AS FLOAT)",
    "d": "CAST(id AS DOUBLE)",
    "e": "CAST(0.25 AS DECIMAL(2, 2))",
    "g": "CAST(id AS DECIMAL(38, 0))",
    "t": "CAST(id AS STRING)",
    "y": "CAST(CAST(id AS STRING) AS BINARY)",
    "a": "DATE '2024-01-01'",
    "z": "TIMESTAMP '2024-01-01 00:00:00'",
    "w": "TIMESTAMP_NTZ '2024-01-01 00:00:00'",
    "s": "named_struct('k', 1, 'v', array(named_struct('x', id)))",
    "r": "array(id)",
    "m": "map('k', id)",
}
"""A value of every type that Iceberg keeps."""


def test_not_null_of_every_type_is_kept_by_a_refresh_and_nothing_inside_becomes_it(
    lake: Lake,
) -> None:
    columns = ", ".join(f"{value} AS {name}" for name, value in VALUES.items())
    front = "format: iceberg\nschema_evolution: {strategy: full_refresh}\n"
    said = ", ".join(f"{name}: {{nullable: false}}" for name in VALUES)
    lake.model("m", f"SELECT {columns}, 'old' AS o FROM src", f"{front}columns: {{{said}}}")
    lake.run()
    before = [{k: v for k, v in row.items() if k != "o"} for row in lake.rows("m", "ice", "i")]
    lake.model("m", f"SELECT {columns}, 1 AS o FROM src", f"{front}columns: {{{said}}}")
    lake.run("allow_full_refresh")
    assert [dict(row) for row in lake.rows("m", "ice", "i")] == [{**row, "o": 1} for row in before]
    found = lake.spark.session.table(f"ice.{lake.schema}.m").schema
    assert {f.name: f.nullable for f in found.fields} == {**dict.fromkeys(VALUES, False), "o": True}
    struct = found["s"].dataType
    assert [f.nullable for f in struct.fields] == [True, True]
    assert struct["v"].dataType.containsNull
    assert found["m"].dataType.valueContainsNull


def test_a_null_where_none_may_be_leaves_the_old_table(lake: Lake) -> None:
    front = f"format: iceberg\n{REQUIRED}"
    lake.model("m", "SELECT id, 'one' AS n FROM src", front)
    lake.run()
    lake.model("m", "SELECT CASE WHEN id > 1 THEN id END AS id, n FROM src", front)
    report = Project.load(lake.root).run(
        policy=policy(["allow_full_refresh"]), confirm=lambda _: True, spark=lake.spark.session
    )
    (error,) = [r.error for r in report.results if r.error]
    assert "the query gives NULL for 'id', which is NOT NULL" in str(error)
    assert lake.rows("m", "ice") == [{"id": 1, "n": "one"}, {"id": 2, "n": "one"}]


def test_not_null_in_a_session_whose_create_as_forgets_it(
    lake: Lake, spark_root: Path, spark: SparkHandle
) -> None:
    """Its owner has said so before it first used the catalog: the table is renamed in."""
    with open_session(SparkSettings(spark_root), note=lambda _: None) as other:
        other.session.conf.set(KEEPS_NOT_NULL, "true")
        lake.spark = other
        lake.model("m", "SELECT id, 'one' AS n FROM src", f"format: iceberg\n{REQUIRED}")
        lake.run()
        lake.model("m", "SELECT id, n FROM src", f"format: iceberg\n{REQUIRED}")
        lake.run("allow_full_refresh")
        assert lake.rows("m", "ice") == [{"id": 1, "n": 10}, {"id": 2, "n": 20}]
        assert nullable(lake, "m", "ice") == {"id": False, "n": True}
        lake.spark = spark


def test_a_new_required_column_of_parquet_is_not_let_through(lake: Lake) -> None:
    lake.model("m", "SELECT id FROM src", "format: parquet")
    lake.run()
    front = "format: parquet\ncolumns: {n: {nullable: false}}"
    lake.model("m", "SELECT id, n FROM src", front)
    (blocked,) = lake.plan().blocked
    (finding,) = [f for f in blocked.findings if f.code == "F701"]
    assert "cannot add NOT NULL column 'n' without a default value" in finding.message
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
