"""Expressions that compute the value of old rows: right values, whatever they are made of."""

from __future__ import annotations

import pytest

from backends.duckdb.world import World, rows, want
from backends.world import rung
from instar.core.plan import Rung
from instar.core.schema import Hint
from instar.core.types import Binary, Column, Integer, String, array, map_of, struct

INT, TEXT = Integer(32), String()
ID, A = Column("id", INT), Column("a", INT)


@pytest.fixture
def two_rows(world: World) -> World:
    world.sql("CREATE TABLE t (id INT, a INT); INSERT INTO t VALUES (1, 2), (2, 3)")
    return world


CAPTURING = [
    "list_filter([1, 2, 3], lambda x: x <= a)",
    'list_filter([1, 2, 3], lambda x, i: i <= "A")',
    "[x for x in [1, 2, 3] if x <= a]",
    "list_filter([1, 2, 3], lambda x: len(list_filter([x], lambda y: y <= a)) > 0)",
]


@pytest.mark.parametrize("sql", CAPTURING)
def test_a_lambda_reads_the_column_of_its_own_row(two_rows: World, sql: str) -> None:
    plan = two_rows.apply(want(ID, A, Column("n", array(INT)), hints={("n",): Hint(using=sql)}))
    assert rung(plan) is Rung.REWRITE
    assert rows(two_rows) == [(1, 2, [1, 2]), (2, 3, [1, 2, 3])]


def test_a_lambda_over_its_own_parameter_needs_no_copy(two_rows: World) -> None:
    sql = "list_transform([a, id], lambda x: x + 1)"
    plan = two_rows.apply(want(ID, A, Column("n", array(INT)), hints={("n",): Hint(using=sql)}))
    assert rung(plan) is Rung.STEPS
    assert rows(two_rows) == [(1, 2, [3, 2]), (2, 3, [4, 3])]


def test_an_arrow_into_json_is_no_lambda(world: World) -> None:
    world.sql("""CREATE TABLE t (id INT, j VARCHAR); INSERT INTO t VALUES (1, '{"a": 7}')""")
    hints = {("n",): Hint(using="CAST(j -> '$.a' AS INTEGER)")}
    plan = world.apply(want(ID, Column("j", TEXT), Column("n", INT), hints=hints))
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, '{"a": 7}', 7)]


def test_a_lambda_in_a_change_of_type_and_in_a_fill(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, a INT, n INT); INSERT INTO t VALUES (1, 2, 9), (2, 3, NULL)")
    sql = "len(list_filter([1, 2, 3], lambda x: x <= a))"
    hints = {("n",): Hint(using=f"{sql}::VARCHAR || '!'")}
    assert rung(world.apply(want(ID, A, Column("n", TEXT), hints=hints))) is Rung.REWRITE
    assert rows(world) == [(1, 2, "2!"), (2, 3, "3!")]
    world.sql("UPDATE t SET n = NULL WHERE id = 2")
    hints = {("n",): Hint(default=f"{sql}::VARCHAR")}
    wanted = want(ID, A, Column("n", TEXT, nullable=False), hints=hints)
    assert rung(world.apply(wanted)) is Rung.REWRITE
    assert rows(world) == [(1, 2, "2!"), (2, 3, "3")]


@pytest.mark.parametrize(("many", "by_key"), [("l", "m"), ("L", "M")])
def test_a_field_of_an_element_is_filled_from_a_column(
    world: World, many: str, by_key: str
) -> None:
    world.sql("CREATE TABLE t (id INT, l STRUCT(x INT)[], m MAP(VARCHAR, STRUCT(x INT)))")
    world.sql("INSERT INTO t VALUES (1, [{'x': 5}], MAP {'k': {'x': 6}})")
    world.sql("INSERT INTO t VALUES (2, [{'x': 7}, NULL], NULL)")
    inner = struct(Column("x", INT), Column("z", INT))
    hints = {
        (many, "element", "z"): Hint(default="id"),
        (by_key, "value", "z"): Hint(using="id * 10"),
    }
    columns = (ID, Column(many, array(inner)), Column(by_key, map_of(TEXT, inner)))
    assert rung(world.apply(want(*columns, hints=hints))) is Rung.REWRITE
    assert rows(world) == [
        (1, [{"x": 5, "z": 1}], {"k": {"x": 6, "z": 10}}),
        (2, [{"x": 7, "z": 2}, None], None),
    ]


def test_a_field_of_a_struct_is_filled_from_a_column_in_place(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, s STRUCT(x INT)); INSERT INTO t VALUES (4, {'x': 5})")
    inner = struct(Column("x", INT), Column("z", INT))
    hints = {("s", "z"): Hint(default="id")}
    assert rung(world.apply(want(ID, Column("s", inner), hints=hints))) is Rung.STEPS
    assert rows(world) == [(4, {"x": 5, "z": 4})]


def test_bytes_become_text_at_every_depth(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, b BLOB, l BLOB[], s STRUCT(x BLOB), m MAP(BLOB, BLOB))")
    value = "encode('é\\x')"
    world.sql(
        f"INSERT INTO t VALUES (1, {value}, [{value}, NULL], {{'x': {value}}}, "
        f"MAP {{{value}: {value}}}), (2, NULL, NULL, NULL, NULL)"
    )
    for name, type_ in {
        "b": TEXT,
        "l": array(TEXT),
        "s": struct(Column("x", TEXT)),
        "m": map_of(TEXT, TEXT),
    }.items():
        live = world.live()
        assert live is not None
        columns = [Column(c.name, type_) if c.name == name else c for c in live.columns]
        assert rung(world.apply(want(*columns))) is Rung.REWRITE
    text = "é\\x"
    assert rows(world) == [
        (1, text, [text, None], {"x": text}, {text: text}),
        (2, None, None, None, None),
    ]


def test_an_expression_that_gives_bytes_becomes_text(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, b BLOB); INSERT INTO t VALUES (1, encode('é'))")
    columns = (ID, Column("b", Binary()), Column("n", TEXT))
    world.apply(want(*columns, hints={("n",): Hint(using="b")}))
    assert world.sql("SELECT n FROM t") == [("é",)]


def test_bytes_that_are_no_text_block_the_plan(world: World) -> None:
    world.sql(r"CREATE TABLE t (id INT, b BLOB); INSERT INTO t VALUES (1, '\xFF'::BLOB)")
    assert world.plan(want(ID, Column("b", TEXT))).blocked


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("sum(a) OVER ()", [5, 5]),
        ("row_number() OVER (ORDER BY a DESC)", [2, 1]),
        ("TRY(CAST(CASE WHEN a > 2 THEN 'x' ELSE '8' END AS INTEGER))", [8, None]),
        ("a + (SELECT max(x) FROM (VALUES (1), (7)) AS v (x))", [9, 10]),
        ("a + (SELECT unnest([7]))", [9, 10]),
        ("list_sum([a, id])", [3, 5]),
    ],
)
def test_what_select_computes_for_a_row(two_rows: World, sql: str, values: list[object]) -> None:
    two_rows.apply(want(ID, A, Column("n", INT), hints={("n",): Hint(using=sql)}))
    assert [row[2] for row in rows(two_rows)] == values


@pytest.mark.parametrize("sql", ["unnest([1, 2])", "sum(a)", "a + count(*)", "Max(a) - 1"])
@pytest.mark.parametrize("key", ["using", "default"])
def test_what_is_no_value_of_one_row_is_refused(two_rows: World, key: str, sql: str) -> None:
    plan = two_rows.plan(want(ID, A, Column("n", INT), hints={("n",): Hint(**{key: sql})}))
    assert plan.blocked
    assert [f.code for f in plan.findings] == ["F606"]


def test_a_window_inside_an_array_is_refused(world: World) -> None:
    world.sql("CREATE TABLE t (id INT, l STRUCT(x INT)[], s STRUCT(x INT))")
    world.sql("INSERT INTO t VALUES (1, [{'x': 1}], {'x': 1}), (2, [{'x': 1}], {'x': 1})")
    old, new = struct(Column("x", INT)), struct(Column("x", INT), Column("z", INT))
    window = Hint(default="sum(id) OVER ()")
    inside = want(
        ID, Column("l", array(new)), Column("s", old), hints={("l", "element", "z"): window}
    )
    assert [f.code for f in world.plan(inside).findings] == ["F606"]
    world.apply(want(ID, Column("l", array(old)), Column("s", new), hints={("s", "z"): window}))
    assert world.sql("SELECT s.z FROM t") == [(3,), (3,)]
