"""Parquet on the real engine: ALTER, overlay with both readers, copies, crashes and other writers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from backends.spark.lake import IN_ORDER, Lake, codes, col, rungs
from backends.world import at
from instar.backends.base import NotATable, Outcome, same_schema
from instar.backends.spark.parquet import ParquetBackend
from instar.core.schema import Hint, Table
from instar.errors import EngineError, VerificationFailed
from instar.spark import SparkHandle

pytestmark = pytest.mark.spark
SCHEMA = "pq_tests"


@pytest.fixture(scope="module")
def pq(spark: SparkHandle) -> Lake:
    spark.run(f"DROP SCHEMA IF EXISTS spark_catalog.{SCHEMA} CASCADE")
    spark.run(f"CREATE SCHEMA spark_catalog.{SCHEMA}")
    return Lake(ParquetBackend(spark), SCHEMA)


def numbers(pq: Lake, name: str) -> Table:
    """Two rows with a number; wanted as text, which needs a copy."""
    pq.migrate(pq.table(name, col("id", "int"), col("x", "int")))
    pq.sql(f"INSERT INTO {pq.full(name)} VALUES (1, 10), (2, NULL)")
    return pq.table(name, col("id", "int"), col("x", "string"))


def test_a_created_table_is_what_was_asked_for(pq: Lake) -> None:
    wanted = pq.table(
        "Made",
        col("id", "bigint", comment="it's \\ the key"),
        col("odd `n.a,m;e{}()=", "varchar(5)", default="'x'"),
        col("c", "char(4)"),
        col("s", "struct<`a b`: int COMMENT 'deep', l: array<struct<x: date>>>"),
        col("m", "map<string, decimal(38, 10)>"),
        col("day", "date"),
        primary_key=("ID",),
        partition_by=("DAY",),
        properties={"odd 'key'": "a\\b"},
        comment="what it's for",
    )
    plan = pq.migrate(wanted)
    assert [s.kind for s in plan.steps] == ["create", "default"]
    live = pq.live("Made")
    assert live.extras["external"] == "yes"
    assert live.extras["exists_defaults"] == ""
    assert live.primary_key == ("id",)
    pq.sql(f"INSERT INTO {pq.full('Made')} (id, day) VALUES (1, date'2020-02-29')")
    assert pq.rows("Made", "id, `odd ``n.a,m;e{}()=`, day") == [(1, "x", dt.date(2020, 2, 29))]
    assert pq.name("made") in pq.backend.list_tables(SCHEMA)


def test_what_a_dropped_table_left_behind_is_not_read(pq: Lake) -> None:
    wanted = pq.table("left", col("id", "int"))
    pq.migrate(wanted)
    pq.sql(f"INSERT INTO {pq.full('left')} VALUES (1)")
    pq.sql(f"DROP TABLE {pq.full('left')}")
    pq.migrate(wanted)
    assert pq.rows("left") == []


def test_a_table_that_spark_cannot_read_hides_no_other(spark: SparkHandle) -> None:
    """It wrote the limit of `d` down beside `b c` without quotes; it can drop such a table no more."""
    schema = f"{SCHEMA}_unreadable"
    lake = Lake(ParquetBackend(spark), schema)
    spark.run(f"CREATE SCHEMA spark_catalog.{schema}")
    try:
        lake.migrate(lake.table("fine", col("id", "int")))
        spark.run(
            f"CREATE TABLE {lake.full('bad')} (v STRUCT<`b c`: INT, d: VARCHAR(3)>) USING parquet"
        )
        assert lake.backend.list_tables(schema) == [lake.name("fine")]
        kinds = {other.name.name: other.kind for other in lake.backend.foreign(schema)}
        assert kinds == {"bad": "unreadable table"}
        assert lake.live("fine").columns == (col("id", "int"),)
        with pytest.raises(EngineError, match=r"bad.*PARSE_SYNTAX_ERROR") as error:
            lake.backend.inspect([lake.name("fine"), lake.name("bad")])
        assert error.value.code == "E217"
    finally:
        spark.run(f"DROP SCHEMA spark_catalog.{schema} CASCADE")


def test_what_is_no_parquet_table_is_said(pq: Lake) -> None:
    pq.sql(f"CREATE OR REPLACE VIEW spark_catalog.{SCHEMA}.seen AS SELECT 1 AS id")
    pq.sql(f"CREATE TABLE spark_catalog.{SCHEMA}.delta (id int) USING delta")
    names = [pq.name(n) for n in ("seen", "delta", "absent")]
    found = pq.backend.inspect(names)
    assert found == {
        names[0]: NotATable(names[0], "view"),
        names[1]: NotATable(names[1], "delta table"),
    }
    assert not {names[0], names[1]} & set(pq.backend.list_tables(SCHEMA))


def test_new_columns_defaults_comments_and_properties_are_metadata(pq: Lake) -> None:
    pq.migrate(pq.table("native", col("id", "int"), col("p", "date"), partition_by=("p",)))
    pq.sql(f"INSERT INTO {pq.full('native')} VALUES (1, date'2020-01-01'), (2, NULL)")
    wanted = pq.table(
        "native",
        col("id", "int", comment="k"),
        col("p", "date"),
        col("plain", "array<struct<a: int>>"),
        col("filled", "decimal(9, 2)", comment="was absent"),
        col("lasting", "string", default="'it''s'"),
        col("both", "int", default="2"),
        primary_key=("id",),
        partition_by=("p",),
        properties={"k": "v"},
        comment="new",
    )
    hints = {("filled",): Hint(default="-1.5"), ("both",): Hint(default="'1'")}
    plan = pq.migrate(wanted, hints)
    assert set(rungs(plan)) == {"metadata"}
    pq.sql(f"INSERT INTO {pq.full('native')} (id) VALUES (3)")
    assert pq.rows("native", "id, p, plain, filled, lasting, both") == [
        (1, dt.date(2020, 1, 1), None, Decimal("-1.50"), "it's", 1),
        (2, None, None, Decimal("-1.50"), "it's", 1),
        (3, None, None, None, "it's", 2),
    ]
    assert pq.live("native").extras["exists_defaults"] == "filled, lasting, both"


def test_values_that_only_the_catalog_has_survive_a_rewrite(pq: Lake) -> None:
    """An overlay would lose them, so widening such a table copies it."""
    pq.migrate(pq.table("only_catalog", col("id", "int")))
    pq.sql(f"INSERT INTO {pq.full('only_catalog')} VALUES (1)")
    pq.migrate(pq.table("only_catalog", col("id", "int"), col("d", "int", default="5")))
    wide = pq.table("only_catalog", col("id", "bigint"), col("d", "int", default="6"))
    assert rungs(pq.migrate(wide)) == ["rewrite", "rewrite"]
    pq.sql(f"INSERT INTO {pq.full('only_catalog')} (id) VALUES (2)")
    assert pq.rows("only_catalog") == [(1, 5), (2, 6)]


# (old type, new type, SQL of a value, what it reads as); every pair that the overlay claims.
PAIRS: list[tuple[str, str, str, Any]] = [
    ("tinyint", "smallint", "-128Y", -128),
    ("tinyint", "int", "127Y", 127),
    ("tinyint", "bigint", "-1Y", -1),
    ("tinyint", "double", "-128Y", -128.0),
    ("tinyint", "decimal(10,0)", "-128Y", Decimal(-128)),
    ("tinyint", "decimal(13,3)", "-128Y", Decimal("-128.000")),
    ("smallint", "int", "-32768S", -32768),
    ("smallint", "bigint", "32767S", 32767),
    ("smallint", "double", "-32768S", -32768.0),
    ("smallint", "decimal(12,2)", "-32768S", Decimal("-32768.00")),
    ("int", "bigint", "-2147483648", -2147483648),
    ("int", "double", "2147483647", 2147483647.0),
    ("int", "decimal(10,0)", "-2147483648", Decimal(-2147483648)),
    ("int", "decimal(12,2)", "2147483647", Decimal("2147483647.00")),
    ("int", "decimal(38,10)", "2147483647", Decimal("2147483647.0000000000")),
    ("bigint", "decimal(20,0)", "-9223372036854775808", Decimal(-(2**63))),
    ("bigint", "decimal(22,2)", "9223372036854775807", Decimal("9223372036854775807.00")),
    ("float", "double", "float('1.1')", 1.100000023841858),
    ("decimal(10,2)", "decimal(12,2)", "99999999.99", Decimal("99999999.99")),
    ("decimal(10,2)", "decimal(14,4)", "-99999999.99", Decimal("-99999999.9900")),
    ("decimal(9,2)", "decimal(10,2)", "9999999.99", Decimal("9999999.99")),
    ("decimal(18,2)", "decimal(20,4)", "9999999999999999.99", Decimal("9999999999999999.9900")),
    ("decimal(20,2)", "decimal(38,4)", "-0.01", Decimal("-0.0100")),
    ("decimal(9,0)", "bigint", "999999999", 999999999),
    ("decimal(18,0)", "bigint", "-999999999999999999", -999999999999999999),
    ("date", "timestamp_ntz", "date'0001-01-01'", dt.datetime(1, 1, 1)),
    ("date", "timestamp_ntz", "date'9999-12-31'", dt.datetime(9999, 12, 31)),
    ("string", "binary", "'ä'", bytearray("ä".encode())),
    ("binary", "string", "cast('ä' as binary)", "ä"),
]


def test_every_claimed_pair_reads_right_at_every_depth_with_both_readers(pq: Lake) -> None:
    def columns(which: int) -> list[Any]:
        made = [col("id", "int")]
        for n, pair in enumerate(PAIRS):
            type_ = pair[which]
            made += [
                col(f"t{n}", type_),
                col(f"s{n}", f"struct<v: {type_}>"),
                col(f"l{n}", f"array<{type_}>"),
                col(f"m{n}", f"map<string, {type_}>"),
            ]
        return made

    def values(value: Callable[[str, str], str]) -> str:
        parts = []
        for old, _, sql, _ in PAIRS:
            v = value(sql, old)
            parts.append(f"{v}, named_struct('v', {v}), array({v}, NULL), map('k', {v})")
        return ", ".join(parts)

    pq.migrate(pq.table("pairs", *columns(0)))
    full = pq.full("pairs")
    pq.sql(f"INSERT INTO {full} SELECT 1, {values(lambda sql, old: f'CAST({sql} AS {old})')}")
    pq.sql(f"INSERT INTO {full} SELECT 2, {values(lambda _, old: f'CAST(NULL AS {old})')}")
    nulls = ", ".join(["NULL, NULL, NULL, NULL"] * len(PAIRS))
    pq.sql(f"INSERT INTO {full} VALUES (3, {nulls})")
    plan = pq.migrate(pq.table("pairs", *columns(1)))
    assert rungs(plan) == ["overlay", "overlay"]
    conf = pq.backend.handle.session.conf
    for reader in ("true", "false"):
        conf.set("spark.sql.parquet.enableVectorizedReader", reader)
        rows = pq.rows("pairs")
        conf.unset("spark.sql.parquet.enableVectorizedReader")
        for n, (old, new, _, expected) in enumerate(PAIRS):
            got = rows[0][1 + 4 * n : 5 + 4 * n]
            assert got == (expected, (expected,), [expected, None], {"k": expected}), (old, new)
            assert rows[1][1 + 4 * n : 5 + 4 * n] == (None, (None,), [None, None], {"k": None})
            assert rows[2][1 + 4 * n : 5 + 4 * n] == (None,) * 4


def test_an_overlay_adds_fields_moves_columns_and_keeps_partitions(pq: Lake) -> None:
    pq.migrate(
        pq.table(
            "over",
            col("id", "int"),
            col("s", "struct<x: int, y: string>"),
            col("l", "array<struct<a: int>>"),
            col("v", "char(4)", default="'d'"),
            col("p", "int"),
            partition_by=("p",),
            primary_key=("id",),
            properties={"k": "v"},
        )
    )
    pq.sql(
        f"INSERT INTO {pq.full('over')} VALUES"
        " (1, named_struct('x', 1, 'y', 'y'), array(named_struct('a', 1), NULL), 'a', 7),"
        " (2, NULL, array(), NULL, NULL)"
    )
    wanted = pq.table(
        "over",
        col("v", "string", default="'e'"),
        col("l", "array<struct<b: date, a: bigint>>"),
        col("id", "bigint", comment="key"),
        col("s", "struct<z: int COMMENT 'new', y: string, x: double>"),
        col("p", "bigint"),
        col("last", "int"),
        partition_by=("p",),
        primary_key=("id",),
    )
    plan = pq.migrate(wanted, {("last",): Hint(default="9")}, IN_ORDER)
    assert set(rungs(plan)) == {"overlay", "metadata"}
    pq.sql(f"INSERT INTO {pq.full('over')} (id) VALUES (3)")
    assert pq.rows("over", "v, l, id, s, last, p") == [
        ("a   ", [(None, 1), None], 1, (None, "y", 1.0), 9, 7),
        (None, [], 2, None, 9, None),
        ("e", None, 3, None, None, None),
    ]
    live = pq.live("over")
    assert [c.name for c in live.columns] == ["v", "l", "id", "s", "p", "last"]
    assert live.properties["k"] == "v"
    assert (
        pq.backend.exist([pq.name("over__instar_new"), pq.name("over__instar_old_1")])
        == [False] * 2
    )


def test_files_of_two_types_are_checked_one_by_one(pq: Lake) -> None:
    """After int → bigint there are files of both types; another overlay must still be possible."""
    pq.migrate(pq.table("mixed", col("id", "int")))
    pq.sql(f"INSERT INTO {pq.full('mixed')} VALUES (1)")
    pq.migrate(pq.table("mixed", col("id", "bigint")))
    pq.sql(f"INSERT INTO {pq.full('mixed')} VALUES (9223372036854775807)")
    plan = pq.migrate(pq.table("mixed", col("id", "decimal(20, 0)")))
    assert rungs(plan) == ["overlay", "overlay"]
    assert pq.rows("mixed") == [(Decimal(1),), (Decimal(9223372036854775807),)]


def test_files_that_are_not_what_the_table_declares_refuse_the_overlay(pq: Lake) -> None:
    """A column that files hold and the table does not declare must not come back by its name."""
    pq.migrate(pq.table("lies", col("id", "int"), col("x", "bigint")))
    pq.sql(f"INSERT INTO {pq.full('lies')} VALUES (1, 5000000000)")
    place = pq.live("lies").extras["location"]
    pq.sql(f"DROP TABLE {pq.full('lies')}")
    pq.sql(f"CREATE TABLE {pq.full('lies')} (id int) USING parquet LOCATION '{place}'")
    wanted = pq.table("lies", col("id", "int"), col("s", "struct<a: int>"))
    pq.migrate(wanted)
    deep = pq.table("lies", col("id", "bigint"), col("s", "struct<a: int>"), col("x", "int"))
    plan = pq.plan(deep, policy=IN_ORDER)
    assert rungs(plan) == ["overlay", "overlay", "metadata"]
    for step in plan.steps[:2]:
        pq.run(step)
    with pytest.raises(VerificationFailed, match="already hold another 'x'"):
        pq.run(plan.steps[2])
    assert pq.rows("lies", "id, s") == [(1, None)]
    assert rungs(pq.migrate(deep, policy=IN_ORDER)) == ["rewrite", "rewrite"]
    assert pq.rows("lies", "id, s, x") == [(1, None, None)]


def test_integers_that_files_hold_wider_than_declared_refuse_the_overlay(pq: Lake) -> None:
    """Spark reads INT files as SMALLINT without an error, 100000 as -31072; the footers tell."""
    pq.migrate(pq.table("narrow", col("id", "int"), col("x", "int")))
    pq.sql(f"INSERT INTO {pq.full('narrow')} VALUES (1, 100000)")
    place = pq.live("narrow").extras["location"]
    pq.sql(f"DROP TABLE {pq.full('narrow')}")
    pq.sql(
        f"CREATE TABLE {pq.full('narrow')} (id int, x smallint) USING parquet LOCATION '{place}'"
    )
    plan = pq.plan(pq.table("narrow", col("id", "bigint"), col("x", "smallint")))
    with pytest.raises(VerificationFailed, match="INT in files is not read right as SMALLINT"):
        pq.run(plan.steps[0])
    assert pq.rows("narrow") == [(1, -31072)]


def test_a_folder_with_more_than_the_table_knows_refuses_the_overlay(pq: Lake) -> None:
    """MSCK would bring back a partition that was dropped from the table but not from the disk."""
    columns = (col("id", "int"), col("p", "int"))
    pq.migrate(pq.table("dropped", *columns, partition_by=("p",)))
    pq.sql(f"INSERT INTO {pq.full('dropped')} VALUES (1, 1), (2, 2)")
    pq.sql(f"ALTER TABLE {pq.full('dropped')} DROP PARTITION (p = 2)")
    wanted = pq.table("dropped", col("id", "bigint"), col("p", "int"), partition_by=("p",))
    plan = pq.plan(wanted)
    with pytest.raises(VerificationFailed, match="2 rows instead of 1"):
        pq.run(plan.steps[0])
    assert rungs(pq.migrate(wanted)) == ["rewrite", "rewrite"]
    assert pq.rows("dropped", "id, p") == [(1, 1)]


def test_a_copy_renames_drops_converts_and_repartitions(pq: Lake) -> None:
    pq.migrate(
        pq.table(
            "copied",
            col("id", "int"),
            col("f", "double"),
            col("s", "struct<a: int, b: string>"),
            col("m", "map<int, int>"),
            col("gone", "int"),
            col("p", "date"),
            partition_by=("p",),
        )
    )
    pq.sql(
        f"INSERT INTO {pq.full('copied')} VALUES"
        " (1, double('nan'), named_struct('a', 1, 'b', 'B'), map(1, 2), 5, date'2020-01-01'),"
        " (2, double('-0.0'), NULL, map(), NULL, NULL),"
        " (3, double('-infinity'), named_struct('a', NULL, 'b', NULL), NULL, 6, date'1970-01-01')"
    )
    wanted = pq.table(
        "copied",
        col("key", "string"),
        col("f", "double"),
        col("s", "struct<bb: string, a: decimal(5, 1)>"),
        col("m", "map<string, int>"),
        col("p", "date"),
        col("sum", "int", default="0"),
        partition_by=("key",),
    )
    hints = {
        ("key",): Hint(renamed_from="id"),
        ("s", "bb"): Hint(renamed_from="b"),
        ("sum",): Hint(using="id + coalesce(gone, 0)"),
    }
    plan = pq.migrate(wanted, hints)
    assert rungs(plan) == ["rewrite", "rewrite"]
    assert plan.steps[1].destructive
    pq.sql(f"INSERT INTO {pq.full('copied')} (key) VALUES ('4')")
    shown = "key, CAST(f AS STRING), s.bb, s.a, s IS NULL, m, p, sum"
    assert pq.rows("copied", shown, "key") == [
        ("1", "NaN", "B", Decimal("1.0"), False, {"1": 2}, dt.date(2020, 1, 1), 6),
        ("2", "-0.0", None, None, True, {}, None, 2),
        ("3", "-Infinity", None, None, False, None, dt.date(1970, 1, 1), 9),
        ("4", None, None, None, True, None, None, 0),
    ]
    assert pq.rows("copied__instar_old_1", "id, gone") == [(1, 5), (2, None), (3, 6)]
    assert pq.name("copied__instar_old_1") not in pq.backend.list_tables(SCHEMA)


def test_a_managed_table_is_copied_and_becomes_external(pq: Lake) -> None:
    pq.sql(f"CREATE TABLE {pq.full('managed')} (id int, x int) USING parquet")
    pq.sql(f"INSERT INTO {pq.full('managed')} VALUES (1, 10)")
    plan = pq.migrate(pq.table("managed", col("id", "bigint"), col("x", "int")))
    assert rungs(plan) == ["rewrite", "rewrite"]
    assert pq.rows("managed") == [(1, 10)]
    assert pq.live("managed").extras["external"] == "yes"


def test_buckets_are_not_lost_without_a_word(pq: Lake) -> None:
    pq.sql(
        f"CREATE TABLE {pq.full('bucketed')} (id int, x int) USING parquet"
        " CLUSTERED BY (id) INTO 2 BUCKETS"
    )
    plan = pq.plan(pq.table("bucketed", col("id", "int"), col("x", "string")))
    (said,) = [f.message for f in plan.findings if f.severity.value == "error"]
    assert "lose the buckets of the table (id into 2)" in said


@pytest.mark.parametrize(
    ("step", "moment"),
    [(0, "copy:insert-done"), (1, "swap:rename-old"), (1, "swap:rename-old-done")],
)
def test_a_file_that_appears_meanwhile_refuses_and_nothing_is_lost(
    pq: Lake, other: SparkHandle, step: int, moment: str
) -> None:
    name = "appended_" + moment.replace(":", "_").replace("-", "_")
    plan = pq.plan(numbers(pq, name))
    for done in plan.steps[:step]:
        pq.run(done)
    place = pq.live(name).extras["location"]

    def write() -> None:
        other.sql("SELECT 3 AS id, 30 AS x").write.mode("append").parquet(place)

    with pytest.raises(VerificationFailed, match=r"somebody wrote|differs"):
        pq.run(plan.steps[step], at(moment, write))
    assert pq.rows(name) == [(1, 10), (2, None), (3, 30)]
    assert "writers must stop" in (plan.steps[0].why_not_cheaper or "")
    pq.migrate(pq.table(name, col("id", "int"), col("x", "string")))
    assert pq.rows(name) == [(1, "10"), (2, None), (3, "30")]


def test_a_stranger_under_the_copys_name_is_left_alone(pq: Lake) -> None:
    plan = pq.plan(numbers(pq, "taken"))
    pq.sql(f"CREATE TABLE {pq.full('taken__instar_new')} (mine int) USING parquet")
    with pytest.raises(EngineError, match="in the way"):
        pq.run(plan.steps[0])


def test_a_copy_goes_on_after_a_crash_at_every_point(pq: Lake) -> None:
    plan = pq.plan(numbers(pq, "crashes"))
    died = pq.survive(plan)
    assert {"copy:insert-done", "swap:rename-old-done", "swap:rename-new-done"} <= set(died)
    assert pq.rows("crashes") == [(1, "10"), (2, None)]
    assert plan.target is not None
    assert same_schema(pq.live("crashes"), plan.target)
    assert pq.backend.outcome(plan.steps[1], plan.live, {}) is Outcome.DONE
    assert pq.backend.own_properties(pq.name("crashes")) == {}


def test_an_overlay_goes_on_after_a_crash_at_every_point(pq: Lake) -> None:
    columns = (col("id", "int"), col("d", "int", default="1"), col("p", "int"))
    pq.migrate(pq.table("crashes_over", *columns, partition_by=("p",)))
    pq.sql(f"INSERT INTO {pq.full('crashes_over')} VALUES (1, 2, 3), (2, NULL, NULL)")
    wanted = (col("id", "bigint"), col("d", "int", default="1"), col("p", "int"))
    plan = pq.plan(pq.table("crashes_over", *wanted, partition_by=("p",)))
    died = pq.survive(plan)
    assert {"overlay:repair-done", "swap:rename-old-done", "swap:drop-old-done"} <= set(died)
    assert pq.rows("crashes_over", "id, d, p") == [(1, 2, 3), (2, None, None)]
    assert pq.backend.outcome(plan.steps[1], plan.live, {}) is Outcome.DONE
    assert list(pq.backend.own_properties(pq.name("crashes_over"))) == ["instar.columns"]


def test_the_cost_is_what_lies_on_disk(pq: Lake) -> None:
    pq.migrate(pq.table("cost", col("id", "int")))
    pq.sql(f"INSERT INTO {pq.full('cost')} VALUES (1), (2)")
    found = pq.backend.measure([pq.name("cost")])[pq.name("cost")]
    assert found.rows == 2
    assert found.files
    assert found.bytes
    assert "F603" in codes(pq.plan(pq.table("cost", col("id", "int", nullable=False))))
