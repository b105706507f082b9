"""A value of one type as a value of another, exactly: what would be lost or changed is refused."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, InvalidOperation
from decimal import Decimal as PyDecimal
from typing import Any
from uuid import UUID

from instar.core.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Json,
    Opaque,
    String,
    Time,
    Timestamp,
    Type,
    Uuid,
    Variant,
)

_EXACT = Context(prec=120)
_WIDE = Context(prec=1200)
_INFINITE = (float("inf"), float("-inf"))
_PACK = {32: "f", 64: "d"}
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")
_SPECIAL_FLOATS = {"nan", "inf", "infinity", "-inf", "-infinity", "+inf", "+infinity"}
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}


class Lossy(ValueError):
    """The value has no equal in the other type."""


def convert(value: Any, new: Type, old: Type | None = None) -> Any:
    """The equal value of the scalar type `new`; NULL stays NULL. Raises Lossy.

    `old` matters for one thing only: a 32-bit float is as exact as its own short text.
    """
    if value is None:
        return None
    if old == Float(32) and isinstance(new, Decimal | String) and value - value == 0:
        return convert(PyDecimal(shortest(value)), new)
    rule = _RULES.get((_kind(value), type(new)))
    if rule is None:
        raise Lossy(f"{value!r} has no meaning as {new}")
    return rule(value, new)


def _kind(value: Any) -> type:
    # bool is an int and datetime is a date: the narrower one first.
    for kind in (bool, int, float, PyDecimal, str, bytes, datetime, date, time, timedelta, UUID):
        if isinstance(value, kind):
            return kind
    raise Lossy(f"{value!r} is not a scalar")


def _keep(value: Any, new: Any) -> Any:
    del new
    return value


def _integer(value: int, new: Integer) -> int:
    low = -(1 << (new.bits - 1)) if new.signed else 0
    high = (1 << (new.bits - 1)) - 1 if new.signed else (1 << new.bits) - 1
    if not low <= value <= high:
        raise Lossy(f"{value} is out of range")
    return int(value)


def _whole(value: Any, new: Integer) -> int:
    if value != value or value in _INFINITE or value != int(value):
        raise Lossy(f"{value} is not whole")
    return _integer(int(value), new)


def _decimal(value: int | PyDecimal, new: Decimal) -> PyDecimal:
    exact = PyDecimal(value)
    try:
        fitted = exact.quantize(PyDecimal(1).scaleb(-new.scale), context=_EXACT)
    except InvalidOperation as error:
        raise Lossy(f"{value} does not fit") from error
    if fitted != exact or abs(fitted) >= PyDecimal(10) ** (new.precision - new.scale):
        raise Lossy(f"{value} does not fit")
    return fitted


def _float(value: float, new: Float) -> float:
    try:
        packed: float = struct.unpack(_PACK[new.bits], struct.pack(_PACK[new.bits], value))[0]
    except OverflowError as error:
        raise Lossy(f"{value} is out of range") from error
    if packed != value and value == value:
        raise Lossy(f"{value} is not exact")
    return packed


def _nearest(value: PyDecimal, new: Float) -> float:
    """The nearest float, if it gives the number back at the number's own scale."""
    try:
        near: float = struct.unpack(_PACK[new.bits], struct.pack(_PACK[new.bits], float(value)))[0]
    except OverflowError as error:
        raise Lossy(f"{value} is out of range") from error
    if near in _INFINITE or PyDecimal(near).quantize(value, context=_WIDE) != value:
        raise Lossy(f"{value} is not exact")
    return near


def shortest(value: float) -> str:
    """The shortest text that reads back as the same 32-bit float."""
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == value:
            return text
    return repr(value)


def _float_decimal(value: float, new: Decimal) -> PyDecimal:
    if value != value or value in _INFINITE:
        raise Lossy(f"{value} is no decimal")
    return _decimal(PyDecimal(repr(value)), new)


def _text(value: str, new: String) -> str:
    if new.length is not None and len(value) > new.length:
        raise Lossy(f"{value!r} is too long")
    if new.fixed:
        if value.endswith(" ") and len(value) != new.length:
            raise Lossy(f"{value!r} would lose its blanks")
        return value.ljust(new.length or 0)
    return value


def _as_text(say: Callable[[Any], str]) -> Callable[[Any, Any], str]:
    def told(value: Any, new: String) -> str:
        return _text(say(value), new)

    return told


def _parsed(read: Callable[[str], Any]) -> Callable[[str, Any], Any]:
    def reader(text: str, new: Any) -> Any:
        try:
            value = read(text.strip())
        except (ValueError, KeyError, InvalidOperation) as error:
            raise Lossy(f"{text!r} cannot be read") from error
        return convert(value, new)

    return reader


def _read_integer(text: str, new: Integer) -> int:
    if not _WHOLE.fullmatch(text):
        raise Lossy(f"{text!r} is not a whole number")
    return _integer(int(text), new)


def _read_decimal(text: str, new: Decimal) -> PyDecimal:
    if not _NUMBER.fullmatch(text):
        raise Lossy(f"{text!r} is not a number")
    return _decimal(PyDecimal(text.strip()), new)


def _read_float(text: str, new: Float) -> float:
    if text.strip().lower() in _SPECIAL_FLOATS:
        return float(text)
    if not _NUMBER.fullmatch(text):
        raise Lossy(f"{text!r} is not a number")
    return _nearest(PyDecimal(text.strip()), new)


def _read_timestamp(text: str, new: Timestamp) -> datetime:
    try:
        value = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise Lossy(f"{text!r} is not a timestamp") from error
    if value.tzinfo is not None and not new.zone:
        raise Lossy(f"{text!r} would lose its zone")
    return _timestamp(value, new)


def _timestamp(value: datetime, new: Timestamp) -> datetime:
    unit = 10 ** max(0, 6 - new.precision)
    if value.microsecond % unit:
        raise Lossy(f"{value} would lose its fraction")
    if new.zone:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def _read_date(text: str, _new: Date) -> date:
    try:
        value = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise Lossy(f"{text!r} is not a date") from error
    return _day(value, _new)


def _day(value: datetime, _new: Date) -> date:
    if value.time() != time(0):
        raise Lossy(f"{value} would lose its time")
    return value.date()


def _midnight(value: date, new: Timestamp) -> datetime:
    return _timestamp(datetime(value.year, value.month, value.day), new)


def _bit(value: int, _new: Boolean) -> bool:
    if value not in (0, 1):
        raise Lossy(f"{value} is neither 0 nor 1")
    return bool(value)


def _utf8(value: bytes, new: String) -> str:
    try:
        return _text(value.decode(), new)
    except UnicodeDecodeError as error:
        raise Lossy("not UTF-8") from error


def _json_text(value: str, _new: Json) -> str:
    try:
        json.loads(value)
    except ValueError as error:
        raise Lossy(f"{value!r} is not JSON") from error
    return value


_RULES: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (bool, Boolean): _keep,
    (bool, Integer): lambda v, n: _integer(int(v), n),
    (bool, String): _as_text(lambda v: "true" if v else "false"),
    (int, Boolean): _bit,
    (int, Integer): _integer,
    (int, Float): lambda v, n: _nearest(PyDecimal(v), n),
    (int, Decimal): _decimal,
    (int, String): _as_text(str),
    (float, Float): _float,
    (float, Integer): _whole,
    (float, Decimal): _float_decimal,
    (float, String): _as_text(repr),
    (PyDecimal, Decimal): _decimal,
    (PyDecimal, Integer): _whole,
    (PyDecimal, Float): _nearest,
    (PyDecimal, String): _as_text(lambda v: f"{v:f}"),
    (str, String): _text,
    (str, Boolean): _parsed(lambda t: _BOOLEANS[t.lower()]),
    (str, Integer): _read_integer,
    (str, Float): _read_float,
    (str, Decimal): _read_decimal,
    (str, Date): _read_date,
    (str, Time): _parsed(time.fromisoformat),
    (str, Timestamp): _read_timestamp,
    (str, Binary): lambda v, _: v.encode(),
    (str, Uuid): _parsed(UUID),
    (str, Json): _json_text,
    (str, Variant): _keep,
    (str, Opaque): _keep,
    (bytes, Binary): _keep,
    (bytes, String): _utf8,
    (datetime, Timestamp): _timestamp,
    (datetime, Date): _day,
    (datetime, String): _as_text(lambda v: v.isoformat(sep=" ")),
    (date, Date): _keep,
    (date, Timestamp): _midnight,
    (date, String): _as_text(lambda v: v.isoformat()),
    (time, Time): _keep,
    (time, String): _as_text(lambda v: v.isoformat()),
    (timedelta, Interval): _keep,
    (timedelta, String): _as_text(str),
    (UUID, Uuid): _keep,
    (UUID, String): _as_text(str),
}
"""By the kind of the Python value and the wanted type; a pair that is not here has no meaning."""
