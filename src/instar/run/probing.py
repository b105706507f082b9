"""Rows that are made up to tell two readings of an expression apart: odd values of every type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from instar.backends.sql import literal
from instar.core.types import (
    Array,
    Boolean,
    Column,
    Date,
    Decimal,
    Float,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
)

_TEXTS = ("a.b", "A-b_c", "12", "2024-01-31", "a'x|y", "", " é x ", "true")
_NUMBERS = ("7", "-7", "0", "1", "2", "100", "3", "12")
_FRACTIONS = ("2.5", "-1.5", "0", "1.7", "0.04", "100", "0.5", "-2.5")
_DAYS = ("2024-01-31", "2024-02-29", "2023-12-31", "1969-07-20", "2024-01-01", "2021-06-15")
_TIMES = tuple(
    f"{day} {hour:02}:30:15.25" for hour, day in zip((23, 0, 11, 5, 7, 13), _DAYS, strict=True)
)
_COUNT = 8


@dataclass(frozen=True, slots=True)
class Words:
    """How an engine says a type, a name, a list, a struct and a map."""

    kind: Callable[[Type], str]
    name: Callable[[str], str]
    array: Callable[[list[str]], str]
    struct: Callable[[list[tuple[str, str]]], str]
    map: Callable[[list[tuple[str, str]]], str]


def made_up(row: tuple[Column, ...], words: Words) -> list[str]:
    """One SELECT without a source for each row; the last one has NULL wherever it may be."""
    return [_row(row, n, words) for n in range(_COUNT + 1)]


def _row(row: tuple[Column, ...], n: int, words: Words) -> str:
    told = ", ".join(
        f"{_column(column, n, place, words)} AS {words.name(column.name)}"
        for place, column in enumerate(row)
    )
    return f"SELECT {told or '1 AS nothing'}"


def _column(column: Column, n: int, place: int, words: Words) -> str:
    if n == _COUNT and column.nullable:
        return f"CAST(NULL AS {words.kind(column.type)})"
    return f"CAST({_value(column.type, n + place, words)} AS {words.kind(column.type)})"


def _value(type_: Type, n: int, words: Words) -> str:
    match type_:
        case Array(element):
            return words.array([_value(element.type, n + k, words) for k in range(3)])
        case Struct(fields):
            return words.struct([(f.name, _value(f.type, n, words)) for f in fields])
        case Map(key, value):
            pairs = [
                (_value(key.type, n + k, words), _value(value.type, n + k, words)) for k in range(2)
            ]
            return words.map(pairs)
        case _:
            texts = _texts(type_)
            told = literal(texts[n % len(texts)]) if texts else "NULL"
            return f"TRY_CAST({told} AS {words.kind(type_)})"


def _texts(type_: Type) -> tuple[str, ...]:
    match type_:
        case String():
            return _TEXTS
        case Integer():
            return _NUMBERS
        case Float() | Decimal():
            return _FRACTIONS
        case Boolean():
            return ("true", "false")
        case Date():
            return _DAYS
        case Timestamp():
            return _TIMES
        case _:
            return ()
