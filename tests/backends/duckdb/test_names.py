"""Odd names survive everything: quotes, dots, blanks, backticks, reserved words, other scripts."""

from __future__ import annotations

import pytest

from backends.duckdb.world import World, want
from backends.world import BIG, INT, REORDER
from instar.backends.sql import quote_double
from instar.core.schema import Check, Hint, Table, TableName, Unique
from instar.core.types import Column, String, array, map_of, struct

ODD = [
    'say "hi"',
    "it's",
    "a.b",
    "two words",
    "`tick`",
    "select",
    "größe",
    "日本語",
    "x1",
    "MiXeD",
    "%s {} ?",
    "zq0zq",
    "-- no",
    ";",
]


@pytest.mark.parametrize("odd", ODD)
def test_create_add_rename_retype_drop_and_rewrite(world: World, odd: str) -> None:
    name = TableName(f"s {odd}", f"t {odd}")
    where = f"{quote_double(name.schema)}.{quote_double(name.name)}"
    column, plain = Column(odd, INT), Column("plain", String())
    check = Check("k", f"{quote_double(odd)} > 0")
    world.apply(want(column, plain, name=name, constraints=(check,), comment=odd))
    world.sql(f"INSERT INTO {where} VALUES (1, 'a')")

    new = f"{odd} 2"
    hints = {(new,): Hint(renamed_from=odd)}
    moved = Check("k", f"{quote_double(new)} > 0")
    world.apply(want(Column(new, INT), plain, name=name, constraints=(moved,), hints=hints))
    hints = {(odd,): Hint(using=f"{quote_double(new)} + 1")}
    world.apply(
        want(
            Column(new, BIG),
            plain,
            Column(odd, INT, nullable=False, comment=odd),
            name=name,
            constraints=(moved, Unique("u", (odd,))),
            hints=hints,
        )
    )
    assert world.sql(f"SELECT * FROM {where}") == [(1, "a", 2)]
    world.apply(want(plain, Column(odd, BIG, nullable=False), name=name), REORDER)
    world.apply(want(plain, name=name))
    assert world.sql(f"SELECT * FROM {where}") == [("a",)]


@pytest.mark.parametrize("odd", ODD)
def test_odd_fields_at_every_depth(world: World, odd: str) -> None:
    inner = struct(Column(odd, INT), Column("y", INT))
    columns = (
        Column("s", inner),
        Column("l", array(inner)),
        Column("m", map_of(String(), inner)),
    )
    world.apply(want(*columns))
    value = f"{{{_literal(odd)}: 1, 'y': 2}}"
    world.sql(f"INSERT INTO t VALUES ({value}, [{value}, NULL], MAP {{'k': {value}}})")
    new = f"{odd} 2"
    after = struct(Column(new, BIG), Column("y", INT), Column("z z", INT))
    hints = {
        ("s", new): Hint(renamed_from=odd),
        ("l", "element", new): Hint(renamed_from=odd),
        ("m", "value", new): Hint(renamed_from=odd),
    }
    world.apply(
        want(
            Column("s", after),
            Column("l", array(after)),
            Column("m", map_of(String(), after)),
            hints=hints,
        )
    )
    expected = {new: 1, "y": 2, "z z": None}
    assert world.sql("SELECT * FROM t") == [(expected, [expected, None], {"k": expected})]


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def test_an_index_with_odd_names_follows_a_rename(world: World) -> None:
    world.sql('CREATE TABLE t ("a ""b""" INT, c INT); CREATE INDEX "i .x" ON t (c, "a ""b""")')
    hints = {("order",): Hint(renamed_from='a "b"')}
    world.apply(want(Column("order", INT), Column("c", INT), hints=hints))
    assert world.sql("SELECT index_name, expressions FROM duckdb_indexes()") == [
        ("i .x", "[c, '\"order\"']")
    ]


def test_tables_and_columns_are_found_whatever_their_case(world: World) -> None:
    world.sql('CREATE SCHEMA "Shop"; CREATE TABLE "Shop"."Orders" ("Id" INT)')
    name = TableName("SHOP", "orders")
    found = world.backend.inspect([name, TableName("shop", "none")])
    assert list(found) == [name]
    world.apply(want(Column("ID", BIG), Column("n", INT), name=name))
    assert world.backend.measure([name])[name].rows == 0
    assert [str(n) for n in world.backend.list_tables("shop")] == ["Shop.Orders"]


PAIRS = [("É", "é"), ("straße", "STRASSE"), ("İ", "i̇")]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_letters_beyond_ascii_make_two_names(world: World, one: str, other: str) -> None:
    world.sql(f'CREATE TABLE t ("{one}" INT, "{other}" INT, id INT)')
    world.sql("INSERT INTO t VALUES (1, 2, 3)")
    both = (Column(one, INT), Column(other, INT), Column("id", INT))
    assert world.plan(want(*both)).steps == ()
    hints = {(other,): Hint(using=f'"{one}" + 10')}
    world.apply(want(Column(one, INT), Column(other, String()), Column("ID", INT), hints=hints))
    assert world.sql("SELECT * FROM t") == [(1, "11", 3)]
    world.apply(want(Column(other, String()), Column("id", INT)))
    assert world.sql("SELECT * FROM t") == [("11", 3)]
    world.apply(want(Column(one, BIG), Column("id", INT), hints={(one,): Hint(renamed_from=other)}))
    assert world.sql(f'SELECT "{one}", id FROM t') == [(11, 3)]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_letters_beyond_ascii_make_two_tables(world: World, one: str, other: str) -> None:
    world.sql(f'CREATE SCHEMA "{one}"; CREATE SCHEMA "{other}"')
    world.sql(
        f'CREATE TABLE "{one}"."{one}" (a INT); CREATE TABLE "{one}"."{other}" (b INT, c INT)'
    )
    world.sql(f'INSERT INTO "{one}"."{one}" VALUES (1)')
    names = [TableName(one, one), TableName(one, other), TableName(other, one)]
    found = world.backend.inspect(names)
    assert {
        name: len(table.columns) for name, table in found.items() if isinstance(table, Table)
    } == {
        names[0]: 1,
        names[1]: 2,
    }
    assert list(world.backend.list_tables(one)) == sorted(names[:2])
    assert list(world.backend.list_tables(other)) == []
    assert {n: c.rows for n, c in world.backend.measure(names).items()} == {
        names[0]: 1,
        names[1]: 0,
    }
