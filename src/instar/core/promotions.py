"""What becomes of a value when its type changes: one table, from every kind of scalar to every other.

LOSSLESS keeps every value; CHECKED depends on the rows and is proven before anything runs;
IMPOSSIBLE has no meaning without a `_using` expression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from instar.core.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Json,
    String,
    Time,
    Timestamp,
    Type,
    Uuid,
    Variant,
    bare,
    type_text,
)


class Verdict(Enum):
    LOSSLESS = "lossless"
    CHECKED = "checked"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True)
class Promotion:
    verdict: Verdict
    reason: str


DIGITS = {8: 3, 16: 5, 32: 10, 64: 19, 128: 39}
"""Decimal digits that hold every signed integer of that width."""
_EXACT_BITS = {32: 24, 64: 53}
"""Bits of an integer that a float of that width holds exactly."""
_MICROSECONDS = 6

Rule = Callable[[Any, Any], bool]


def _integers(old: Integer, new: Integer) -> bool:
    if old.signed == new.signed:
        return old.bits <= new.bits
    return new.signed and old.bits < new.bits


def _decimals(old: Decimal, new: Decimal) -> bool:
    return new.scale >= old.scale and new.precision - new.scale >= old.precision - old.scale


def _integer_digits(old: Integer) -> int:
    return DIGITS[old.bits] + (not old.signed and old.bits == 64)


def _to_text(width: Callable[[Any], int | None]) -> Rule:
    def fits(old: Any, new: String) -> bool:
        need = width(old)
        return new.length is None or (need is not None and need <= new.length and not new.fixed)

    return fits


def _strings(old: String, new: String) -> bool:
    if new.length is None:
        return True
    if new.fixed and not (old.fixed and old.length == new.length):
        return False
    return old.length is not None and old.length <= new.length


def _timestamps(old: Timestamp, new: Timestamp) -> bool:
    return old.zone == new.zone and old.precision <= new.precision and _far(old.precision, new)


def _far(precision: int, new: Timestamp) -> bool:
    """Nanoseconds leave room for the years 1677 to 2262 only."""
    return new.precision <= _MICROSECONDS or precision > _MICROSECONDS


def _always(_old: Any, _new: Any) -> bool:
    return True


def _never(_old: Any, _new: Any) -> bool:
    return False


# (old, new) -> "does every value survive?"; a pair that is not here has no meaning without _using.
LOSSLESS_WHEN: dict[tuple[type, type], Rule] = {
    (Boolean, Integer): _always,
    (Boolean, String): _to_text(lambda _: 5),
    (Integer, Boolean): _never,
    (Integer, Integer): _integers,
    (Integer, Float): lambda o, n: o.bits <= _EXACT_BITS[n.bits],
    (Integer, Decimal): lambda o, n: n.precision - n.scale >= _integer_digits(o),
    (Integer, String): _to_text(lambda o: _integer_digits(o) + o.signed),
    (Float, Float): lambda o, n: o.bits <= n.bits,
    (Float, Integer): _never,
    (Float, Decimal): _never,
    (Float, String): _to_text(lambda _: None),
    (Decimal, Decimal): _decimals,
    (Decimal, Integer): lambda o, n: o.scale == 0 and n.signed and o.precision < DIGITS[n.bits],
    (Decimal, Float): _never,
    (Decimal, String): _to_text(lambda o: o.precision + 3),
    (String, String): _strings,
    (String, Boolean): _never,
    (String, Integer): _never,
    (String, Float): _never,
    (String, Decimal): _never,
    (String, Date): _never,
    (String, Time): _never,
    (String, Timestamp): _never,
    (String, Binary): _always,
    (String, Uuid): _never,
    (String, Json): _never,
    (Binary, String): _never,
    # Every engine's dates reach further than its timestamps.
    (Date, Timestamp): _never,
    (Date, String): _to_text(lambda _: None),
    (Time, String): _to_text(lambda _: None),
    (Timestamp, Date): _never,
    (Timestamp, Timestamp): _timestamps,
    (Timestamp, String): _to_text(lambda _: None),
    (Interval, String): _to_text(lambda _: None),
    (Uuid, String): _to_text(lambda _: 36),
    (Json, String): _to_text(lambda _: None),
    (Variant, String): _to_text(lambda _: None),
}


def promotion(old: Type, new: Type) -> Promotion:
    """How a value of `old` becomes a value of `new`."""
    words = f"{type_text(old)} → {type_text(new)}"
    if bare(old) == bare(new):
        return Promotion(Verdict.LOSSLESS, "the same type")
    rule = LOSSLESS_WHEN.get((type(old), type(new)))
    if rule is None:
        return Promotion(Verdict.IMPOSSIBLE, f"{words} has no meaning without a _using expression")
    if rule(old, new):
        return Promotion(Verdict.LOSSLESS, f"{words} keeps every value")
    return Promotion(Verdict.CHECKED, f"{words} depends on the rows")
