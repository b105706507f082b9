"""An expression that DuckDB and Spark read differently is refused; what they read alike is not."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from instar.core.types import (
    Array,
    Boolean,
    Column,
    Date,
    Float,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
)
from instar.errors import ProjectError
from instar.run.duckdb_infer import DuckDBInferrer
from instar.run.inferring import Inferrer
from instar.run.spark_infer import SparkInferrer
from instar.run.values import Asked, usable
from instar.spark import SparkHandle
from models.world import World

INT, TEXT, DOUBLE, DATE, TIME = Integer(32), String(), Float(64), Date(), Timestamp(zone=False)
LIST = Array(Column("element", INT))
ROW = (
    Column("name", TEXT),
    Column("must", TEXT, nullable=False),
    Column("n", INT),
    Column("d", DOUBLE),
    Column("a", DATE),
    Column("b", DATE),
    Column("t", TIME),
    Column("u", TIME),
    Column("l", LIST),
    Column("s", Struct((Column("x", INT),))),
    Column("m", Map(Column("key", TEXT, nullable=False), Column("value", INT))),
)

DIFFERENT: tuple[tuple[str, Type], ...] = (
    ("l[1]", INT),
    ("l[0]", INT),
    ("log(n)", DOUBLE),
    ("regexp_replace(name, 'a', 'b')", TEXT),
    ("regexp_extract(name, '(a)(b)')", TEXT),
    ("concat(name, NULL)", TEXT),
    ("concat(name, 'x')", TEXT),
    ("split(name, '.')", Array(Column("element", TEXT))),
    ('"name"', TEXT),
    ("CAST(d AS INT)", INT),
    ("d", INT),
    ("n / 2", INT),
    ("CAST(1.5 AS INT)", INT),
    ("1.5", INT),
    ("try_cast(d AS BIGINT)", INT),
    ("CAST(d AS STRING)", TEXT),
    ("d", TEXT),
    ("CAST(s AS STRING)", TEXT),
    ("date_diff('month', a, b)", INT),
    ("date_diff('day', t, u)", INT),
    ("substring(name, 0, 2)", TEXT),
    ("substring(name, -5, 3)", TEXT),
    ("name || '\\n'", TEXT),
    ("'a\\nb'", TEXT),
    ("name LIKE 'x\\_y'", Boolean()),
    ("n ^ 2", INT),
    ("l[-1]", INT),
    ("extract(second FROM t)", DOUBLE),
    ("dayofweek(a)", INT),
    ("dayname(a)", TEXT),
    ("chr(n)", TEXT),
    ("array_position(l, 9)", INT),
    ("hash(name)", TEXT),
    ("typeof(n)", TEXT),
    ("left(name, -1)", TEXT),
)

ALIKE: tuple[tuple[str, Type], ...] = (
    ("name || NULL", TEXT),
    ("name || 'x'", TEXT),
    ("concat(must, 'x')", TEXT),
    ("concat_ws('-', name, NULL, 'x')", TEXT),
    ("n % 3", INT),
    ("mod(n, 3)", INT),
    ("n / 2", DOUBLE),
    ("n + 1", INT),
    ("round(d)", INT),
    ("floor(d)", INT),
    ("CAST(round(d) AS INT)", INT),
    ("1.0", INT),
    ("CAST(n AS VARCHAR)", TEXT),
    ("n::BIGINT", INT),
    ("CAST(name AS INT)", INT),
    ("split(must, ',')", Array(Column("element", TEXT))),
    ("regexp_extract(name, '(a)(b)', 1)", TEXT),
    ("log10(n)", DOUBLE),
    ("ln(n)", DOUBLE),
    ("substr(name, 2, 3)", TEXT),
    ("substring(name, -2)", TEXT),
    ("greatest(n, NULL)", INT),
    ("date_diff('day', a, b)", INT),
    ("year(a)", INT),
    ("second(t)", INT),
    ("a + INTERVAL 1 MONTH", DATE),
    ("CAST(t AS DATE)", DATE),
    ("TIMESTAMP '2020-01-01 10:00:00'", TIME),
    ("CASE WHEN n > 1 THEN 'a' ELSE 'b' END", TEXT),
    ("coalesce(s.x, m['a'], 0)", INT),
    ("upper(trim(name))", TEXT),
    ("name LIKE '%a%'", Boolean()),
    ("'it''s'", TEXT),
    ("chr(65)", TEXT),
)


def asked(inferrer: Inferrer, sql: str, type_: Type) -> str:
    return usable(Asked("the backfill of 'x'", sql, type_), inferrer, ROW, {})


@pytest.fixture(scope="module")
def on_duckdb() -> Iterator[DuckDBInferrer]:
    inferrer = DuckDBInferrer(duckdb.connect())
    yield inferrer
    inferrer.close()


@pytest.mark.parametrize(("sql", "type_"), DIFFERENT)
def test_what_is_read_differently_is_refused_on_duckdb(
    on_duckdb: DuckDBInferrer, sql: str, type_: Type
) -> None:
    with pytest.raises(ProjectError) as raised:
        asked(on_duckdb, sql, type_)
    assert raised.value.code == "E158"
    assert "means different values" in raised.value.message
    assert raised.value.hint


@pytest.mark.parametrize(("sql", "type_"), ALIKE)
def test_what_is_read_alike_is_used_on_duckdb(
    on_duckdb: DuckDBInferrer, sql: str, type_: Type
) -> None:
    assert asked(on_duckdb, sql, type_) == sql


def test_what_only_spark_knows_is_cut_off_as_spark_does(on_duckdb: DuckDBInferrer) -> None:
    text = asked(on_duckdb, "CAST(nvl(d, 1.5) AS INT)", INT)
    assert duckdb.sql(f"SELECT {text} FROM (SELECT 2.7::DOUBLE AS d)").fetchall() == [(2,)]


def test_a_plan_shows_the_line_and_says_how_to_write_it(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id, [1, 2] AS l")
    front = "materialization: incremental\nincremental: {unique_key: id}\n"
    world.model("m", "SELECT id, l FROM src", front)
    world.run()
    world.model(
        "m", "SELECT id, l, l[1] AS x FROM src", front + "columns:\n  x: {backfill: 'l[1]'}"
    )
    with pytest.raises(ProjectError) as raised:
        world.plan()
    assert raised.value.code == "E158"
    assert str(raised.value.where).startswith("models/m.sql:5")
    assert "in duckdb" in raised.value.message
    assert "in spark" in raised.value.message


@pytest.mark.spark
def test_the_same_on_spark(spark: SparkHandle) -> None:
    """Every third of them."""
    inferrer = SparkInferrer(spark)
    for sql, type_ in DIFFERENT[::3]:
        with pytest.raises(ProjectError) as raised:
            asked(inferrer, sql, type_)
        assert raised.value.code == "E158", sql
    for sql, type_ in ALIKE[::3]:
        assert asked(inferrer, sql, type_), sql
