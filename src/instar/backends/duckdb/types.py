"""DuckDB's types: the text it takes, the text it reports, and what it cannot keep."""

from __future__ import annotations

import re
from functools import lru_cache

from instar.backends.sql import closing, quote_double
from instar.core.types import (
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
    array,
    children,
    map_of,
)

TO_SQL: dict[Scalar, str] = {
    Boolean(): "BOOLEAN",
    Integer(8): "TINYINT",
    Integer(16): "SMALLINT",
    Integer(32): "INTEGER",
    Integer(64): "BIGINT",
    Integer(128): "HUGEINT",
    Integer(8, signed=False): "UTINYINT",
    Integer(16, signed=False): "USMALLINT",
    Integer(32, signed=False): "UINTEGER",
    Integer(64, signed=False): "UBIGINT",
    Integer(128, signed=False): "UHUGEINT",
    Float(32): "FLOAT",
    Float(64): "DOUBLE",
    String(): "VARCHAR",
    Binary(): "BLOB",
    Date(): "DATE",
    Time(): "TIME",
    Timestamp(zone=False, precision=0): "TIMESTAMP_S",
    Timestamp(zone=False, precision=3): "TIMESTAMP_MS",
    Timestamp(zone=False, precision=6): "TIMESTAMP",
    Timestamp(zone=False, precision=9): "TIMESTAMP_NS",
    Timestamp(zone=True, precision=6): "TIMESTAMP WITH TIME ZONE",
    Interval(): "INTERVAL",
    Uuid(): "UUID",
    Json(): "JSON",
    Variant(): "VARIANT",
}
FROM_SQL: dict[str, Scalar] = {text: type_ for type_, text in TO_SQL.items()}

MAX_DIGITS = 38
_PRECISIONS = (0, 3, 6, 9)


def type_sql(type_: Type) -> str:
    """The type as DuckDB writes it; the type has been through `kept`."""
    match type_:
        case Struct(fields):
            inner = ", ".join(f"{quote_double(f.name)} {type_sql(f.type)}" for f in fields)
            return f"STRUCT({inner})"
        case Array(element):
            return f"{type_sql(element.type)}[]"
        case Map(key, value):
            return f"MAP({type_sql(key.type)}, {type_sql(value.type)})"
        case Decimal(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case Opaque(text):
            return text
        case _:
            return TO_SQL[type_]


def kept(type_: Type) -> tuple[Type, tuple[str, ...]]:
    """The scalar that DuckDB would report, and what it does not keep, in words."""
    match type_:
        case String(length) if length is not None:
            return String(), (f"the length {length} (DuckDB never checks it)",)
        case Timestamp(zone, precision):
            best = 6 if zone else next((p for p in _PRECISIONS if p >= precision), 9)
            lost = best < precision
            note = (f"{precision} digits of a second (DuckDB has {best})",) if lost else ()
            return Timestamp(zone, best), note
        case Interval(unit) if unit:
            return Interval(), (f"the unit {unit} of an interval",)
        case _:
            return type_, ()


@lru_cache(maxsize=8192)
def parse_type(text: str) -> Type:
    """The type that DuckDB reports with this text."""
    parser = _Parser(text)
    found = parser.type()
    return found if parser.at == len(text) else Opaque(text)


def unnamed(type_: Type) -> bool:
    """Whether it holds a row without field names, which no table can keep."""
    if isinstance(type_, Opaque):
        return type_.text.startswith("STRUCT(")
    return any(unnamed(c.type) for c in children(type_))


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?: WITH TIME ZONE)?")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NAME = re.compile(r'[^\W\d]\w*|"(?:[^"]|"")*"')
_DIGITS = re.compile(r"\((\d+), ?(\d+)\)")
_SUFFIX = re.compile(r"\[(\d*)\]")


class _Parser:
    """Reads one type text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def type(self) -> Type:
        start = self.at
        found = self._base()
        while suffix := _SUFFIX.match(self.text, self.at):
            self.at = suffix.end()
            found = Opaque(self.text[start : self.at]) if suffix[1] else array(found)
        return found

    def _base(self) -> Type:
        start = self.at
        word = _WORD.match(self.text, self.at) or _QUOTED.match(self.text, self.at)
        if word is None:
            self.at = len(self.text)
            return Opaque(self.text[start:])
        self.at = word.end()
        if not self.text.startswith("(", self.at):
            return FROM_SQL.get(word[0], Opaque(word[0]))
        if word[0] == "STRUCT":
            return self._struct(start)
        if word[0] == "MAP":
            return self._map()
        if word[0] == "DECIMAL" and (digits := _DIGITS.match(self.text, self.at)):
            self.at = digits.end()
            return Decimal(int(digits[1]), int(digits[2]))
        self.at = closing(self.text, self.at) + 1 or len(self.text)
        return Opaque(self.text[start : self.at])

    def _struct(self, start: int) -> Type:
        """The fields; a row without field names is a type that only DuckDB can say."""
        opening = self.at
        fields = self._fields()
        if fields is not None:
            return Struct(fields)
        self.at = closing(self.text, opening) + 1 or len(self.text)
        return Opaque(self.text[start : self.at])

    def _fields(self) -> tuple[Column, ...] | None:
        fields: list[Column] = []
        self.at += 1
        while not self.text.startswith(")", self.at):
            name = _NAME.match(self.text, self.at)
            if name is None or not self.text.startswith(" ", name.end()):
                return None
            self.at = name.end() + 1
            bare_name = name[0][1:-1].replace('""', '"') if name[0][0] == '"' else name[0]
            fields.append(Column(bare_name, self.type()))
            self._comma()
        self.at += 1
        return tuple(fields)

    def _map(self) -> Map:
        self.at += 1
        key = self.type()
        self._comma()
        value = self.type()
        self.at += 1
        return map_of(key, value)

    def _comma(self) -> None:
        if self.text.startswith(", ", self.at):
            self.at += 2
