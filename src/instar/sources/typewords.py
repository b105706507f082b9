"""The words of SQL types, of both families, as data: what each word means and what it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from instar.core.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    Json,
    String,
    Time,
    Timestamp,
    Type,
    Uuid,
    Variant,
    array,
)

MAX_PRECISION = 76
MAX_FRACTION = 9

PHRASES: Mapping[tuple[str, ...], str] = {
    ("DOUBLE", "PRECISION"): "DOUBLE",
    ("CHARACTER", "VARYING"): "VARCHAR",
    ("CHAR", "VARYING"): "VARCHAR",
    ("NATIONAL", "CHARACTER", "VARYING"): "VARCHAR",
    ("NATIONAL", "CHARACTER"): "CHAR",
    ("BINARY", "VARYING"): "BINARY",
    ("BINARY", "LARGE", "OBJECT"): "BINARY",
}
"""Types of several words, and the one word that means the same."""

ZONE_PHRASES: Mapping[tuple[str, ...], bool] = {
    ("WITH", "TIME", "ZONE"): True,
    ("WITH", "LOCAL", "TIME", "ZONE"): True,
    ("WITHOUT", "TIME", "ZONE"): False,
}

SIMPLE: Mapping[str, Type] = {
    **dict.fromkeys(("BOOLEAN", "BOOL"), Boolean()),
    **dict.fromkeys(("TINYINT", "BYTE", "INT1"), Integer(8)),
    **dict.fromkeys(("SMALLINT", "SHORT", "INT2", "INT16"), Integer(16)),
    **dict.fromkeys(("INT", "INTEGER", "INT4", "INT32"), Integer(32)),
    **dict.fromkeys(("BIGINT", "LONG", "INT8", "INT64"), Integer(64)),
    **dict.fromkeys(("HUGEINT", "INT128"), Integer(128)),
    **dict.fromkeys(("UTINYINT", "UINT8"), Integer(8, signed=False)),
    **dict.fromkeys(("USMALLINT", "UINT16"), Integer(16, signed=False)),
    **dict.fromkeys(("UINTEGER", "UINT", "UINT32"), Integer(32, signed=False)),
    **dict.fromkeys(("UBIGINT", "UINT64"), Integer(64, signed=False)),
    **dict.fromkeys(("UHUGEINT", "UINT128"), Integer(128, signed=False)),
    **dict.fromkeys(("REAL", "FLOAT4"), Float(32)),
    **dict.fromkeys(("DOUBLE", "FLOAT8", "FLOAT64"), Float(64)),
    **dict.fromkeys(("BINARY", "BYTES", "BYTEA", "BLOB", "VARBINARY"), Binary()),
    "DATE": Date(),
    "UUID": Uuid(),
    **dict.fromkeys(("JSON", "JSONB"), Json()),
    "VARIANT": Variant(),
    "TIMESTAMP_S": Timestamp(zone=False, precision=0),
    "TIMESTAMP_MS": Timestamp(zone=False, precision=3),
    "TIMESTAMP_US": Timestamp(zone=False, precision=6),
    "TIMESTAMP_NS": Timestamp(zone=False, precision=9),
}
"""Types that take nothing in parentheses."""

Numbers = tuple[int, ...]


class BadNumbers(ValueError):
    """What stands in a type's parentheses makes no sense; the text says what would."""


def _decimal(precision: int, scale: int) -> Callable[[Numbers], Type]:
    """DECIMAL and its synonyms; the numbers are those of a bare word."""

    def build(numbers: Numbers) -> Type:
        p, s = (*numbers, 0, 0)[:2] if numbers else (precision, scale)
        if len(numbers) > 2 or not 1 <= p <= MAX_PRECISION or not 0 <= s <= p:
            raise BadNumbers(
                f"takes a precision of 1 to {MAX_PRECISION} and a scale no larger than that"
            )
        return Decimal(p, s)

    return build


def _string(numbers: Numbers) -> Type:
    return String(_length(numbers)) if numbers else String()


def _char(numbers: Numbers) -> Type:
    if not numbers:
        raise BadNumbers("needs a length: engines disagree about a bare one; VARCHAR needs none")
    return String(_length(numbers), fixed=True)


def _length(numbers: Numbers) -> int:
    if len(numbers) != 1 or numbers[0] < 1:
        raise BadNumbers("takes one length of at least 1")
    return numbers[0]


def _float(numbers: Numbers) -> Type:
    if len(numbers) > 1 or (numbers and not 1 <= numbers[0] <= 53):
        raise BadNumbers("takes one number of bits, 1 to 53")
    return Float(64 if numbers and numbers[0] > 24 else 32)


def _timestamp(zone: bool) -> Callable[[Numbers], Type]:
    def build(numbers: Numbers) -> Type:
        if len(numbers) > 1 or (numbers and numbers[0] > MAX_FRACTION):
            raise BadNumbers(f"takes one number of fraction digits, 0 to {MAX_FRACTION}")
        return Timestamp(zone, *numbers)

    return build


def _time(numbers: Numbers) -> Type:
    if numbers not in ((), (6,)):
        raise BadNumbers("has six fraction digits and keeps no other number")
    return Time()


WITH_NUMBERS: Mapping[str, Callable[[Numbers], Type]] = {
    **dict.fromkeys(("DECIMAL", "NUMERIC", "DEC"), _decimal(10, 0)),
    "NUMBER": _decimal(38, 0),
    **dict.fromkeys(("VARCHAR", "STRING", "TEXT", "NVARCHAR", "BPCHAR"), _string),
    **dict.fromkeys(("CHAR", "CHARACTER", "NCHAR"), _char),
    "FLOAT": _float,
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_TZ", "TIMESTAMP_LTZ", "TIMESTAMPLTZ"),
        _timestamp(zone=True),
    ),
    **dict.fromkeys(("TIMESTAMP_NTZ", "TIMESTAMPNTZ", "DATETIME"), _timestamp(zone=False)),
    "TIME": _time,
}
"""Types that may take numbers in parentheses, with the meaning of the bare word."""

STRUCTS = frozenset({"STRUCT", "ROW", "OBJECT"})
ARRAYS = frozenset({"ARRAY", "LIST"})
MAPS = frozenset({"MAP"})
UNTYPED_ARRAY: Array = array(Variant())
"""Snowflake's bare ARRAY."""

INTERVAL_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")

NATIVE = "NATIVE"
"""NATIVE('text') is the escape for a type that only the engine knows."""

ENGINE_OWN: frozenset[str] = frozenset(
    [
        "ENUM",
        "UNION",
        "BIT",
        "BITSTRING",
        "VARINT",
        "BIGNUM",
        "GEOMETRY",
        "GEOGRAPHY",
        "TIMETZ",
        "VOID",
        "INET",
        "CIDR",
        "MACADDR",
        "XML",
        "MONEY",
        "TSVECTOR",
        "TSQUERY",
        "CITEXT",
        "HSTORE",
        "OID",
        "VECTOR",
        "HLLSKETCH",
        "POINT",
        "POLYGON",
    ]
)
"""Words that are kept as the engine's own text."""

ALL_WORDS: tuple[str, ...] = (
    *SIMPLE,
    *WITH_NUMBERS,
    *sorted(STRUCTS | ARRAYS | MAPS),
    "INTERVAL",
    *sorted(ENGINE_OWN),
)
