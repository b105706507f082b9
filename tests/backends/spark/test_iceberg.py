"""Iceberg on the real engine: what is created, what evolves natively, at every depth and with odd names."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from backends.spark.lake import IN_ORDER, Lake, codes, col, rungs
from instar.backends.base import NotATable
from instar.backends.spark.iceberg import IcebergBackend
from instar.core.schema import Hint, TableName
from instar.core.types import walk
from instar.spark import SparkHandle

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def ice(spark: SparkHandle) -> Lake:
    lake = Lake(IcebergBackend(spark), "ice_native")
    spark.run("CREATE NAMESPACE IF NOT EXISTS ice.ice_native")
    for row in spark.run("SHOW TABLES IN ice.ice_native"):
        spark.run(f"DROP TABLE ice.ice_native.`{row['tableName'].replace('`', '``')}`")
    return lake


def test_a_created_table_is_what_was_asked_for(ice: Lake) -> None:
    wanted = ice.table(
        "made",
        col("id", "bigint", nullable=False, comment="it's \\ the key"),
        col("odd `n.a,m;e{}", "string"),
        col("s", "struct<`a b`: int NOT NULL COMMENT 'deep', l: array<struct<x: date>>>"),
        col("m", "map<string, struct<v: decimal(38, 10)>>"),
        col("ts", "timestamp"),
        col("nt", "timestamp_ntz"),
        col("raw", "binary"),
        col("ok", "boolean"),
        primary_key=("ID",),
        partition_by=("day(TS)", "bucket(4, id)", "truncate(3, `odd ``n.a,m;e{}`)"),
        cluster_by=("id desc", "odd `n.a,m;e{}"),
        properties={"write.target-file-size-bytes": "1048576", "odd 'key'": "a\\b"},
        comment="what it's for",
    )
    plan = ice.migrate(wanted)
    assert [s.kind for s in plan.steps] == ["create", "order", "key"]
    live = ice.live("made")
    assert live.primary_key == ("id",)
    assert live.partition_by == ("bucket(4, id)", "days(ts)", "truncate(3, `odd ``n.a,m;e{}`)")
    assert live.cluster_by == ("id DESC", "odd `n.a,m;e{}")
    assert live.properties["odd 'key'"] == "a\\b"
    assert live.extras["snapshot"] == ""
    ids = [c.identity for _, c in walk(live.columns)]
    assert None not in ids
    assert len(set(ids)) == len(ids)


def test_many_are_inspected_at_once_and_what_is_no_table_is_said(ice: Lake) -> None:
    for name in ("one", "odd na.me `x"):
        ice.migrate(ice.table(name, col("id", "int")))
    ice.sql("CREATE OR REPLACE VIEW ice.ice_native.seen AS SELECT 1 AS id")
    names = [ice.name(n) for n in ("one", "odd na.me `x", "seen", "absent")]
    found = ice.backend.inspect([*names, TableName("no_such_schema", "t")])
    assert set(found) == set(names[:3])
    assert found[names[2]] == NotATable(names[2], "view")
    assert ice.name("seen") not in ice.backend.list_tables("ice_native")
    assert ice.name("odd na.me `x") in ice.backend.list_tables("ice_native")
    ice.sql("DROP VIEW ice.ice_native.seen")


def test_columns_come_go_widen_and_move_at_every_depth(ice: Lake) -> None:
    ice.migrate(
        ice.table(
            "deep",
            col("id", "int", nullable=False),
            col("gone", "string"),
            col("f", "float"),
            col("d", "decimal(36, 2)"),
            col("s", "struct<a: int, b: string, t: struct<x: float>>"),
            col("l", "array<struct<p: int, q: string>>"),
            col("m", "map<string, struct<v: int, w: date>>"),
            col("need", "string", nullable=False),
        )
    )
    ice.sql(
        f"INSERT INTO {ice.full('deep')} VALUES"
        " (1, 'x', float('nan'), 99999999999999999999999999999999.99,"
        "  named_struct('a', 1, 'b', 'b', 't', named_struct('x', float('-0.0'))),"
        "  array(named_struct('p', 1, 'q', 'q'), NULL),"
        "  map('k', named_struct('v', 1, 'w', date'9999-12-31')), 'n'),"
        " (2, NULL, float('-inf'), NULL, NULL, array(), map(), ''),"
        " (-2147483648, '', NULL, -0.01, named_struct('a', NULL, 'b', NULL, 't', NULL), NULL, NULL, 'n')"
    )
    before = {path: c.identity for path, c in walk(ice.live("deep").columns)}
    wanted = ice.table(
        "deep",
        col("new `1`", "array<int>", comment="first"),
        col("id", "bigint", nullable=False),
        col("f", "double"),
        col("d", "decimal(38, 2)"),
        col(
            "s",
            "struct<z: date, B2: string COMMENT 'why', t: struct<x: double, y: int>, a: bigint>",
        ),
        col("l", "array<struct<r: string, p: bigint>>"),
        col("m", "map<string, struct<`w w`: date, v: bigint>>"),
        col("need", "string"),
    )
    hints = {("s", "B2"): Hint(renamed_from="b"), ("m", "value", "w w"): Hint(renamed_from="w")}
    plan = ice.migrate(wanted, hints, IN_ORDER)
    assert set(rungs(plan)) == {"metadata"}
    assert [s.destructive for s in plan.steps if s.kind == "drop"] == [True]
    columns = ("new `1`", "id", "f", "d", "s", "l", "m", "need")
    assert [c.name for c in ice.live("deep").columns] == list(columns)
    found = ice.rows("deep", "id, CAST(f AS STRING), d, s, l, m, need, `new ``1```")
    big = Decimal("99999999999999999999999999999999.99")
    assert found == [
        (-2147483648, None, Decimal("-0.01"), (None, None, None, None), None, None, "n", None),
        (
            1,
            "NaN",
            big,
            (None, "b", (-0.0, None), 1),
            [(None, 1), None],
            {"k": (dt.date(9999, 12, 31), 1)},
            "n",
            None,
        ),
        (2, "-Infinity", None, None, [], {}, "", None),
    ]
    assert str(found[1][3][2][0]) == "-0.0"
    after = {path: c.identity for path, c in walk(ice.live("deep").columns)}
    assert after[("s", "B2")] == before[("s", "b")]
    assert after[("m", "value", "w w")] == before[("m", "value", "w")]
    assert after[("l", "element", "p")] == before[("l", "element", "p")]
    assert after[("new `1`",)] not in before.values()


def test_names_swap_change_case_and_are_taken_over(ice: Lake) -> None:
    ice.migrate(ice.table("names", *(col(n, "int") for n in ("id", "a", "b", "c", "e"))))
    ice.sql(f"INSERT INTO {ice.full('names')} VALUES (1, 10, 20, 30, 50)")
    wanted = ice.table(
        "names",
        *(col(n, "int") for n in ("id", "b", "a", "C", "f")),
        col("e", "string"),
    )
    hints = {
        ("b",): Hint(renamed_from="a"),
        ("a",): Hint(renamed_from="b"),
        ("C",): Hint(renamed_from="c"),
        ("f",): Hint(renamed_from="e"),
    }
    plan = ice.migrate(wanted, hints)
    assert set(rungs(plan)) == {"metadata"}
    assert ice.rows("names", "id, a, b, C, e, f") == [(1, 20, 10, 30, None, 50)]
    assert [c.name for c in ice.live("names").columns] == ["id", "b", "a", "C", "f", "e"]


def test_a_column_that_goes_and_comes_back_is_empty(ice: Lake) -> None:
    ice.migrate(ice.table("again", col("id", "int"), col("a", "int")))
    ice.sql(f"INSERT INTO {ice.full('again')} VALUES (1, 10)")
    ice.migrate(ice.table("again", col("id", "int")))
    ice.migrate(ice.table("again", col("id", "int"), col("a", "int")))
    assert ice.rows("again") == [(1, None)]


def test_rows_that_are_there_take_a_value_and_null_structs_stay_null(ice: Lake) -> None:
    ice.migrate(ice.table("fills", col("id", "int"), col("s", "struct<a: int>"), col("old", "int")))
    ice.sql(f"INSERT INTO {ice.full('fills')} VALUES (1, named_struct('a', 1), 5), (2, NULL, NULL)")
    wanted = ice.table(
        "fills",
        col("id", "int"),
        col("s", "struct<a: int, b: string>"),
        col("twice", "bigint"),
        col("status", "string", default="'it''s'"),
    )
    hints = {("s", "b"): Hint(default="'f'"), ("twice",): Hint(using="old * 2")}
    plan = ice.migrate(wanted, hints)
    assert "F604" in codes(plan)
    assert [s.repeatable for s in plan.steps if s.kind == "fill"] == [True, True]
    assert ice.rows("fills") == [(1, (1, "f"), 10, "it's"), (2, None, None, "it's")]


def test_a_value_that_does_not_fit_blocks_before_anything_runs(ice: Lake) -> None:
    ice.migrate(ice.table("unfit", col("id", "int"), col("a", "string")))
    ice.sql(f"INSERT INTO {ice.full('unfit')} VALUES (1, '7'), (2, 'seven')")
    plan = ice.plan(ice.table("unfit", col("id", "int"), col("a", "int")))
    assert plan.steps == ()
    finding = next(f for f in plan.findings if f.code == "F201")
    assert (finding.count, finding.witnesses) == (1, ({"id": "2", "a": "seven"},))


def test_keys_partitions_order_and_properties_move(ice: Lake) -> None:
    def wanted(*, required: bool, key: tuple[str, ...], **more: object) -> object:
        columns = (
            col("id", "int", nullable=not required),
            col("other", "int"),
            col("ts", "timestamp"),
        )
        return ice.table("keys", *columns, primary_key=key, **more)

    ice.migrate(wanted(required=True, key=("id",), partition_by=("days(ts)",)))  # type: ignore[arg-type]
    ice.sql(f"INSERT INTO {ice.full('keys')} VALUES (1, 1, timestamp'2020-02-29 12:00:00')")
    assert ice.live("keys").extras["key_kept_as"] == "identifier"
    moved = wanted(
        required=False,
        key=("id", "other"),
        partition_by=("months(ts)", "bucket(8, other)"),
        cluster_by=("other",),
        properties={"write.distribution-mode": "hash", "k": "v"},
        comment="moved",
    )
    ice.migrate(moved)  # type: ignore[arg-type]
    live = ice.live("keys")
    assert live.extras["key_kept_as"] == "property"
    assert live.primary_key == ("id", "other")
    assert live.partition_by == ("bucket(8, other)", "months(ts)")
    assert live.properties["write.distribution-mode"] == "hash"
    renamed = ice.table(
        "keys",
        col("id", "int"),
        col("another", "int"),
        col("at", "timestamp"),
        primary_key=("id", "another"),
        partition_by=("months(at)", "bucket(8, another)"),
        cluster_by=("another DESC",),
    )
    hints = {("another",): Hint(renamed_from="other"), ("at",): Hint(renamed_from="ts")}
    ice.migrate(renamed, hints)
    live = ice.live("keys")
    assert live.primary_key == ("id", "another")
    assert live.properties["write.distribution-mode"] == "hash"
    plain = ice.table("keys", col("id", "int"), col("another", "int"), col("at", "timestamp"))
    ice.migrate(plain)
    assert ice.live("keys").primary_key == ()
    assert ice.rows("keys", "id, another, year(at)") == [(1, 1, 2020)]


def test_the_format_version_goes_up_with_a_warning_and_never_down(ice: Lake) -> None:
    ice.migrate(ice.table("versions", col("id", "int")))
    up = ice.migrate(ice.table("versions", col("id", "int"), properties={"format-version": "3"}))
    assert "F502" in codes(up)
    down = ice.plan(ice.table("versions", col("id", "int"), properties={"format-version": "2"}))
    assert down.blocked
    assert "F601" in codes(down)


def test_the_cost_comes_from_the_snapshot(ice: Lake) -> None:
    ice.migrate(ice.table("cost", col("id", "int")))
    ice.sql(f"INSERT INTO {ice.full('cost')} VALUES (1), (2), (3)")
    found = ice.backend.measure([ice.name("cost")])[ice.name("cost")]
    assert found.rows == 3
    assert found.files
    assert found.bytes
