"""Random values of every type, their extremes among them, and values that suit a type to come."""

from __future__ import annotations

import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal as Number
from typing import Any

from hypothesis import strategies as st

from instar.core.types import (
    Array,
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
    Uuid,
)
from properties.conversions import EXACT, LOST, SPECIAL, Near, Reads, bounds, convert, uuid_of

ODD_TEXT = (
    "",
    " ",
    "it's",
    'say "hi"',
    "back\\slash",
    "\\'",
    "a\nb\tc\r",
    "%s {} $1 ? :x",
    "-- no /* no */ ;",
    "ünï 日本 😀",
    "e\u0301\u200b",
    "`tick`",
    "$$",
    "NULL",
    "x" * 40,
)
JUNK = ("q", "", "x'", "1q", "--", "é", '"')
"""Text that no engine takes for a number, a day or a word of truth."""


def text(longest: int = 12) -> st.SearchStrategy[str]:
    # Surrogates are no text, and PostgreSQL has no zero byte in it.
    anything = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
    return st.sampled_from(ODD_TEXT).map(lambda t: t[:longest]) | st.text(
        anything, max_size=min(longest, 12)
    )


def _integers(type_: Integer) -> st.SearchStrategy[int]:
    low, high = bounds(type_)
    return st.sampled_from([low, high, 0, 1, high - 1]) | st.integers(low, high)


def _floats(type_: Float) -> st.SearchStrategy[float]:
    largest = 3.4028234663852886e38 if type_.bits == 32 else 1.7976931348623157e308
    smallest = 1.401298464324817e-45 if type_.bits == 32 else 5e-324
    tenth = struct.unpack("f", struct.pack("f", 0.1))[0] if type_.bits == 32 else 0.1
    odd = [math.nan, math.inf, -math.inf, -0.0, 0.0, largest, -largest, smallest, tenth, 1.5]
    return st.sampled_from(odd) | st.floats(width=32 if type_.bits == 32 else 64)


def _decimals(type_: Decimal) -> st.SearchStrategy[Number]:
    top = 10**type_.precision - 1
    digits = st.sampled_from([top, -top, 0, 1, -1]) | st.integers(-top, top)
    return digits.map(lambda n: Number(n).scaleb(-type_.scale, EXACT))


def _dates() -> st.SearchStrategy[date]:
    odd = [date.min, date.max, date(1970, 1, 1), date(1582, 10, 4), date(1582, 10, 15)]
    return st.sampled_from(odd) | st.dates()


def _moments(zone: bool) -> st.SearchStrategy[datetime]:
    early, late = datetime(1, 1, 2), datetime(9999, 12, 30, 23, 59, 59, 999999)
    odd = [early, late, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 2, 29)]
    plain = st.sampled_from(odd) | st.datetimes(early, late) | _dates_at_midnight()
    return plain.map(lambda m: m.replace(tzinfo=UTC)) if zone else plain


def _dates_at_midnight() -> st.SearchStrategy[datetime]:
    days = st.dates(date(1, 1, 2), date(9999, 12, 30))
    return days.map(lambda d: datetime(d.year, d.month, d.day))


def scalars(type_: Type) -> st.SearchStrategy[Any]:
    match type_:
        case Boolean():
            return st.booleans()
        case Integer():
            return _integers(type_)
        case Float():
            return _floats(type_)
        case Decimal():
            return _decimals(type_)
        case String(length):
            return text(length or 12)
        case Binary():
            return st.sampled_from([b"", b"\x00", b"\xff\xfe", b"it's"]) | st.binary(max_size=6)
        case Date():
            return _dates()
        case Timestamp(zone):
            return _moments(zone)
        case Uuid():
            return st.integers(0, 2**128 - 1).map(uuid_of)
        case _:
            raise AssertionError(type_)


def values(type_: Type) -> st.SearchStrategy[Any]:
    """Any value of the type, at every depth, NULL among them."""
    match type_:
        case Struct(fields):
            made = st.fixed_dictionaries({f.name: values(f.type) for f in fields})
            return st.none() | made
        case Array(element):
            return st.none() | st.lists(values(element.type), max_size=3)
        case Map(key, value):
            made = st.dictionaries(scalars(key.type), values(value.type), max_size=2)
            return st.none() | made
        case _:
            return st.none() | scalars(type_) | scalars(type_)


def suiting(old: Type, new: Type) -> st.SearchStrategy[Any]:
    """Values of `old`, many of which can be values of `new`."""
    if isinstance(old, String) and not isinstance(new, String | Binary):
        made = st.sampled_from(JUNK) | scalars(new).map(spelled)
        return made.map(lambda t: t if old.length is None else t[: old.length])
    if isinstance(old, Binary) and isinstance(new, String):
        # Whether text may hold a zero byte is another question.
        return scalars(old).filter(lambda b: b"\x00" not in b)
    if isinstance(old, Float) and isinstance(new, Decimal):
        quarters = st.integers(-4000, 4000).map(lambda n: n / 4)
        return scalars(old) | quarters
    return scalars(old) | scalars(new).map(lambda v: _back(v, new, old))


def _back(value: Any, new: Type, old: Type) -> Any:
    try:
        found = convert(value, new, old)
    except KeyError:
        return None
    return None if found is LOST or isinstance(found, Near | Reads) else found


def spelled(value: Any) -> str:
    """A text from which every engine reads the value."""
    match value:
        case bool():
            return str(value).lower()
        case float():
            names = {repr(v): k for k, v in SPECIAL.items()}
            return names.get(repr(value), repr(value))
        case Number():
            return format(value, "f")
        case datetime():
            return value.isoformat(" ")
        case _:
            return str(value)
