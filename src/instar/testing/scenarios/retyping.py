"""Scenarios: other types: wider, narrower, text that becomes something, nested."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from instar.core.schema import Hint
from instar.core.types import Type, array, map_of, struct
from instar.testing.scenario import Said, Scenario
from instar.testing.words import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    WALL_CLOCK,
    c,
    dec,
    keyed,
    shape,
    varchar,
)

_F32 = 1.100000023841858
"""What a 32-bit 1.1 really is."""
_NAN, _INF = float("nan"), float("inf")


def _rows(values: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    return tuple({"id": i, "v": value} for i, value in enumerate(values, 1))


def kept(name: str, old: Type, new: Type, *values: Any) -> Scenario:
    """Every value stays equal to itself under the new type; a NULL row comes along."""
    rows = _rows([None, *values])
    return Scenario(name, shape(c("v", old)), rows, shape(c("v", new)), rows)


def turned(name: str, old: Type, new: Type, *pairs: tuple[Any, Any]) -> Scenario:
    """Values as they were and as they become."""
    before, after = zip((None, None), *pairs, strict=True)
    return Scenario(name, shape(c("v", old)), _rows(before), shape(c("v", new)), _rows(after))


def bad(name: str, old: Type, new: Type, good: Sequence[Any], broken: Sequence[Any]) -> Scenario:
    """The broken values, and only those, stand in the way."""
    rows = _rows([None, *good, *broken])
    first = len(good) + 2
    keys = tuple(str(first + i) for i in range(len(broken)))
    return Scenario(
        name,
        keyed(c("v", old)),
        rows,
        keyed(c("v", new)),
        block=Said("F201", len(broken), keys),
    )


_WIDER = (
    kept("widen tinyint to smallint", TINYINT, SMALLINT, 127, -128, 0),
    kept("widen smallint to int", SMALLINT, INT, 32767, -32768),
    kept("widen int to bigint", INT, BIGINT, 2**31 - 1, -(2**31), 0),
    turned("widen int to double", INT, DOUBLE, (2**31 - 1, 2147483647.0), (-1, -1.0), (0, 0.0)),
    kept("widen float to double", FLOAT, DOUBLE, _F32, -0.0, _NAN, _INF, -_INF, 3.5),
    kept(
        "widen a decimal's precision",
        dec(10, 2),
        dec(12, 2),
        Decimal("99999999.99"),
        Decimal("-0.01"),
    ),
    kept(
        "widen a decimal's precision and scale",
        dec(10, 2),
        dec(14, 4),
        Decimal("99999999.99"),
        Decimal("-0.01"),
    ),
    kept("widen a decimal to 38 digits", dec(18, 0), dec(38, 0), Decimal("9" * 18)),
    turned(
        "widen int to decimal", INT, dec(12, 2), (2**31 - 1, Decimal(2147483647)), (0, Decimal(0))
    ),
    turned("widen bigint to decimal", BIGINT, dec(20, 0), (2**63 - 1, Decimal(2**63 - 1))),
    kept("widen varchar", varchar(3), varchar(5), "abc", "", "ünï"),
    kept("varchar becomes unlimited text", varchar(3), STRING, "abc", ""),
    turned("int becomes text", INT, STRING, (-12, "-12"), (0, "0")),
    turned("boolean becomes text", BOOLEAN, STRING, (True, "true"), (False, "false")),
    turned(
        "date becomes a timestamp",
        DATE,
        WALL_CLOCK,
        (date(2024, 2, 29), datetime(2024, 2, 29)),
        (date(1, 1, 1), datetime(1, 1, 1)),
    ),
)

_NARROWER = (
    kept("narrow bigint to int, clean", BIGINT, INT, 2**31 - 1, -(2**31)),
    bad("narrow bigint to int, out of range", BIGINT, INT, [2**31 - 1], [2**31, -(2**31) - 1]),
    kept("narrow int to tinyint, clean", INT, TINYINT, 127, -128),
    bad("narrow int to tinyint, out of range", INT, TINYINT, [127], [128, 300]),
    turned("narrow double to int, clean", DOUBLE, INT, (5.0, 5), (-2147483648.0, -(2**31))),
    bad(
        "narrow double to int, fractions and no numbers",
        DOUBLE,
        INT,
        [5.0],
        [1.5, _NAN, _INF, 2147483648.0],
    ),
    kept("narrow double to float, clean", DOUBLE, FLOAT, _F32, 0.5, _NAN, -_INF, -0.0),
    bad("narrow double to float, inexact", DOUBLE, FLOAT, [0.5], [0.1, 1e300]),
    turned("bigint to double, clean", BIGINT, DOUBLE, (2**53, 9007199254740992.0), (-3, -3.0)),
    bad("bigint to double, inexact", BIGINT, DOUBLE, [2**53], [2**53 + 1, 2**63 - 1]),
    kept("narrow a decimal, clean", dec(10, 4), dec(6, 2), Decimal("1.25"), Decimal("-9999.99")),
    bad(
        "narrow a decimal, digits lost",
        dec(10, 4),
        dec(6, 2),
        [Decimal("1.25")],
        [Decimal("1.255"), Decimal("10000")],
    ),
    turned("decimal to int, clean", dec(10, 2), INT, (Decimal("7.00"), 7)),
    bad(
        "decimal to int, fractions",
        dec(12, 2),
        INT,
        [Decimal(7)],
        [Decimal("7.01"), Decimal(2**31)],
    ),
    turned(
        "double to decimal, clean", DOUBLE, dec(10, 2), (1.25, Decimal("1.25")), (-3.0, Decimal(-3))
    ),
    bad("double to decimal, lost", DOUBLE, dec(6, 2), [1.25], [1.005, _NAN, _INF, 10000.0]),
    kept("text becomes varchar, clean", STRING, varchar(3), "abc", "", "ünï"),
    bad("text becomes varchar, too long", STRING, varchar(3), ["abc", "ünï"], ["abcd", "    "]),
    turned(
        "timestamp to date, clean",
        WALL_CLOCK,
        DATE,
        (datetime(2024, 2, 29), date(2024, 2, 29)),
    ),
    bad(
        "timestamp to date, time lost",
        WALL_CLOCK,
        DATE,
        [datetime(2024, 2, 29)],
        [datetime(2024, 2, 29, 0, 0, 0, 1)],
    ),
    turned("int to boolean, clean", INT, BOOLEAN, (1, True), (0, False)),
    bad("int to boolean, other numbers", INT, BOOLEAN, [1, 0], [2, -1]),
)

_TEXT = (
    turned("text to int, clean", STRING, INT, ("12", 12), ("-7", -7), ("007", 7)),
    bad("text to int, bad", STRING, INT, ["12"], ["twelve", "", "1.9", "99999999999"]),
    turned("text to bigint, clean", STRING, BIGINT, ("9223372036854775807", 2**63 - 1)),
    turned(
        "text to decimal, clean", STRING, dec(10, 2), ("1.5", Decimal("1.50")), ("-3", Decimal(-3))
    ),
    bad("text to decimal, bad", STRING, dec(6, 2), ["1.25"], ["1.255", "10000", "x", ""]),
    turned("text to boolean, clean", STRING, BOOLEAN, ("true", True), ("false", False)),
    bad("text to boolean, bad", STRING, BOOLEAN, ["true"], ["maybe", ""]),
    turned("text to date, clean", STRING, DATE, ("2024-02-29", date(2024, 2, 29))),
    bad("text to date, bad", STRING, DATE, ["2024-02-29"], ["2023-02-29", "soon", ""]),
    turned(
        "text to timestamp, clean",
        STRING,
        WALL_CLOCK,
        ("2024-02-29 12:30:00", datetime(2024, 2, 29, 12, 30)),
        ("2024-02-29 12:30:00.25", datetime(2024, 2, 29, 12, 30, 0, 250000)),
    ),
    bad(
        "text to timestamp, bad",
        STRING,
        WALL_CLOCK,
        ["2024-02-29 12:30:00"],
        ["2024-02-30 12:30:00", "noon"],
    ),
    turned("text to double, clean", STRING, DOUBLE, ("1.5", 1.5), ("-2", -2.0)),
    bad("text to double, bad", STRING, DOUBLE, ["1.5"], ["x", ""]),
)


def _pair(inner: Type) -> Type:
    return struct(c("t", STRING), c("v", inner))


def _in(
    name: str, wrap: Any, values: Sequence[Any], old: Type = INT, new: Type = BIGINT
) -> Scenario:
    rows = _rows([None, *values])
    return Scenario(name, shape(c("v", wrap(old))), rows, shape(c("v", wrap(new))), rows)


def _bad_in(name: str, wrap: Any, good: Sequence[Any], broken: Sequence[Any]) -> Scenario:
    return bad(name, wrap(BIGINT), wrap(INT), good, broken)


_BIG = 2**31
_NESTED = (
    _in("widen a field of a struct", _pair, [{"t": "a", "v": 5}, {"t": None, "v": None}]),
    _in("widen the elements of an array", array, [[1, None, -5], []]),
    _in("widen the values of a map", lambda t: map_of(STRING, t), [{"a": 1, "b": None}, {}]),
    _in("widen the keys of a map", lambda t: map_of(t, STRING), [{1: "a", -5: None}, {}]),
    _in(
        "widen a field of the structs in an array",
        lambda t: array(_pair(t)),
        [[{"t": "a", "v": 5}, None], []],
    ),
    _in(
        "widen float to double in a struct",
        _pair,
        [{"t": "a", "v": _F32}, {"t": "b", "v": _NAN}],
        FLOAT,
        DOUBLE,
    ),
    _in(
        "widen a decimal in the values of a map",
        lambda t: map_of(STRING, t),
        [{"a": Decimal("1.25")}],
        dec(10, 2),
        dec(14, 4),
    ),
    _bad_in(
        "narrow a field of a struct, out of range",
        _pair,
        [{"t": "a", "v": 5}, {"t": None, "v": None}],
        [{"t": "b", "v": _BIG}],
    ),
    _bad_in(
        "narrow the elements of an array, out of range",
        array,
        [[1, None], []],
        [[1, _BIG, _BIG], [-_BIG - 1]],
    ),
    _bad_in(
        "narrow the values of a map, out of range",
        lambda t: map_of(STRING, t),
        [{"a": 1}, {}],
        [{"a": 1, "b": _BIG}],
    ),
    bad(
        "two keys of a map would become one",
        map_of(STRING, INT),
        map_of(INT, INT),
        [{"7": 1, "8": 2}, {}],
        [{"7": 1, "007": 2}],
    ),
    Scenario(
        "narrow the elements of an array, clean",
        shape(c("v", array(BIGINT))),
        _rows([None, [1, None], []]),
        shape(c("v", array(INT))),
        _rows([None, [1, None], []]),
    ),
    Scenario(
        "text in a struct becomes a number",
        shape(c("v", _pair(STRING))),
        _rows([None, {"t": "a", "v": "12"}, {"t": "b", "v": None}]),
        shape(c("v", _pair(INT))),
        _rows([None, {"t": "a", "v": 12}, {"t": "b", "v": None}]),
    ),
)

_NO_MEANING = (
    Scenario(
        "boolean to date has no meaning",
        shape(c("v", BOOLEAN)),
        _rows([None, True]),
        shape(c("v", DATE)),
        block=Said("F104"),
    ),
    Scenario(
        "boolean to date with an expression",
        shape(c("v", BOOLEAN)),
        _rows([None, True, False]),
        shape(c("v", DATE)),
        _rows([None, date(2024, 1, 1), None]),
        hints={("v",): Hint(using="CASE WHEN v THEN CAST('2024-01-01' AS DATE) END")},
    ),
)

RETYPING = (*_WIDER, *_NARROWER, *_TEXT, *_NESTED, *_NO_MEANING)
