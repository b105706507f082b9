"""Proofs count exactly, show the rows, and never write."""

from __future__ import annotations

import pytest

from backends.duckdb.world import World, heard, want
from backends.world import BIG, INT
from instar.core.plan import TablePlan
from instar.core.schema import Check, Hint, Unique
from instar.core.types import Column, Decimal, Float, String, array, map_of, struct

KEYED = Column("id", INT, nullable=False)


def counts(plan: TablePlan) -> dict[str, int | None]:
    return {f.code: f.count for f in plan.findings if f.count is not None}


def test_all_proofs_of_a_table_take_one_pass_and_witnesses_come_only_for_failures(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.sql("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR, b BIGINT, c INT)")
    world.sql("INSERT INTO t VALUES (1, '1', 1, 1), (2, '2', 5000000000, NULL)")
    asked = heard(world, monkeypatch)
    plan = world.plan(
        want(
            KEYED,
            Column("a", INT),
            Column("b", INT),
            Column("c", INT, nullable=False),
            primary_key=("id",),
            constraints=(Check("k", "a > 0"),),
        )
    )
    assert counts(plan) == {"F201": 1, "F203": 1}
    scans = [sql for sql in asked if 'FROM "main"."t"' in sql]
    assert len(scans) == 3


def test_witnesses_show_key_and_value_and_stop_at_a_hundred(world: World) -> None:
    world.sql("CREATE TABLE t (k VARCHAR, id INT, a VARCHAR, PRIMARY KEY (k, id))")
    world.sql("INSERT INTO t SELECT 'k', i, 'bad ' || i FROM range(250) AS r (i)")
    plan = world.plan(
        want(
            Column("k", String(), nullable=False),
            KEYED,
            Column("a", INT),
            primary_key=("k", "id"),
        )
    )
    (finding,) = plan.findings
    assert finding.count == 250
    assert len(finding.witnesses) == 100
    assert {"k": "k", "id": "7", "a": "bad 7"} in finding.witnesses


def test_a_unique_key_counts_the_rows_that_share_it_and_lets_nulls_be(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, a VARCHAR, b INT)")
    world.sql("INSERT INTO t VALUES (1,'x',1), (2,'x',1), (3,'x',2), (4,NULL,1), (5,NULL,1)")
    columns = (Column("id", INT), Column("a", String()), Column("b", INT))
    plan = world.plan(want(*columns, constraints=(Unique("u", ("a", "b")),)))
    (finding,) = plan.findings
    assert (finding.code, finding.count) == ("F301", 2)
    assert [(w["a"], w["b"]) for w in finding.witnesses] == [("x", "1"), ("x", "1")]


def test_rules_are_proven_on_rows_as_they_will_be(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, a VARCHAR)")
    world.sql("INSERT INTO t VALUES (1, '5'), (2, '-5'), (3, NULL)")
    plan = world.plan(
        want(
            Column("id", INT),
            Column("n", INT, nullable=False),
            hints={("n",): Hint(renamed_from="a", default="7")},
            constraints=(Check("positive", "n > 0"),),
        )
    )
    assert counts(plan) == {"F302": 1}
    assert plan.findings[-1].witnesses == ({"rowid": "1", "id": "2", "a": "-5", "n": "-5"},)


def test_proofs_reach_into_nulls_empty_lists_and_maps(world: World) -> None:
    world.sql(
        "CREATE TABLE t (id INT, s STRUCT(a STRUCT(b VARCHAR)), l STRUCT(v VARCHAR)[], m MAP(VARCHAR, VARCHAR))"
    )
    world.sql("INSERT INTO t VALUES (1, NULL, NULL, NULL), (2, {'a': NULL}, [], MAP {})")
    world.sql("INSERT INTO t VALUES (3, {'a': {'b': NULL}}, [NULL, {'v': NULL}], MAP {'1': NULL})")
    world.sql("INSERT INTO t VALUES (4, {'a': {'b': '1'}}, [{'v': '2'}], MAP {'3': '4'})")
    wanted = want(
        Column("id", INT),
        Column("s", struct(Column("a", struct(Column("b", INT))))),
        Column("l", array(struct(Column("v", INT)))),
        Column("m", map_of(INT, INT)),
    )
    assert counts(world.plan(wanted)) == {}
    world.sql(
        "INSERT INTO t VALUES (5, {'a': {'b': 'x'}}, [{'v': '2'}, {'v': 'y'}], MAP {'z': '4'})"
    )
    world.sql("INSERT INTO t VALUES (6, NULL, NULL, MAP {'3': 'w'})")
    found = [(f.path, f.count) for f in world.plan(wanted).findings]
    assert sorted(found) == [
        (("l", "element", "v"), 1),
        (("m", "key"), 1),
        (("m", "value"), 1),
        (("s", "a", "b"), 1),
    ]
    world.sql("DELETE FROM t WHERE id > 4")
    world.apply(wanted)
    assert world.sql("SELECT * FROM t ORDER BY id") == [
        (1, None, None, None),
        (2, {"a": None}, [], {}),
        (3, {"a": {"b": None}}, [None, {"v": None}], {1: None}),
        (4, {"a": {"b": 1}}, [{"v": 2}], {3: 4}),
    ]


EXTREMES = (
    "(1, 'nan', 99999999999999999999999999999999999999, '290000-01-01', 'nan', '\\xFF\\x00')",
    "(2, '-0.0', -99999999999999999999999999999999999999, '-290000-01-01', '-inf', '')",
    "(3, 'inf', 0, '1970-01-01', '3.4e38', NULL)",
    "(4, '5e-324', NULL, 'infinity', '1e-45', 'a')",
)


def test_extreme_values_go_through_a_rewrite_bit_by_bit(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, d DOUBLE, n DECIMAL(38,0), ts TIMESTAMP, f FLOAT, b BLOB)")
    world.sql(f"INSERT INTO t VALUES {', '.join(EXTREMES)}")
    text = (
        "SELECT id, d::VARCHAR, n::VARCHAR, ts::VARCHAR, f::VARCHAR, b::VARCHAR FROM t ORDER BY id"
    )
    before = world.sql(text)
    live = world.live()
    assert live is not None
    world.apply(want(*live.columns, constraints=(Check("k", "id > 0"),)))
    assert world.sql(text) == before


def test_extreme_values_are_judged_one_by_one(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, d DOUBLE, n DECIMAL(38,0), f FLOAT)")
    world.sql("INSERT INTO t VALUES (1, 'nan', 1, 'nan'), (2, 1e300, 12345678901234567890, 'inf')")
    world.sql("INSERT INTO t VALUES (3, -0.0, NULL, 0.1), (4, 0.1, 9007199254740993, 1e-45)")
    plan = world.plan(
        want(
            Column("id", INT),
            Column("d", Float(32)),
            Column("n", Float(64)),
            Column("f", Decimal(10, 3)),
        )
    )
    assert {f.path: f.count for f in plan.findings} == {("d",): 2, ("n",): 2, ("f",): 3}


def test_a_proof_never_writes(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, a VARCHAR); INSERT INTO t VALUES (1, 'x')")
    before = world.sql("SELECT * FROM t"), world.live()
    world.plan(want(Column("id", BIG), Column("a", INT, nullable=False)))
    assert (world.sql("SELECT * FROM t"), world.live()) == before
