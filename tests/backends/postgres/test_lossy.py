"""Which values a change of type loses: predicates against rows labelled by hand, in both directions."""

from __future__ import annotations

import psycopg
import pytest

from backends.postgres.world import World
from instar.backends.postgres.types import type_sql
from instar.backends.postgres.values import PostgresValues, PostgresWriter
from instar.core.projection import ArrayCarry, Converted
from instar.core.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    Json,
    Opaque,
    String,
    Time,
    Timestamp,
    Type,
    Uuid,
    type_text,
)
from instar.errors import InstarError

TEXT = String()
NTZ, TZ = Timestamp(zone=False), Timestamp(zone=True)
LONG_ONE = "1." + "0" * 40

# (from, to, values that survive, values that are lost); a value is text that is cast to `from`
LABELLED: list[tuple[Type, Type, list[str], list[str]]] = [
    (
        TEXT,
        Integer(32),
        ["1", "1_000", "0x10", " 12 ", "+12", "007", "-0", "2147483647"],
        ["1.9", "", "1e3", "1.", "1.0", "x", "2147483648", "1__0", "nan"],
    ),
    (TEXT, Integer(64), ["9223372036854775807"], ["9223372036854775808"]),
    (TEXT, Integer(16), ["32767"], ["32768"]),
    (
        TEXT,
        Decimal(10, 2),
        ["1.5", "1.500", "1e3", ".5", " 1 ", "0", LONG_ONE, "1_0", "-99999999.99"],
        ["NaN", "Infinity", "1.005", "1e-30", "123456789", "x", "", "99999999.995"],
    ),
    (
        TEXT,
        Float(64),
        [
            "1.5",
            "nan",
            "inf",
            "-Infinity",
            " 1 ",
            "0.1",
            "1.",
            ".5",
            "1.10",
            "-0",
            "1e22",
            "9007199254740992",
            "123456789012345680000",
            "0.00",
        ],
        [
            "1e400",
            "1e-400",
            "1d",
            "9007199254740993",
            "1,5",
            "0.1000000000000000055",
            "x",
            "1_0",
            "12345678901234567891",
            "",
        ],
    ),
    (TEXT, Float(32), ["0.1", "16777216", "1.5"], ["16777217", "1e39", "1e-60"]),
    (TEXT, Boolean(), ["t", "yes", "1", "TRUE", "0", "no", "on", " true "], ["2", "", "maybe"]),
    (
        TEXT,
        Date(),
        [
            "2020-01-01",
            "2020-1-1",
            "2020-01-01T00:00:00",
            "infinity",
            "12345-01-01",
            " 2020-01-02 ",
            "2020-01-01 BC",
            "2020-01-01 00:00:00",
            "2020-01-01T00:00:00Z",
            "5874897-12-31",
            "January 8, 1999",
            "8-Jan-1999",
            "20200102",
            "999-01-01",
            "epoch",
        ],
        [
            "201201",
            "99123",
            "01-02-03",
            "1/2/03",
            "01-02-03 00:00:00.0000",
            "8-Jan-99",
            "January 8, 99",
            "2020-01-01 10:00:00",
            "2020-01-01 garbage",
            "2020-01-01 00:00:00+05",
            "x",
            "2020-13-01",
            "now",
            "today",
            " Tomorrow",
            "",
            "2023-02-29",
        ],
    ),
    (
        TEXT,
        NTZ,
        ["2020-01-01 10:00:00Z", "2020-01-01", "infinity", "2020-01-01 10:00:00.123456000"],
        ["2020-01-01 10:00:00.1234567", "2020-01-01 10:00:00+02", "2020-01-01 25:00", "x", "now"],
    ),
    (
        TEXT,
        TZ,
        ["2020-01-01 10:00:00+02", "2020-01-01"],
        ["2020-01-01 10:00:00.1234567", "x", "now", "yesterday", "01-02-03 10:00:00.1234+00"],
    ),
    (TEXT, Timestamp(False, 0), ["2020-01-01 10:00:00.0"], ["2020-01-01 10:00:00.6"]),
    (
        TEXT,
        Time(),
        ["10:00", "24:00:00", "10:00:00.123456", "10:00 PM"],
        ["10:00:00.1234567", "2020-01-01 10:00:00", "10:00:00+02", "x", "now", "allballs"],
    ),
    (
        TEXT,
        Uuid(),
        ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"],
        ["x", ""],
    ),
    (TEXT, Json(), ['{"a":1}', "1", "null"], ["{a", "", '{"a":1,"a":2}', '"\\u0000"']),
    (TEXT, Binary(), ["ä", "\\xAA", ""], []),
    (TEXT, String(3), ["abc", "", "ünï", "🦋🦋🦋"], ["abcd", "    "]),
    (TEXT, String(3, fixed=True), ["abc", "a"], ["abcd", "a "]),
    (TEXT, Opaque("inet"), ["10.0.0.1"], ["x"]),
    (Binary(), TEXT, ["\\x6162", "\\x", "\\xc3a4", "\\xf09fa68b"], ["\\xaa", "\\x00", "\\xeda080"]),
    (Binary(), String(1), ["\\xc3a4"], ["\\x6162", "\\xaa"]),
    (Integer(64), Integer(32), ["2147483647", "-2147483648"], ["2147483648", "-2147483649"]),
    (Integer(32), Integer(16), ["32767", "-32768"], ["32768"]),
    (Integer(32), Boolean(), ["0", "1"], ["2", "-1"]),
    (Integer(16), Boolean(), ["0", "1"], ["2"]),
    (Integer(32), Decimal(5, 2), ["999", "-999"], ["1000"]),
    (Integer(32), String(3), ["167", "-16"], ["16777217", "1000"]),
    (
        Integer(64),
        Float(64),
        ["9007199254740992", "-9223372036854775808", "9223372036854774784"],
        ["9007199254740993", "9223372036854775807"],
    ),
    (Integer(32), Float(32), ["16777216"], ["16777217"]),
    (
        Float(64),
        Float(32),
        ["0.5", "nan", "inf", "-0.0", "3.4028234663852886e38", "1.401298464324817e-45"],
        ["0.1", "1e300", "1e-320", "3.4028235677973366e38", "1e-45", "7e-46"],
    ),
    (
        Float(64),
        Integer(64),
        ["1.0", "-0.0", "-9223372036854775808", "9.223372036854774784e18"],
        ["1.9", "nan", "inf", "9223372036854775807.0", "2.5"],
    ),
    (Float(32), Integer(32), ["16777216"], ["1.5", "2147483648"]),
    (
        Float(64),
        Decimal(20, 4),
        ["0.1", "1e10", "1.25", "123456789012.1234"],
        ["1.00505", "nan", "-inf", "1e30"],
    ),
    (Float(32), Decimal(10, 2), ["0.1", "1.25"], ["0.125"]),
    (Decimal(10, 2), Decimal(10, 1), ["1.20", "NaN"], ["1.25", "1.99"]),
    (Decimal(3, 2), Decimal(2, 1), ["9.90"], ["9.99"]),
    (Decimal(10, 2), Integer(32), ["1.00"], ["1.50", "NaN", "12345678.99"]),
    (Decimal(12, 2), Integer(16), ["32767.00"], ["32768.00"]),
    (Decimal(10, 2), Float(64), ["0.10", "12345678.99", "NaN"], []),
    (
        Decimal(38, 0),
        Float(64),
        ["1", "9007199254740992", "9007199254740994"],
        ["9007199254740993", "12345678901234567890123456789012345678"],
    ),
    (Decimal(400, 0), Float(64), ["7"], ["9" * 320]),
    (Decimal(10, 2), String(4), ["1.25"], ["10.25"]),
    (NTZ, Date(), ["2020-01-01", "infinity"], ["2020-01-01 00:00:00.000001"]),
    (TZ, Date(), ["2020-01-01 00:00:00+00"], ["2020-01-01 00:00:00+02"]),
    (TZ, NTZ, ["2020-01-01 10:00:00+02"], []),
    (NTZ, TZ, ["2020-01-01 10:00:00"], []),
    (NTZ, Timestamp(False, 3), ["2020-01-01 10:00:00.123"], ["2020-01-01 10:00:00.1236"]),
    (Date(), NTZ, ["2020-01-01", "infinity", "294276-12-31"], ["294277-01-01", "5000000-01-01"]),
    (Boolean(), Integer(16), ["true", "false"], []),
    (Uuid(), String(10), [], ["a0eebc999c0b4ef8bb6d6bb9bd380a11"]),
    (Json(), String(2), ["1", "{}"], ['{"a":1}']),
]
IDS = [f"{type_text(old)} to {type_text(new)}" for old, new, _, _ in LABELLED]


@pytest.mark.parametrize(("old", "new", "good", "bad"), LABELLED, ids=IDS)
def test_exactly_the_lost_values_are_flagged(
    world: World, old: Type, new: Type, good: list[str], bad: list[str]
) -> None:
    """Predicate, trial and cast agree: nothing is lost in silence, and nothing good is refused."""
    dialect = PostgresValues()
    world.sql(f"CREATE TABLE v (label text, c {type_sql(old)})")
    for value in (*good, *bad):
        world.sql(f"INSERT INTO v VALUES (%s, CAST(%s AS {type_sql(old)}))", [value, value])
    world.sql("INSERT INTO v VALUES ('NULL', NULL)")

    def ask(sql: str) -> list[str]:
        return sorted(row[0] for row in world.backend.session.ask(sql))

    table = f"{world.schema}.v"
    assert ask(f"SELECT label FROM {table} WHERE {dialect.lossy('c', old, new)}") == sorted(bad)
    tried = ask(f"SELECT label FROM {table} WHERE ({dialect.try_cast('c', old, new)}) IS NULL")
    assert tried == sorted([*bad, "NULL"])
    cast = dialect.cast("c", old, new)
    world.backend.session.ask(
        f"SELECT CAST({cast} AS text) FROM {table} WHERE NOT {dialect.lossy('c', old, new)}"
    )
    for number in range(len(bad)):
        one = f"(SELECT c FROM {table} WHERE {dialect.lossy('c', old, new)} OFFSET {number} LIMIT 1) AS one"
        with pytest.raises(InstarError, match="does not fit"):
            world.backend.session.ask(f"SELECT CAST({cast} AS text) FROM {one}")


def test_text_becomes_its_bytes_and_not_an_escape(world: World) -> None:
    dialect = PostgresValues()
    there = dialect.cast("c", TEXT, Binary())
    back = dialect.cast("b", Binary(), TEXT)
    rows = world.sql(
        f"SELECT b, {back} FROM (SELECT {there} AS b FROM (SELECT 'ä\\xAA' AS c) AS s) AS r"
    )
    assert rows == [("ä\\xAA".encode(), "ä\\xAA")]


def test_arrays_keep_their_dimensions_and_lose_no_element(world: World) -> None:
    world.sql("CREATE TABLE v (c bigint[])")
    cast = PostgresWriter(PostgresValues()).carry(
        "c", ArrayCarry(Converted(Integer(64), Integer(32)))
    )
    world.sql("INSERT INTO v VALUES ('{{1,2},{3,NULL}}'), ('{}'), (NULL), ('[0:1]={7,8}')")
    assert world.sql(f"SELECT CAST({cast} AS text) FROM v") == [
        ("{{1,2},{3,NULL}}",),
        ("{}",),
        (None,),
        ("[0:1]={7,8}",),
    ]
    world.sql("INSERT INTO v VALUES ('{1,2147483648}')")
    with pytest.raises(psycopg.Error, match="does not fit"):
        world.sql(f"SELECT {cast} FROM v")
