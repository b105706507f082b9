"""Scenarios: every type at its extremes, beside a new column and through a rewrite of the table."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from instar.core.types import array, map_of, struct
from instar.testing.scenario import REORDER, Row, Scenario, Shape
from instar.testing.words import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    ID,
    INT,
    SMALLINT,
    STRING,
    WALL_CLOCK,
    c,
    dec,
    shape,
)

_PERSON = struct(c("name", STRING), c("age", INT))
_ANN, _NOBODY = {"name": "Ann", "age": 30}, {"name": None, "age": None}

_EVERY_TYPE = shape(
    c("yes", BOOLEAN),
    c("small", SMALLINT),
    c("big", BIGINT),
    c("f", FLOAT),
    c("d", DOUBLE),
    c("n", dec(38, 0)),
    c("m", dec(38, 38)),
    c("t", STRING),
    c("b", BINARY),
    c("day", DATE),
    c("at", WALL_CLOCK),
    c("s", _PERSON),
    c("l", array(INT)),
    c("k", map_of(STRING, INT)),
)
_NAMES = tuple(column.name for column in _EVERY_TYPE.columns if column.name != "id")


def _every(id_: int, *values: object) -> dict[str, object]:
    return {"id": id_, **dict(zip(_NAMES, values, strict=True))}


_NINES = "9" * 38
_NAN, _INF = float("nan"), float("inf")
_EXTREMES = (
    _every(1, *[None] * len(_NAMES)),
    _every(
        2,
        True,
        32767,
        2**63 - 1,
        _NAN,
        _NAN,
        Decimal(_NINES),
        Decimal(f"0.{_NINES}"),
        "",
        b"",
        date(9999, 12, 31),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
        _ANN,
        [],
        {},
    ),
    _every(
        3,
        False,
        -32768,
        -(2**63),
        -0.0,
        -0.0,
        Decimal(f"-{_NINES}"),
        Decimal(f"-0.{_NINES}"),
        'it\'s "quoted" \\ `tick` \n ünï 🦋',
        b"\x00\xff",
        date(1, 1, 1),
        datetime(1, 1, 1),
        _NOBODY,
        [1, None, -(2**31)],
        {"": 0, "a b": None},
    ),
    _every(
        4,
        None,
        0,
        0,
        _INF,
        -_INF,
        Decimal(0),
        Decimal(0),
        "NULL",
        b"x",
        date(1582, 10, 10),
        datetime(1969, 12, 31, 23, 59, 59, 999999),
        None,
        None,
        None,
    ),
)


def _rewritten(name: str, live: Shape, rows: tuple[Row, ...]) -> Scenario:
    """No engine moves `id` and turns numbers into text in place: each builds the table anew and compares it."""
    others = tuple(column for column in live.columns[1:] if column.name != "small")
    wanted = Shape((c("small", STRING), *others, ID))
    after = tuple(
        {**row, "small": None if row["small"] is None else str(row["small"])} for row in rows
    )
    return Scenario(name, live, rows, wanted, after, policy=REORDER)


EXTREMES = (
    Scenario(
        "add a column beside every type at its extremes",
        _EVERY_TYPE,
        _EXTREMES,
        shape(*_EVERY_TYPE.columns[1:], c("note", STRING)),
        tuple({**row, "note": None} for row in _EXTREMES),
    ),
    _rewritten("rewrite every type at its extremes", _EVERY_TYPE, _EXTREMES),
)

_DEEP = array(struct(c("f", DOUBLE), c("n", dec(38, 10)), c("k", map_of(STRING, _PERSON))))
_DEEP_VALUES: tuple[object, ...] = (
    None,
    [],
    [
        None,
        {"f": None, "n": None, "k": None},
        {"f": -0.0, "n": Decimal(f"-{_NINES[10:]}.{_NINES[:10]}"), "k": {}},
        {"f": _NAN, "n": Decimal("1E-10"), "k": {"": None, "a": _NOBODY}},
    ],
    [{"f": -_INF, "n": Decimal(0), "k": {"x": _ANN}}],
)
DEEP_EXTREMES = _rewritten(
    "rewrite every type at its extremes, nested too",
    shape(*_EVERY_TYPE.columns[1:], c("deep", _DEEP)),
    tuple({**row, "deep": v} for row, v in zip(_EXTREMES, _DEEP_VALUES, strict=True)),
)
"""For engines that have nested types: where they are JSON, nothing can say NaN."""
