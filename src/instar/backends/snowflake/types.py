"""Core types to and from Snowflake's: few of them, so much is kept only in part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Uuid,
    Variant,
)

LONGEST = 16_777_216
"""VARCHAR without a length."""


def kept_type(type_: Type) -> Type:
    """What Snowflake would report for a column created with this type."""
    match type_:
        case Integer():
            return Decimal(38, 0)
        case Float():
            return Float(64)
        case String(length):
            return String(None if length in (None, LONGEST) else length)
        case Timestamp(zone):
            return Timestamp(zone, 9)
        case Uuid():
            return String(36)
        case Json() | Struct() | Array() | Map():
            return Variant()
        case Interval():
            return String()
        case _:
            return type_


def type_sql(type_: Type) -> str:
    match kept_type(type_):
        case Decimal(precision, scale):
            return f"NUMBER({precision}, {scale})"
        case Float():
            return "FLOAT"
        case String(length):
            return "VARCHAR" if length is None else f"VARCHAR({length})"
        case Timestamp(zone):
            return "TIMESTAMP_LTZ" if zone else "TIMESTAMP_NTZ"
        case Boolean():
            return "BOOLEAN"
        case Binary():
            return "BINARY"
        case Date():
            return "DATE"
        case Time():
            return "TIME"
        case Variant():
            return "VARIANT"
        case Opaque(text):
            return text
        case other:
            raise AssertionError(f"{other} is not a Snowflake type")


_SIMPLE: Mapping[str, Type] = {
    "BOOLEAN": Boolean(),
    "FLOAT": Float(64),
    "BINARY": Binary(),
    "DATE": Date(),
    "TIME": Time(),
    "VARIANT": Variant(),
    "TIMESTAMP_NTZ": Timestamp(False, 9),
    "TIMESTAMP_LTZ": Timestamp(True, 9),
}


def reported_type(row: Mapping[str, Any]) -> Type:
    """The type of a row of information_schema.columns."""
    name = str(row["DATA_TYPE"])
    if name == "NUMBER":
        return Decimal(int(row["NUMERIC_PRECISION"]), int(row["NUMERIC_SCALE"] or 0))
    if name == "TEXT":
        length = row["CHARACTER_MAXIMUM_LENGTH"]
        return String(None if length in (None, LONGEST) else int(length))
    return _SIMPLE.get(name, Opaque(name))
