"""Types and columns as values: a closed union that every engine's types map to and from.

A struct field, an array's element, a map's key and value are all `Column`s at a deeper path, so one
set of words (nullable, comment, identity, …) serves every depth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import assert_never

Path = tuple[str, ...]

ELEMENT, KEY, VALUE = "element", "key", "value"


@dataclass(frozen=True, slots=True)
class Boolean:
    pass


@dataclass(frozen=True, slots=True)
class Integer:
    """bits: 8, 16, 32, 64 or 128."""

    bits: int
    signed: bool = True


@dataclass(frozen=True, slots=True)
class Float:
    """bits: 32 or 64."""

    bits: int


@dataclass(frozen=True, slots=True)
class Decimal:
    precision: int
    scale: int


@dataclass(frozen=True, slots=True)
class String:
    """Text; `length` is its limit in characters, `fixed` pads to it (CHAR(n))."""

    length: int | None = None
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Binary:
    pass


@dataclass(frozen=True, slots=True)
class Date:
    pass


@dataclass(frozen=True, slots=True)
class Time:
    pass


@dataclass(frozen=True, slots=True)
class Timestamp:
    """`zone`: an instant (with time zone) or a wall-clock reading; precision in fraction digits."""

    zone: bool
    precision: int = 6


@dataclass(frozen=True, slots=True)
class Interval:
    """`unit` is the engine-neutral qualifier ('', 'DAY TO SECOND', 'YEAR TO MONTH', …)."""

    unit: str = ""


@dataclass(frozen=True, slots=True)
class Uuid:
    pass


@dataclass(frozen=True, slots=True)
class Json:
    pass


@dataclass(frozen=True, slots=True)
class Variant:
    pass


@dataclass(frozen=True, slots=True)
class Opaque:
    """A type that only its engine understands, kept as the engine's own text."""

    text: str


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Array:
    element: Column


@dataclass(frozen=True, slots=True)
class Map:
    key: Column
    value: Column


Scalar = (
    Boolean
    | Integer
    | Float
    | Decimal
    | String
    | Binary
    | Date
    | Time
    | Timestamp
    | Interval
    | Uuid
    | Json
    | Variant
    | Opaque
)
Type = Scalar | Struct | Array | Map


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table or a part of a nested type.

    `default` is the lasting default (SQL text in the engine's dialect). `identity` is the engine's own
    id of the column (Iceberg field id, Delta column-mapping id) where it has one.
    """

    name: str
    type: Type
    nullable: bool = True
    default: str | None = None
    comment: str | None = None
    identity: int | None = None
    generated: str | None = None


@lru_cache(maxsize=65536)
def shared(column: Column) -> Column:
    """The first of all equal columns: thousands of tables are then compared by identity."""
    return column


def struct(*fields: Column) -> Struct:
    return Struct(fields)


def array(element: Type, *, nullable: bool = True) -> Array:
    return Array(Column(ELEMENT, element, nullable))


def map_of(key: Type, value: Type, *, nullable: bool = True) -> Map:
    return Map(Column(KEY, key, nullable=False), Column(VALUE, value, nullable))


def children(type_: Type) -> tuple[Column, ...]:
    """The columns one level down; empty for a scalar."""
    match type_:
        case Struct(fields):
            return fields
        case Array(element):
            return (element,)
        case Map(key, value):
            return (key, value)
        case _:
            return ()


def with_children(type_: Type, columns: tuple[Column, ...]) -> Type:
    """The same container around other children."""
    match type_:
        case Struct():
            return Struct(columns)
        case Array():
            return Array(columns[0])
        case Map():
            return Map(columns[0], columns[1])
        case _:
            return type_


def bare(type_: Type) -> Type:
    """Only what a value needs: names and types at every depth, nothing said about them."""
    return with_children(type_, tuple(Column(c.name, bare(c.type)) for c in children(type_)))


def without_identity(column: Column) -> Column:
    inner = tuple(without_identity(c) for c in children(column.type))
    return replace(column, type=with_children(column.type, inner), identity=None)


def walk(columns: tuple[Column, ...], prefix: Path = ()) -> Iterator[tuple[Path, Column]]:
    """Every column at every depth, parents first."""
    for column in columns:
        path = (*prefix, column.name)
        yield path, column
        yield from walk(children(column.type), path)


def type_text(type_: Type) -> str:
    """Engine-neutral SQL text, for people, messages and the canonical spelling in manifests."""
    match type_:
        case Struct(fields):
            inner = ", ".join(_field_text(f) for f in fields)
            return f"STRUCT<{inner}>"
        case Array(element):
            return f"ARRAY<{type_text(element.type)}>"
        case Map(key, value):
            return f"MAP<{type_text(key.type)}, {type_text(value.type)}>"
        case _:
            return _scalar_text(type_)


_INTEGERS = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT", 128: "HUGEINT"}


def _scalar_text(type_: Scalar) -> str:
    match type_:
        case Boolean():
            return "BOOLEAN"
        case Integer(bits, signed):
            return (
                _INTEGERS[bits]
                if signed
                else "U" + _INTEGERS[bits].replace("INT", "INTEGER", bits == 32)
            )
        case Float(bits):
            return "FLOAT" if bits == 32 else "DOUBLE"
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case String(length, fixed):
            return "STRING" if length is None else f"{'CHAR' if fixed else 'VARCHAR'}({length})"
        case Timestamp(zone, precision):
            digits = "" if precision == 6 else f"({precision})"
            return f"TIMESTAMP{digits}" if zone else f"TIMESTAMP_NTZ{digits}"
        case Interval(unit):
            return f"INTERVAL {unit}".rstrip()
        case Opaque(text):
            return text
        case Binary() | Date() | Time() | Uuid() | Json() | Variant():
            return type(type_).__name__.upper()
        case _:
            assert_never(type_)


def _field_text(field: Column) -> str:
    required = "" if field.nullable else " NOT NULL"
    return f"{name_text(field.name)} {type_text(field.type)}{required}"


def name_text(name: str) -> str:
    """A name as people may write it in a path or a type: in backticks unless it is a plain word."""
    plain = name.isascii() and name.isidentifier()
    return name if plain else "`" + name.replace("`", "``") + "`"


def path_text(path: Path) -> str:
    return ".".join(name_text(part) for part in path)
