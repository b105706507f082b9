"""The table of promotions: what it calls lossless keeps every value, in a model apart from the code."""

from __future__ import annotations

import struct
from decimal import Decimal as PyDecimal
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.strategies import examples
from instar.core.promotions import Verdict, promotion
from instar.core.types import Boolean, Decimal, Float, Integer, String, Type, type_text
from instar.sources.typetext import parse_type
from properties.conversions import bounds

INTEGERS: list[Type] = [Integer(b, s) for b in (8, 16, 32, 64, 128) for s in (True, False)]
FLOATS: list[Type] = [Float(32), Float(64)]


def decimals() -> st.SearchStrategy[Type]:
    return st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: Decimal(p, s)))


def numbers() -> st.SearchStrategy[Type]:
    return st.one_of(st.sampled_from(INTEGERS), st.sampled_from(FLOATS), decimals())


def values(type_: Type) -> st.SearchStrategy[Fraction]:
    """Numbers of a type, its limits among them."""
    match type_:
        case Integer():
            low, high = bounds(type_)
            near = st.sampled_from([low, high, max(low, -1), 0, high - 1])
            return st.one_of(near, st.integers(low, high)).map(Fraction)
        case Decimal(p, s):
            top = 10**p - 1
            near = st.sampled_from([top, -top, 1, -1, 0])
            return st.one_of(near, st.integers(-top, top)).map(lambda n: Fraction(n, 10**s))
        case Float(bits):
            return st.floats(width=bits, allow_nan=False, allow_infinity=False).map(Fraction)
        case _:
            raise AssertionError(type_)


def holds(type_: Type, value: Fraction) -> bool:
    """Is the number exactly one of the type's?"""
    match type_:
        case Integer():
            low, high = bounds(type_)
            return value.denominator == 1 and low <= value <= high
        case Decimal(p, s):
            scaled = value * 10**s
            return scaled.denominator == 1 and abs(scaled) < 10**p
        case Float(bits):
            code = "f" if bits == 32 else "d"
            try:
                return Fraction(struct.unpack(code, struct.pack(code, float(value)))[0]) == value
            except OverflowError:
                return False
        case _:
            raise AssertionError(type_)


@given(data=st.data(), old=numbers(), new=numbers())
@settings(max_examples=examples(300), deadline=None)
def test_lossless_numbers_are_all_held_by_the_new_type(
    data: st.DataObject, old: Type, new: Type
) -> None:
    assume(promotion(old, new).verdict is Verdict.LOSSLESS)
    value = data.draw(values(old))
    assert holds(new, value), f"{value} of {type_text(old)} is not in {type_text(new)}"


@given(data=st.data(), old=numbers(), length=st.integers(1, 60))
@settings(max_examples=examples(100), deadline=None)
def test_lossless_text_is_long_enough(data: st.DataObject, old: Type, length: int) -> None:
    assume(promotion(old, String(length)).verdict is Verdict.LOSSLESS)
    value = data.draw(values(old))
    assert len(text_of(old, value)) <= length


def text_of(type_: Type, value: Fraction) -> str:
    match type_:
        case Integer():
            return str(int(value))
        case Decimal(_, s):
            scaled = int(value * 10**s)
            return format(PyDecimal(scaled).scaleb(-s), "f")
        case _:
            return repr(float(value))


@pytest.mark.parametrize("old", INTEGERS, ids=type_text)
@pytest.mark.parametrize(
    "new", [*INTEGERS, *FLOATS, Decimal(38, 0), Decimal(20, 0), Decimal(3, 0)], ids=type_text
)
def test_an_integer_promotion_is_lossless_exactly_when_its_limits_fit(old: Type, new: Type) -> None:
    """No false alarm either: what the new type holds needs no proof."""
    assert isinstance(old, Integer)
    low, high = bounds(old)
    odd = high - 1 if high % 2 == 0 else high
    fits = all(holds(new, Fraction(n)) for n in (low, high, odd))
    assert (promotion(old, new).verdict is Verdict.LOSSLESS) == fits


VERDICTS = """
    INT            → BIGINT           lossless
    BIGINT         → INT              checked
    FLOAT          → DOUBLE           lossless
    DOUBLE         → FLOAT            checked
    INT            → FLOAT            checked
    INT            → DOUBLE           lossless
    BIGINT         → DOUBLE           checked
    DECIMAL(10, 2) → DECIMAL(12, 2)   lossless
    DECIMAL(10, 2) → DECIMAL(12, 4)   lossless
    DECIMAL(10, 2) → DECIMAL(10, 4)   checked
    DECIMAL(10, 2) → DECIMAL(10, 1)   checked
    INT            → DECIMAL(10, 0)   lossless
    INT            → DECIMAL(10, 2)   checked
    BIGINT         → DECIMAL(19, 0)   lossless
    DECIMAL(9, 0)  → INT              lossless
    DECIMAL(10, 0) → INT              checked
    DECIMAL(9, 2)  → DOUBLE           checked
    VARCHAR(5)     → VARCHAR(6)       lossless
    VARCHAR(5)     → STRING           lossless
    STRING         → VARCHAR(5)       checked
    CHAR(5)        → VARCHAR(5)       lossless
    VARCHAR(5)     → CHAR(5)          checked
    INT            → VARCHAR(11)      lossless
    INT            → VARCHAR(10)      checked
    BOOLEAN        → VARCHAR(5)       lossless
    BOOLEAN        → INT              lossless
    INT            → BOOLEAN          checked
    STRING         → INT              checked
    STRING         → DATE             checked
    STRING         → TIMESTAMP        checked
    STRING         → UUID             checked
    UUID           → VARCHAR(36)      lossless
    UUID           → VARCHAR(35)      checked
    STRING         → BINARY           lossless
    BINARY         → STRING           checked
    DATE           → TIMESTAMP_NTZ    checked
    TIMESTAMP      → DATE             checked
    TIMESTAMP      → TIMESTAMP_NTZ    checked
    DATE           → INT              impossible
    BOOLEAN        → DATE             impossible
    STRING         → ARRAY<INT>       impossible
    STRUCT<a INT>  → STRING           impossible
    MAP<INT, INT>  → ARRAY<INT>       impossible
"""


@pytest.mark.parametrize("line", VERDICTS.strip().splitlines())
def test_verdict(line: str) -> None:
    words, verdict = line.rsplit(maxsplit=1)
    old, new = (parse_type(text.strip()) for text in words.split("→"))
    assert promotion(old, new).verdict.value == verdict


@pytest.mark.parametrize(
    "name", ["BOOLEAN", "INT", "DOUBLE", "DECIMAL(5, 2)", "STRING", "DATE", "UUID"]
)
def test_the_same_type_is_lossless(name: str) -> None:
    assert promotion(parse_type(name), parse_type(name)).verdict is Verdict.LOSSLESS


def test_booleans_are_spelled_in_five_letters() -> None:
    assert promotion(Boolean(), String(4)).verdict is Verdict.CHECKED
