"""Changes inside structs, lists and maps on DuckDB, executed."""

from __future__ import annotations

import pytest

from backends.duckdb.world import ID, World, filled, rows, want
from backends.world import BIG, INT, REORDER, TEXT, rung
from instar.core.plan import Rung, Status
from instar.core.schema import Hint
from instar.core.types import Column, Float, Opaque, array, map_of, struct
from instar.errors import EngineError

NESTED = (
    "id INT, s STRUCT(x INT, y VARCHAR), l STRUCT(x INT)[], m MAP(VARCHAR, STRUCT(x INT))",
    "(1, {'x': 1, 'y': 'q'}, [{'x': 2}, NULL], MAP {'k': {'x': 3}})",
    "(2, NULL, NULL, NULL)",
    "(3, {'x': NULL, 'y': NULL}, [], MAP {})",
)


def nested(
    s: tuple[Column, ...] = (Column("x", INT), Column("y", TEXT)),
    l: tuple[Column, ...] = (Column("x", INT),),  # noqa: E741
    m: tuple[Column, ...] = (Column("x", INT),),
    **rest: object,
) -> object:
    columns = (
        ID,
        Column("s", struct(*s)),
        Column("l", array(struct(*l))),
        Column("m", map_of(TEXT, struct(*m))),
    )
    return want(*columns, **rest)  # type: ignore[arg-type]


def test_nested_add_rename_drop_and_widen_at_every_depth(world: World) -> None:
    filled(world, *NESTED)
    hints = {
        ("s", "z"): Hint(renamed_from="y"),
        ("l", "element", "xx"): Hint(renamed_from="x"),
        ("s", "n"): Hint(default="9"),
    }
    plan = world.apply(
        nested(
            (Column("x", BIG), Column("z", TEXT), Column("n", INT)),
            (Column("xx", BIG), Column("new", TEXT)),
            (Column("x", Float(64)), Column("y", INT)),
            hints=hints,
        )  # type: ignore[arg-type]
    )
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [
        (
            1,
            {"x": 1, "z": "q", "n": 9},
            [{"xx": 2, "new": None}, None],
            {"k": {"x": 3.0, "y": None}},
        ),
        (2, None, None, None),
        (3, {"x": None, "z": None, "n": 9}, [], {}),
    ]


def test_a_struct_with_a_list_of_fixed_size_is_left_alone(world: World) -> None:
    """DuckDB has no CASE over such a list, and none of its structs is rebuilt without one."""
    filled(world, "id INT, s STRUCT(v INT[3])", "(1, {'v': [1, 2, 3]})", "(2, NULL)")
    sized = Column("v", Opaque("INTEGER[3]"))
    plan = world.plan(want(ID, Column("s", struct(sized, Column("b", INT)))))
    assert (plan.status, plan.findings[0].code) == (Status.BLOCKED, "F601")


def test_nested_drop(world: World) -> None:
    filled(world, *NESTED)
    plan = world.apply(nested((Column("y", TEXT),)))  # type: ignore[arg-type]
    assert plan.steps[0].destructive
    assert world.sql("SELECT s FROM t ORDER BY id") == [({"y": "q"},), (None,), ({"y": None},)]


def test_nested_order_follows_the_manifest_when_asked(world: World) -> None:
    filled(world, *NESTED)
    plan = world.apply(nested((Column("y", TEXT), Column("x", INT))), REORDER)  # type: ignore[arg-type]
    assert rung(plan) is Rung.STEPS
    assert world.sql("SELECT s FROM t WHERE id = 1") == [({"y": "q", "x": 1},)]


def test_element_key_and_value_change_their_type(world: World) -> None:
    filled(world, "id INT, l INT[], m MAP(INT, INT)", "(1, [1, NULL], MAP {1: 2, 3: NULL})")
    plan = world.apply(want(ID, Column("l", array(BIG)), Column("m", map_of(TEXT, BIG))))
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, [1, None], {"1": 2, "3": None})]


def test_nested_narrowing_is_proven_inside_lists_and_maps(world: World) -> None:
    filled(world, "id INT, l BIGINT[], m MAP(VARCHAR, BIGINT)")
    world.sql(
        "INSERT INTO t VALUES (1, [1, 3000000000], MAP {'a': 1}), (2, [2], MAP {'b': 1099511627776})"
    )
    plan = world.plan(want(ID, Column("l", array(INT)), Column("m", map_of(TEXT, INT))))
    assert sorted((f.path, f.count) for f in plan.findings) == [
        (("l", "element"), 1),
        (("m", "value"), 1),
    ]
    world.sql("UPDATE t SET l = [7], m = MAP {'c': 8}")
    world.apply(want(ID, Column("l", array(INT)), Column("m", map_of(TEXT, INT))))
    assert rows(world) == [(1, [7], {"c": 8}), (2, [7], {"c": 8})]


def test_map_keys_that_become_one_block(world: World) -> None:
    filled(world, "id INT, m MAP(VARCHAR, INT)", "(1, MAP {'1': 1, '01': 2})", "(2, MAP {'1': 1})")
    wanted = want(ID, Column("m", map_of(INT, INT)))
    plan = world.plan(wanted)
    assert [(f.code, f.path, f.count) for f in plan.findings] == [("F201", ("m", "key"), 1)]
    world.sql("DELETE FROM t WHERE id = 1")
    plan = world.plan(wanted)
    world.sql("INSERT INTO t VALUES (3, MAP {'7': 1, '007': 2})")
    with pytest.raises(EngineError):
        world.run(plan)
    assert world.sql("SELECT m FROM t WHERE id = 3") == [({"7": 1, "007": 2},)]
