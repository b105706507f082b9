"""The checksum of rows tells any two values apart that the engine keeps apart, and nothing else."""

from __future__ import annotations

import pytest

from backends.postgres.world import World
from instar.backends.postgres.checksum import compared, content
from instar.core.schema import TableName

APART = {
    "NULL and the empty text": ("text", "NULL", "''"),
    "NULL and its own word": ("text", "NULL", "'NULL'"),
    "spaces behind a text": ("text", "'a'", "'a '"),
    "NULL and zero": ("int", "NULL", "0"),
    "NULL and the widest number": ("bigint", "NULL", "9223372036854775807"),
    "a sign": ("bigint", "5", "-5"),
    "halves of a wide number": ("bigint", "1", "4294967296"),
    "halves that fold to nothing": ("bigint", "0", "4294967297"),
    "a small number": ("smallint", "0", "1"),
    "the last of 38 digits": (
        "numeric(38, 0)",
        "12345678901234567890123456789012345678",
        "12345678901234567890123456789012345679",
    ),
    "a sign of a decimal": ("numeric(5, 2)", "1.5", "-1.5"),
    "digits that are kept": ("numeric", "1.0", "1.00"),
    "NaN and infinity": ("numeric", "'NaN'", "'Infinity'"),
    "the last digit of a double": ("float8", "0.3", "0.1::float8 + 0.2::float8"),
    "the last digit of a float": ("float4", "0.3::float4", "0.30000004::float4"),
    "a zero's sign": ("float8", "'0'", "'-0'"),
    "NaN and NULL": ("float8", "'NaN'", "NULL"),
    "true and false": ("boolean", "true", "false"),
    "false and NULL": ("boolean", "false", "NULL"),
    "a microsecond": ("timestamp", "'2026-01-01 00:00:00.000001'", "'2026-01-01'"),
    "infinity": ("timestamptz", "'infinity'", "'-infinity'"),
    "a day": ("date", "'2026-01-01'", "'2026-01-02'"),
    "months and days": ("interval", "'1 month'", "'30 days'"),
    "a byte": ("bytea", "'\\x00'", "'\\x0000'"),
    "bytes and their text": ("bytea", "'\\x41'", "'\\x5c783431'"),
    "a space in json": ("json", "'{\"a\":1}'", "'{\"a\": 1}'"),
    "digits in jsonb": ("jsonb", "'1.0'", "'1.00'"),
    "null in jsonb": ("jsonb", "'null'", "NULL"),
    "a NULL in an array": ("text[]", "'{NULL}'", "'{\"NULL\"}'"),
    "where an array begins": ("int[]", "'[0:1]={1,2}'", "'{1,2}'"),
    "dimensions": ("int[]", "'{{1},{2}}'", "'{{1,2}}'"),
    "a composite": ("{s}.pair", "'(1,)'", "'(1,\"\")'"),
    "an enum": ("{s}.mood", "'sad'", "'glad'"),
    "a domain": ("{s}.short", "'a'", "'b'"),
    "a network": ("inet", "'10.0.0.1'", "'10.0.0.1/24'"),
    "a bit": ("bit(3)", "'101'", "'100'"),
    "a range": ("int4range", "'[1,3)'", "'[1,4)'"),
}
"""By difference: a type and two values."""


@pytest.fixture
def made(world: World) -> World:
    world.sql("CREATE TYPE pair AS (a int, b text); CREATE TYPE mood AS ENUM ('sad', 'glad')")
    world.sql("CREATE DOMAIN short AS char(3)")
    return world


def checksum(world: World, body: str, *rows: str) -> tuple[object, ...]:
    """Of a table of such columns that holds these rows."""
    world.sql("DROP TABLE IF EXISTS c")
    world.sql(f"CREATE TABLE c ({body})")
    for row in rows:
        world.sql(f"INSERT INTO c VALUES ({row})")
    live = world.live(TableName(world.schema, "c"))
    assert live is not None
    return world.backend.session.ask(content(compared(live.columns), f"{world.schema}.c"))[0]


@pytest.mark.parametrize("kind", APART)
def test_values_are_told_apart(made: World, kind: str) -> None:
    type_, one, other = APART[kind]
    body = f"v {type_.replace('{s}', made.schema)}"
    found = [checksum(made, body, value) for value in (one, other, one)]
    assert found[0] == found[2]
    assert found[0] != found[1]


@pytest.mark.parametrize("type_", ["int", "text", "numeric", "char(2)"])
def test_values_in_other_columns_or_rows_are_told_apart(world: World, type_: str) -> None:
    body = f"a {type_}, b {type_}, c text, d int"
    rows = ["1, 2, 'x', 7", "3, 4, 'y', 8"]
    same = checksum(world, body, *rows)
    assert checksum(world, body, *reversed(rows)) == same, "their order does not count"
    for others in (
        ["2, 1, 'x', 7", "3, 4, 'y', 8"],
        ["1, 4, 'x', 7", "3, 2, 'y', 8"],
        ["3, 2, 'x', 7", "1, 4, 'y', 8"],
        ["1, 2, 'y', 7", "3, 4, 'x', 8"],
        ["1, 2, 'x', 8", "3, 4, 'y', 7"],
        ["1, NULL, 'x', 7", "3, 4, 'y', 8"],
        ["NULL, 1, 'x', 7", "3, 4, 'y', 8"],
    ):
        assert checksum(world, body, *others) != same, others


def test_a_row_that_stands_twice_counts_twice(world: World) -> None:
    body = "a int, b text"
    found = {checksum(world, body, *[row] * 2) for row in ("1, 'x'", "2, 'y'", "2, 'x'")}
    assert len(found) == 3


def test_a_value_between_two_integers_is_told_from_one_beside_them(world: World) -> None:
    rows = ("1, NULL, 2", "NULL, 1, 2", "1, 2, NULL", "2, NULL, 1")
    assert len({checksum(world, "a int, b bigint, c smallint", row) for row in rows}) == 4


def test_the_widest_table(world: World) -> None:
    """More columns of each kind than calls are put into one another."""
    types = ("int", "text", "numeric", "char(2)")
    names = [f"c{n} {types[n % 4]}" for n in range(1000)]
    values = [str(n % 10) for n in range(1000)]
    same = checksum(world, ", ".join(names), ", ".join(values))
    for place in (0, 1, 2, 3, 996, 997, 998, 999):
        other = [*values[:place], "NULL", *values[place + 1 :]]
        assert checksum(world, ", ".join(names), ", ".join(other)) != same, place


def test_no_column_that_could_be_compared(world: World) -> None:
    world.sql("CREATE TABLE c (a int); INSERT INTO c VALUES (1), (2)")
    rows = world.backend.session.ask(content(compared(()), f"{world.schema}.c"))
    assert rows[0][0] == 2
