"""PostgreSQL's types: the text it takes, the text it reports, and what it cannot keep."""

from __future__ import annotations

import re
from functools import lru_cache

from instar.core.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Json,
    Map,
    Opaque,
    Scalar,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Uuid,
    Variant,
    array,
    type_text,
)

TO_SQL: dict[Scalar, str] = {
    Boolean(): "boolean",
    Integer(16): "smallint",
    Integer(32): "integer",
    Integer(64): "bigint",
    Float(32): "real",
    Float(64): "double precision",
    String(): "text",
    Binary(): "bytea",
    Date(): "date",
    Time(): "time without time zone",
    Timestamp(zone=False): "timestamp without time zone",
    Timestamp(zone=True): "timestamp with time zone",
    Interval(): "interval",
    Interval("DAY TO SECOND"): "interval day to second",
    Interval("YEAR TO MONTH"): "interval year to month",
    Uuid(): "uuid",
    Json(): "jsonb",
}
FROM_SQL: dict[str, Scalar] = {text: type_ for type_, text in TO_SQL.items()} | {
    "json": Json(),
    "character varying": String(),
}

MAX_DIGITS, MAX_LENGTH = 1000, 10_485_760
WIDER: dict[Integer, Scalar] = {
    Integer(8): Integer(16),
    Integer(8, signed=False): Integer(16),
    Integer(16, signed=False): Integer(32),
    Integer(32, signed=False): Integer(64),
    Integer(64, signed=False): Decimal(20, 0),
    Integer(128): Decimal(39, 0),
    Integer(128, signed=False): Decimal(39, 0),
}
"""Integers that PostgreSQL does not have, and what holds them all."""

_LENGTH = re.compile(r"(character varying|character)\((\d+)\)")
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_TIMESTAMP = re.compile(r"timestamp\((\d)\) (with|without) time zone")


def type_sql(type_: Type) -> str:
    """The type as PostgreSQL writes it; the type has been through `kept`."""
    match type_:
        case Array(element):
            return f"{type_sql(element.type)}[]"
        case Decimal(precision, scale):
            return f"numeric({precision},{scale})"
        case String(length, fixed) if length is not None:
            return f"{'character' if fixed else 'character varying'}({length})"
        case Timestamp(zone, precision) if precision < 6:
            return f"timestamp({precision}) {'with' if zone else 'without'} time zone"
        case Opaque(text):
            return text
        case Struct() | Map() | Variant():
            return "jsonb"
        case _:
            return TO_SQL[type_]


@lru_cache(maxsize=8192)
def parse_type(text: str) -> Type:
    """The type that `format_type` reports with this text."""
    if text.endswith("[]"):
        inner = parse_type(text[:-2])
        return Opaque(text) if isinstance(inner, Opaque | Json) else array(inner)
    if found := FROM_SQL.get(text):
        return found
    if sized := _LENGTH.fullmatch(text):
        return String(int(sized[2]), fixed=sized[1] == "character")
    if digits := _NUMERIC.fullmatch(text):
        scale = int(digits[2])
        return Decimal(int(digits[1]), scale) if 0 <= scale <= int(digits[1]) else Opaque(text)
    if moment := _TIMESTAMP.fullmatch(text):
        return Timestamp(moment[2] == "with", int(moment[1]))
    return Opaque(text)


def kept(type_: Type) -> tuple[Type, tuple[str, ...]]:
    """What PostgreSQL would report, and what it does not keep, in words."""
    match type_:
        case Integer() if type_ in WIDER:
            wider = WIDER[type_]
            return wider, (f"{type_text(type_)} (it is kept as {type_sql(wider)})",)
        case String(length) if length is not None and length > MAX_LENGTH:
            return String(), (f"the length {length} (it is kept as text)",)
        case Timestamp(zone, precision) if precision > 6:
            return Timestamp(zone, 6), (f"{precision} digits of a second (PostgreSQL has 6)",)
        case Interval(unit) if type_ not in TO_SQL:
            return Interval(), (f"the unit {unit} of an interval",)
        case Variant():
            return Json(), ("VARIANT (it is kept as jsonb)",)
        case Struct() | Map():
            return Json(), (f"{_kind(type_)} (it is kept as jsonb, its parts unchecked)",)
        case Array(element):
            inner, lost = kept(element.type)
            if isinstance(inner, Json | Array):
                return Json(), (f"an array of {_kind(element.type)} (it is kept as jsonb)",)
            return array(inner), lost
        case _:
            return type_, ()


def _kind(type_: Type) -> str:
    return {Struct: "STRUCT", Map: "MAP", Array: "ARRAY", Json: "JSON"}.get(type(type_), "VARIANT")
