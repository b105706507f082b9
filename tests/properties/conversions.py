"""What a value becomes when its type changes, computed in Python alone: the new value, or that it is lost.

Numbers are compared as exact numbers. A spelling ('007', -0.0 as 0) is no loss; digits, times and
anything that cannot be read are.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import ROUND_HALF_EVEN, Context
from decimal import Decimal as Number
from fractions import Fraction
from typing import Any
from uuid import UUID

from instar.core.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    String,
    Timestamp,
    Type,
    Uuid,
)

EXACT = Context(prec=120, rounding=ROUND_HALF_EVEN)
_INTEGER_TEXT = re.compile(r" *[+-]?[0-9]+ *")


class Lost:
    """The value has no place in the new type."""

    def __repr__(self) -> str:
        return "LOST"


LOST = Lost()


@dataclass(frozen=True)
class Reads:
    """Equal to any text that says this number, day or moment: engines spell them differently."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        match self.value:
            case float():
                return same_float(float(other), self.value)
            case Number():
                return Number(other) == self.value
            case datetime():
                return datetime.fromisoformat(other) == self.value
            case date():
                return date.fromisoformat(other) == self.value
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True)
class Near:
    """Equal to any decimal number that is this float when it is read back."""

    value: float
    bits: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and _rounded(float(other), self.bits) == self.value

    def __hash__(self) -> int:
        return hash(self.value)


def same_float(a: float, b: float) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b and math.copysign(1, a) == math.copysign(1, b)


def bounds(type_: Integer) -> tuple[int, int]:
    half = 1 << (type_.bits - 1)
    return (-half, half - 1) if type_.signed else (0, 2 * half - 1)


def _rounded(value: float, bits: int) -> float:
    if bits == 64 or not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _whole(value: Fraction, new: Integer) -> Any:
    low, high = bounds(new)
    return int(value) if value.denominator == 1 and low <= value <= high else LOST


def _decimal(value: Fraction, new: Decimal) -> Any:
    scaled = value * 10**new.scale
    if scaled.denominator != 1 or abs(scaled) >= 10**new.precision:
        return LOST
    return Number(int(scaled)).scaleb(-new.scale, EXACT)


def _float(value: Fraction, new: Float) -> Any:
    found = _rounded(float(value), new.bits)
    return found if math.isfinite(found) and Fraction(found) == value else LOST


def _decimal_to_float(value: Number, old: Decimal, new: Float) -> Any:
    """Its digits must come back: 0.1 is 0.1, though no float is a tenth."""
    found = _rounded(float(value), new.bits)
    back = EXACT.quantize(Number(found), Number(1).scaleb(-old.scale, EXACT))
    return found if back == value else LOST


def _float_to_decimal(value: float, old: Float, new: Decimal) -> Any:
    if not math.isfinite(value):
        return LOST
    near = EXACT.quantize(Number(value), Number(1).scaleb(-new.scale, EXACT))
    fits = abs(near) < Number(10) ** (new.precision - new.scale)
    return Near(value, old.bits) if fits and _rounded(float(near), old.bits) == value else LOST


def _float_to_float(value: float, _old: Float, new: Float) -> Any:
    if not math.isfinite(value):
        return value
    return value if _rounded(value, new.bits) == value else LOST


def _float_to_integer(value: float, _old: Float, new: Integer) -> Any:
    return _whole(Fraction(value), new) if math.isfinite(value) else LOST


def _limited(text: Any, length: int, new: String) -> Any:
    return text if new.length is None or length <= new.length else LOST


def _plain(value: Number) -> str:
    return format(value, "f")


def _text_to_integer(text: str, _old: String, new: Integer) -> Any:
    return _whole(Fraction(int(text)), new) if _INTEGER_TEXT.fullmatch(text) else LOST


def _text_number(text: str) -> Number | None:
    try:
        found = Number(text) if text.isascii() and "_" not in text else None
    except ArithmeticError:
        return None
    return found if found is not None and found.is_finite() else None


def _text_to_decimal(text: str, _old: String, new: Decimal) -> Any:
    found = _text_number(text)
    return LOST if found is None else _decimal(Fraction(found), new)


SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _text_to_float(text: str, _old: String, _new: Float) -> Any:
    if text in SPECIAL:
        return SPECIAL[text]
    found = _text_number(text)
    if found is None:
        return LOST
    value = float(text)
    return value if math.isfinite(value) and Number(repr(value)) == found else LOST


def _text_to_date(text: str, _old: String, _new: Date) -> Any:
    try:
        return date.fromisoformat(text) if len(text) == 10 else LOST
    except ValueError:
        return LOST


def _text_to_timestamp(text: str, _old: String, _new: Timestamp) -> Any:
    try:
        return datetime.fromisoformat(text) if len(text) >= 19 else LOST
    except ValueError:
        return LOST


def _decoded(value: bytes, _old: Binary, new: String) -> Any:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return LOST
    return _limited(text, len(text), new)


def _midnight(value: datetime, _old: Timestamp, _new: Date) -> Any:
    return value.date() if value.time() == time() else LOST


def _number_to_text(value: Any, _old: Type, new: String) -> Any:
    number = Number(value)
    return _limited(Reads(number), len(_plain(number)), new)


Rule = Callable[[Any, Any, Any], Any]

RULES: dict[tuple[type, type], Rule] = {
    (Boolean, Integer): lambda v, _o, _n: int(v),
    (Boolean, String): lambda v, _o, n: _limited(str(v).lower(), len(str(v)), n),
    (Integer, Boolean): lambda v, _o, _n: bool(v) if v in (0, 1) else LOST,
    (Integer, Integer): lambda v, _o, n: _whole(Fraction(v), n),
    (Integer, Decimal): lambda v, _o, n: _decimal(Fraction(v), n),
    (Integer, Float): lambda v, _o, n: _float(Fraction(v), n),
    (Integer, String): _number_to_text,
    (Decimal, Decimal): lambda v, _o, n: _decimal(Fraction(v), n),
    (Decimal, Integer): lambda v, _o, n: _whole(Fraction(v), n),
    (Decimal, Float): _decimal_to_float,
    (Decimal, String): _number_to_text,
    (Float, Float): _float_to_float,
    (Float, Integer): _float_to_integer,
    (Float, Decimal): _float_to_decimal,
    (Float, String): lambda v, _o, _n: Reads(v),
    (String, String): lambda v, _o, n: _limited(v, len(v), n),
    (String, Integer): _text_to_integer,
    (String, Decimal): _text_to_decimal,
    (String, Float): _text_to_float,
    (String, Boolean): lambda v, _o, _n: {"true": True, "false": False}.get(v, LOST),
    (String, Date): _text_to_date,
    (String, Timestamp): _text_to_timestamp,
    (String, Binary): lambda v, _o, _n: v.encode(),
    (Binary, String): _decoded,
    (Date, Timestamp): lambda v, _o, _n: datetime.combine(v, time()),
    (Date, String): lambda v, _o, _n: Reads(v),
    (Timestamp, Date): _midnight,
    (Timestamp, String): lambda v, _o, _n: Reads(v),
    (Uuid, String): lambda v, _o, n: _limited(str(v), 36, n),
    (Uuid, Uuid): lambda v, _o, _n: v,
}

IMPOSSIBLE = {
    (Boolean, Date),
    (Boolean, Decimal),
    (Date, Integer),
    (Date, Boolean),
    (Timestamp, Integer),
    (Binary, Integer),
    (Decimal, Boolean),
    (Integer, Date),
    (Float, Boolean),
}
"""Pairs that mean nothing without an expression."""


def known(old: Type, new: Type) -> bool:
    """Whether this module says what becomes of the values, with no room for two opinions."""
    match old, new:
        case Timestamp(zone=True), _:
            return old == new
        case _, Timestamp(zone=True):
            return False
        case Decimal(precision, scale), Float(bits):
            return precision <= (15 if bits == 64 else 6) or (scale == 0 and bits == 64)
        case String(), Float(bits):
            return bits == 64
        case Float(), String(length):
            return length is None
        case ((Date() | Timestamp()), String(length)):
            return length is None
        case _:
            return (type(old), type(new)) in RULES


def convert(value: Any, old: Type, new: Type) -> Any:
    """The value in the new type; LOST where it has no place there."""
    if value is None or old == new:
        return value
    return RULES[(type(old), type(new))](value, old, new)


def uuid_of(number: int) -> UUID:
    return UUID(int=number)
