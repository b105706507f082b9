"""Core types as Spark's, both ways: SQL type text, and the JSON in which Spark writes schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from instar.backends.sql import literal_spark, quote_backtick
from instar.core.types import (
    ELEMENT,
    KEY,
    VALUE,
    Array,
    Binary,
    Boolean,
    Column,
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
)

CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps the limit of a text column: its type in a schema is plain `string`."""

# Both spellings of each type: as SQL says it, and as a schema's JSON says it.
_SCALARS: dict[str, Scalar] = {
    "boolean": Boolean(),
    "tinyint": Integer(8),
    "byte": Integer(8),
    "smallint": Integer(16),
    "short": Integer(16),
    "int": Integer(32),
    "integer": Integer(32),
    "bigint": Integer(64),
    "long": Integer(64),
    "float": Float(32),
    "real": Float(32),
    "double": Float(64),
    "string": String(),
    "binary": Binary(),
    "date": Date(),
    "timestamp": Timestamp(zone=True),
    "timestamp_ltz": Timestamp(zone=True),
    "timestamp_ntz": Timestamp(zone=False),
    "variant": Variant(),
    "decimal": Decimal(10, 0),
    "dec": Decimal(10, 0),
    "numeric": Decimal(10, 0),
    "interval": Interval(),
}
_INTEGERS = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
_UNSIGNED: dict[int, Scalar] = {
    8: Integer(16),
    16: Integer(32),
    32: Integer(64),
    64: Decimal(20, 0),
    128: Decimal(38, 0),
}
_SIZED = re.compile(
    r"(decimal|dec|numeric|varchar|char|character)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)"
)
_INTERVAL = re.compile(r"interval\s+(\w+(?:\s+to\s+\w+)?)")


def kept_scalar(type_: Scalar) -> Scalar:
    """The type in which Spark keeps values of that type."""
    match type_:
        case Uuid() | Json() | Time():
            return String()
        case Integer(bits, signed) if bits == 128 or not signed:
            return _UNSIGNED[bits]
        case Timestamp(zone, _):
            return Timestamp(zone)
        case Interval(unit):
            return Interval(unit.upper() or "DAY TO SECOND")
        case _:
            return type_


def spark_type(type_: Type) -> str:
    """The type as Spark SQL text; what Spark does not have is written as what keeps it."""
    match type_:
        case Struct(fields):
            return f"STRUCT<{', '.join(_field_sql(f) for f in fields)}>"
        case Array(element):
            return f"ARRAY<{spark_type(element.type)}>"
        case Map(key, value):
            return f"MAP<{spark_type(key.type)}, {spark_type(value.type)}>"
        case _:
            return _scalar_sql(kept_scalar(type_))


def value_type(type_: Type) -> str:
    """The type of a value in an expression: no NOT NULL, no comment, no limit (CAST checks none)."""
    match type_:
        case Struct(fields):
            inner = (f"{quote_backtick(f.name)}: {value_type(f.type)}" for f in fields)
            return f"STRUCT<{', '.join(inner)}>"
        case Array(element):
            return f"ARRAY<{value_type(element.type)}>"
        case Map(key, value):
            return f"MAP<{value_type(key.type)}, {value_type(value.type)}>"
        case String():
            return "STRING"
        case _:
            return _scalar_sql(kept_scalar(type_))


def _field_sql(field: Column) -> str:
    required = "" if field.nullable else " NOT NULL"
    comment = f" COMMENT {literal_spark(field.comment)}" if field.comment else ""
    return f"{quote_backtick(field.name)}: {spark_type(field.type)}{required}{comment}"


def _scalar_sql(type_: Scalar) -> str:
    match type_:
        case Integer(bits):
            return _INTEGERS[bits]
        case Float(bits):
            return "FLOAT" if bits == 32 else "DOUBLE"
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case String(length, fixed):
            return "STRING" if length is None else f"{'CHAR' if fixed else 'VARCHAR'}({length})"
        case Timestamp(zone):
            return "TIMESTAMP" if zone else "TIMESTAMP_NTZ"
        case Interval(unit):
            return f"INTERVAL {unit}"
        case Opaque(text):
            return text
        case Boolean() | Binary() | Date() | Variant():
            return type(type_).__name__.upper()
        case Time() | Uuid() | Json():
            return "STRING"
        case _:
            assert_never(type_)


def from_spark(source: str | Mapping[str, Any]) -> Type:
    """A core type from SQL type text, from schema JSON text, or from that JSON once it is read."""
    if not isinstance(source, str):
        return _from_json(source)
    text = source.strip()
    if text.startswith(("{", '"')):
        return _from_json(json.loads(text))
    parser = _Parser(text)
    found = parser.type()
    parser.end()
    return found


def columns_from_json(schema: str | Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns of a schema as Spark writes it (`df.schema.json()`, Delta's `schemaString`)."""
    value = json.loads(schema) if isinstance(schema, str) else schema
    return tuple(column_from_json(field) for field in value["fields"])


def column_from_json(field: Mapping[str, Any]) -> Column:
    """One field with all that its metadata says."""
    said = field.get("metadata") or {}
    type_ = _from_json(field["type"])
    if limit := said.get(CHAR_VARCHAR):
        type_ = _limited(type_, from_spark(limit))
    return Column(
        name=field["name"],
        type=type_,
        nullable=bool(field.get("nullable", True)),
        default=said.get("CURRENT_DEFAULT"),
        comment=said.get("comment"),
        identity=said.get("delta.columnMapping.id"),
        generated=_generated(said),
    )


def _generated(said: Mapping[str, Any]) -> str | None:
    if "delta.identity.step" in said:
        return "IDENTITY"
    found: str | None = said.get("delta.generationExpression") or said.get("GENERATION_EXPRESSION")
    return found


def _limited(type_: Type, limit: Type) -> Type:
    """The type with the text limits of `limit`, by name: Spark leaves the limits of a nested type
    behind when its fields change."""
    match type_, limit:
        case String(), String():
            return limit
        case Struct(fields), Struct(others):
            by_name = {o.name: o.type for o in others}
            return Struct(
                tuple(_retyped(f, _limited(f.type, by_name.get(f.name, f.type))) for f in fields)
            )
        case Array(element), Array(other):
            return Array(_retyped(element, _limited(element.type, other.type)))
        case Map(key, value), Map(other_key, other_value):
            return Map(
                _retyped(key, _limited(key.type, other_key.type)),
                _retyped(value, _limited(value.type, other_value.type)),
            )
        case _:
            return type_


def _retyped(column: Column, type_: Type) -> Column:
    return replace(column, type=type_)


def _from_json(value: str | Mapping[str, Any]) -> Type:
    if isinstance(value, str):
        return _scalar(value)
    match value.get("type"):
        case "struct":
            return Struct(columns_from_json(value))
        case "array":
            element = _from_json(value["elementType"])
            return Array(Column(ELEMENT, element, bool(value["containsNull"])))
        case "map":
            return Map(
                Column(KEY, _from_json(value["keyType"]), nullable=False),
                Column(VALUE, _from_json(value["valueType"]), bool(value["valueContainsNull"])),
            )
        case _:
            return Opaque(json.dumps(value, sort_keys=True))


def _scalar(text: str) -> Type:
    word = " ".join(text.lower().split())
    if word in _SCALARS:
        return _SCALARS[word]
    if sized := _SIZED.fullmatch(word):
        kind, first, second = sized.groups()
        if kind in ("varchar", "char", "character"):
            return String(int(first), fixed=kind != "varchar")
        return Decimal(int(first), int(second or 0))
    if interval := _INTERVAL.fullmatch(word):
        return Interval(interval.group(1).upper())
    return Opaque("void" if word in ("void", "null") else text)


_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|'(?:[^'\\]|\\.|'')*'|<>|[<>:,()]|[^\s<>:,()`']+)")


class _Parser:
    """Reads `struct<a: int NOT NULL COMMENT 'x', `b c`: array<map<string, decimal(10,2)>>>`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: Sequence[str] = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def expect(self, token: str) -> None:
        if self.next() != token:
            raise ValueError(f"not a Spark type: {self.text}")

    def end(self) -> None:
        if self.at != len(self.tokens):
            raise ValueError(f"not a Spark type: {self.text}")

    def type(self) -> Type:
        word = self.next()
        match word.lower():
            case "struct":
                return Struct(self.fields())
            case "array":
                self.expect("<")
                element = self.type()
                self.expect(">")
                return Array(Column(ELEMENT, element))
            case "map":
                self.expect("<")
                key = self.type()
                self.expect(",")
                value = self.type()
                self.expect(">")
                return Map(Column(KEY, key, nullable=False), Column(VALUE, value))
            case _:
                return _scalar(self.scalar_words(word))

    def scalar_words(self, word: str) -> str:
        words = word
        if self.peek() == "(":
            while (part := self.next()) not in (")", ""):
                words += part
            words += ")"
        while self.peek() and self.peek() not in (",", ">") and not self.modifier():
            words += " " + self.next()
        return words

    def modifier(self) -> bool:
        return self.peek().upper() in ("NOT", "COMMENT")

    def fields(self) -> tuple[Column, ...]:
        if self.peek() == "<>":
            self.next()
            return ()
        self.expect("<")
        found: list[Column] = []
        while self.peek() not in (">", ""):
            found.append(self.field())
            if self.peek() == ",":
                self.next()
        self.expect(">")
        return tuple(found)

    def field(self) -> Column:
        name = self.next()
        while self.peek() != ":" and not name.startswith("`") and self.wide_name():
            name += " " + self.next()
        if self.peek() == ":":
            self.next()
        type_ = self.type()
        nullable, comment = True, None
        while self.modifier():
            if self.next().upper() == "NOT":
                self.next()
                nullable = False
            else:
                comment = _unquoted(self.next())
        return Column(_unticked(name), type_, nullable, comment=comment)

    def wide_name(self) -> bool:
        """Spark's own text leaves odd names bare: they then reach up to the colon."""
        rest = self.tokens[self.at :]
        stop = next((t for t in rest if t in (":", "<", ",", ">")), "")
        return stop == ":"


def _unticked(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1].replace("''", "'"))
