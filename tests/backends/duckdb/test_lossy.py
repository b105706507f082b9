"""Which values a change of type loses: predicates against rows labelled by hand, in both directions."""

from __future__ import annotations

import duckdb
import pytest

from backends.duckdb.world import World
from instar.backends.duckdb.types import type_sql
from instar.backends.duckdb.values import DuckDBValues
from instar.core.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Json,
    Opaque,
    String,
    Time,
    Timestamp,
    Type,
    Uuid,
    type_text,
)

TEXT = String()
NTZ, TZ = Timestamp(zone=False), Timestamp(zone=True)
SECONDS, MILLIS, NANOS = (Timestamp(zone=False, precision=p) for p in (0, 3, 9))
LONG_ONE = "1." + "0" * 40

# (from, to, values that survive, values that are lost); a value is SQL text that is cast to `from`
LABELLED: list[tuple[Type, Type, list[str], list[str]]] = [
    (
        TEXT,
        Integer(64),
        [
            "1",
            "1e3",
            "1_000",
            "0x10",
            " 12 ",
            "+12",
            "007",
            "-0",
            "1.",
            "1.0",
            "1.5e1",
            LONG_ONE,
            "9223372036854775807",
            "0.0e-5",
            "1500e-2",
            "-1.50e1",
        ],
        [
            "1.9",
            "",
            ".5",
            "15e-1",
            "1e-30",
            "x",
            "9223372036854775808",
            "1__0",
            "nan",
            "1.5",
            "9223372036854775807.4",
            LONG_ONE + "1",
        ],
    ),
    (TEXT, Integer(8), ["127", "-128"], ["128", "12.7"]),
    (
        TEXT,
        Decimal(10, 2),
        ["1.5", "1.500", "1e3", ".5", "1_0.5", " 1 ", "0", LONG_ONE],
        ["nan", "1.005", "1e-30", "123456789", "x", "1e-3"],
    ),
    (
        TEXT,
        Float(64),
        [
            "1.5",
            "nan",
            "inf",
            "-Infinity",
            "1_0",
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
            "-00.10",
        ],
        [
            "1e400",
            "1e-400",
            "1d",
            "9007199254740993",
            "1,5",
            "0.1000000000000000055",
            "x",
            "12345678901234567891",
        ],
    ),
    (TEXT, Float(32), ["0.1", "16777216", "1.5"], ["16777217", "1e39"]),
    (TEXT, Boolean(), ["t", "yes", "1", "TRUE", "0", "no"], ["2", "on", " true ", ""]),
    (
        TEXT,
        Date(),
        [
            "2020-01-01",
            "2020-1-1",
            "2020-01-01T00:00:00",
            "infinity",
            "12345-01-01",
            "2020/01/02",
            " 2020-01-02 ",
            "2020-01-01 (BC)",
            "2020-01-01 00:00:00",
            "2020-01-01T00:00:00Z",
        ],
        [
            "2020-01-01 10:00:00",
            "2020",
            "2020-01-01 garbage",
            "2020-01-01 00:00:00+05",
            "2020-01-01 00:00:00.000000001",
            "x",
            "2020-13-01",
        ],
    ),
    (
        TEXT,
        NTZ,
        ["2020-01-01 10:00:00Z", "2020-01-01", "infinity", "2020-01-01 10:00:00.123456000"],
        ["2020-01-01 10:00:00.1234567", "2020-01-01 10:00:00+02", "2020-01-01 25:00", "x"],
    ),
    (TEXT, TZ, ["2020-01-01 10:00:00+02", "2020-01-01"], ["2020-01-01 10:00:00.1234567", "x"]),
    (TEXT, SECONDS, ["2020-01-01 10:00:00.0"], ["2020-01-01 10:00:00.5"]),
    (
        TEXT,
        NANOS,
        ["2020-01-01 10:00:00.123456789"],
        ["2020-01-01 10:00:00.1234567891", "2300-01-01"],
    ),
    (
        TEXT,
        Time(),
        ["10:00", "24:00:00", "10:00:00.123456"],
        ["10:00:00.1234567", "2020-01-01 10:00:00", "10:00:00+02", "10"],
    ),
    (
        TEXT,
        Interval(),
        ["1 day 12:00:00.5", "1.5 days", "-1 day ago", "1.123456 seconds", "1.500 ms", "10:00"],
        ["12:00:00+02", "12:00:00 -1 day", "10:00 x", "1.1234567", "1.1234 milliseconds", "1.5 us"],
    ),
    (TEXT, Opaque("BIGNUM"), ["1", "+1", "-0", "007", "1.0"], ["1.5", ".5", "1e3", "x"]),
    (
        TEXT,
        Opaque("TIME WITH TIME ZONE"),
        ["10:00", "10:00:00+02", "10:00:00.1234560 -02:30", "24:00:00+00"],
        ["2020-01-01", "10:00:00.1234567", "10:00:00+02 x", "10:00:00Z"],
    ),
    (TEXT, Opaque("ENUM('a', 'B ')"), ["a", "B "], ["A", "B", ""]),
    (
        TEXT,
        Uuid(),
        ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"],
        ["x", ""],
    ),
    (TEXT, Json(), ['{"a":1}', "1"], ["{a", ""]),
    (TEXT, Binary(), ["ä", "\\xAA", ""], []),
    (Binary(), TEXT, ["ab", ""], ["\\xAA"]),
    (Integer(64), Integer(32), ["2147483647", "-2147483648"], ["2147483648"]),
    (Integer(64), Integer(64, signed=False), ["0"], ["-1"]),
    (Integer(32), Boolean(), ["0", "1"], ["2", "-1"]),
    (Integer(32), Decimal(5, 2), ["999", "-999"], ["1000"]),
    (
        Integer(64),
        Float(64),
        ["9007199254740992", "-9223372036854775808", "9223372036854774784"],
        ["9007199254740993", "9223372036854775807"],
    ),
    (Integer(128), Float(64), ["1"], ["170141183460469231731687303715884105727"]),
    (Integer(128, signed=False), Float(64), ["1"], ["340282366920938463463374607431768211455"]),
    (Integer(32), Float(32), ["16777216"], ["16777217"]),
    (
        Float(64),
        Float(32),
        ["0.5", "nan", "inf", "-0.0"],
        ["0.1", "1e300", "1e-320", "3.4028235677973366e38"],
    ),
    (
        Float(64),
        Integer(64),
        ["1.0", "-0.0", "-9223372036854775808", "9.223372036854774784e18"],
        ["1.9", "nan", "inf", "9223372036854775807.0", "2.5"],
    ),
    (Float(64), Decimal(20, 2), ["0.1", "1e10", "1.25"], ["1.005", "nan", "-inf", "1e30"]),
    (Decimal(10, 2), Decimal(10, 1), ["1.20"], ["1.25", "1.99"]),
    (Decimal(3, 2), Decimal(2, 1), ["9.90"], ["9.99"]),
    (Decimal(38, 10), Decimal(38, 0), ["1"], ["1.0000000001"]),
    (Decimal(10, 2), Integer(32), ["1.00"], ["1.50"]),
    (Decimal(10, 2), Float(64), ["0.10", "12345678.99"], []),
    (
        Decimal(38, 0),
        Float(64),
        ["1", "9007199254740992"],
        ["9007199254740993", "12345678901234567890123456789012345678"],
    ),
    (NTZ, Date(), ["2020-01-01", "infinity"], ["2020-01-01 00:00:00.000001"]),
    (TZ, Date(), ["2020-01-01 00:00:00+00"], ["2020-01-01 00:00:00+02"]),
    (TZ, NTZ, ["2020-01-01 10:00:00+02"], []),
    (NTZ, TZ, ["2020-01-01 10:00:00"], []),
    (NANOS, NTZ, ["2020-01-01 10:00:00.123456"], ["2020-01-01 10:00:00.123456789"]),
    (NTZ, MILLIS, ["2020-01-01 10:00:00.123"], ["2020-01-01 10:00:00.1236"]),
    (NTZ, NANOS, ["2020-01-01", "infinity"], ["2300-01-01"]),
    (Date(), NTZ, ["2020-01-01", "infinity"], ["5000000-01-01"]),
]


@pytest.mark.parametrize(
    ("old", "new", "good", "bad"),
    LABELLED,
    ids=[f"{type_text(old)} to {type_text(new)}" for old, new, _, _ in LABELLED],
)
def test_exactly_the_lost_values_are_flagged(
    world: World, old: Type, new: Type, good: list[str], bad: list[str]
) -> None:
    dialect = DuckDBValues()
    world.sql(f"CREATE TABLE v (label VARCHAR, c {type_sql(old)})")
    for value in (*good, *bad):
        world.connection.execute(
            f"INSERT INTO v VALUES (?, CAST(? AS {type_sql(old)}))", [value] * 2
        )
    world.sql("INSERT INTO v VALUES ('NULL', NULL)")
    world.sql("SET TimeZone = 'UTC'")

    flagged = world.sql(f"SELECT label FROM v WHERE {dialect.lossy('c', old, new)}")
    assert sorted(row[0] for row in flagged) == sorted(bad)

    tried = world.sql(f"SELECT label FROM v WHERE ({dialect.try_cast('c', old, new)}) IS NULL")
    assert sorted(row[0] for row in tried) == sorted([*bad, "NULL"])


@pytest.mark.parametrize(
    ("old", "new", "good", "bad"),
    LABELLED,
    ids=[f"{type_text(old)} to {type_text(new)}" for old, new, _, _ in LABELLED],
)
def test_a_cast_never_loses_in_silence(
    world: World, old: Type, new: Type, good: list[str], bad: list[str]
) -> None:
    dialect = DuckDBValues()
    world.sql("SET TimeZone = 'UTC'")
    cast = f"SELECT {dialect.cast('c', old, new)} FROM (SELECT CAST(? AS {type_sql(old)}) AS c)"
    for value in good:
        assert world.connection.execute(cast, [value]).fetchall()[0][0] is not None
    for value in bad:
        with pytest.raises(duckdb.Error):
            world.connection.execute(cast, [value]).fetchall()


def test_text_becomes_its_bytes_and_not_an_escape(world: World) -> None:
    dialect = DuckDBValues()
    there = dialect.cast("c", TEXT, Binary())
    back = dialect.cast("b", Binary(), TEXT)
    rows = world.sql(f"SELECT b, {back} FROM (SELECT {there} AS b FROM (SELECT 'ä\\xAA' AS c))")
    assert rows == [("ä\\xAA".encode(), "ä\\xAA")]
