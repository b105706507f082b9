"""A table's columns as the JSON schema that Spark reads, with everything its metadata can say."""

from __future__ import annotations

import re
from typing import Any

from instar.backends.spark.types import CHAR_VARCHAR, kept_scalar, value_type
from instar.core.types import (
    Array,
    Column,
    Decimal,
    Float,
    Integer,
    Map,
    String,
    Struct,
    Type,
    children,
    walk,
)

_NAMES = {8: "byte", 16: "short", 32: "integer", 64: "long"}

_BARE = re.compile(r"[A-Za-z0-9_]+")
_NUMBER = re.compile(r"\d+(e\d+)?(bd|[lsydf])?", re.IGNORECASE)

Json = dict[str, Any]


def schema_json(columns: tuple[Column, ...]) -> Json:
    """All columns nullable: what a data frame may not promise, a table's own rules demand."""
    return {"type": "struct", "fields": [_field(c, top=True) for c in columns]}


def _field(column: Column, *, top: bool) -> Json:
    said: Json = {}
    if column.comment:
        said["comment"] = column.comment
    if top and column.default is not None:
        said["CURRENT_DEFAULT"] = column.default
    if top and has_limit(column.type):
        said[CHAR_VARCHAR] = raw_text(column.type)
    return {"name": column.name, "type": _type(column.type), "nullable": True, "metadata": said}


def _type(type_: Type) -> str | Json:
    match type_:
        case Struct(fields):
            return {"type": "struct", "fields": [_field(f, top=False) for f in fields]}
        case Array(element):
            return {"type": "array", "elementType": _type(element.type), "containsNull": True}
        case Map(key, value):
            return {
                "type": "map",
                "keyType": _type(key.type),
                "valueType": _type(value.type),
                "valueContainsNull": True,
            }
        case _:
            return _scalar(type_)


def _scalar(type_: Type) -> str:
    match type_:
        case Struct() | Array() | Map():
            raise AssertionError("not a scalar")
        case _:
            kept = kept_scalar(type_)
    match kept:
        case Integer(bits):
            return _NAMES[bits]
        case Float(bits):
            return "float" if bits == 32 else "double"
        case Decimal(precision, scale):
            return f"decimal({precision},{scale})"
        case _:
            return value_type(kept).lower()


def has_limit(type_: Type) -> bool:
    """Whether text with a limit is in it, at any depth."""
    if isinstance(type_, String):
        return type_.length is not None
    return any(has_limit(c.type) for c in children(type_))


def has_nested_limit(type_: Type) -> bool:
    return not isinstance(type_, String) and has_limit(type_)


def unreadable_name(type_: Type) -> str | None:
    """The first field name that Spark cannot read back where it remembers limits, names bare."""
    names = (column.name for _, column in walk(children(type_)))
    return next((n for n in names if not _BARE.fullmatch(n) or _NUMBER.fullmatch(n)), None)


def raw_text(type_: Type) -> str:
    """The text in which Spark remembers limits: its own spelling, with bare names."""
    match type_:
        case Struct(fields):
            return f"struct<{','.join(f'{f.name}:{raw_text(f.type)}' for f in fields)}>"
        case Array(element):
            return f"array<{raw_text(element.type)}>"
        case Map(key, value):
            return f"map<{raw_text(key.type)},{raw_text(value.type)}>"
        case String(length, fixed) if length is not None:
            return f"{'char' if fixed else 'varchar'}({length})"
        case _:
            return value_type(type_).lower().replace(", ", ",")
