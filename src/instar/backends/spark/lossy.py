"""Which values a change of type would lose on Spark: one exact predicate per pair of types.

Measured against hand-labelled rows. A round trip alone is not enough: casts saturate, cut, drop zones
and times, and never check a length. The session runs in UTC with ANSI on, so no wall time is in a gap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from instar.backends.spark.types import value_type
from instar.core.promotions import Verdict, promotion
from instar.core.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    String,
    Timestamp,
    Type,
    Variant,
)

Predicate = Callable[[str, Any, Any], str]
"""(value, old, new) -> SQL that is true for a value that is lost; NULL or false else."""

_MAX_BIGINT = "9223372036854775807L"
_MAX_DAYS = 106751991
_DATE_ONLY = "^\\\\s*[+-]?[0-9]{4,}(-[0-9]{1,2}){0,2}\\\\s*$"
_BARE_YEAR = "^[^0-9+-]*[0-9]{5,}[^0-9-]*$"
"""'202001' is a month or an order, though Spark reads the year 202001."""
_FEW = {32: (6, "1e-37", "1e38"), 64: (15, "1e-300", "1e300")}
"""By the bits of a float: so many digits come back as they were, between these magnitudes."""


def lossy_sql(value: str, old: Type, new: Type) -> str:
    """True exactly for the values that the change of type would lose or change; never NULL."""
    if promotion(old, new).verdict is Verdict.LOSSLESS:
        return "FALSE"
    rule = LOSSY[type(old), type(new)]
    return f"({value} IS NOT NULL AND COALESCE({rule(value, old, new)}, TRUE))"


def text_of(value: str, old: Type) -> str:
    """A value as the text it is stored as when its column becomes text."""
    match old:
        case Variant():
            return f"to_json({value})"
        case String():
            return value
        case _:
            return f"CAST({value} AS STRING)"


def _round_trip(value: str, old: Type, new: Type) -> str:
    there, back = value_type(new), value_type(old)
    return f"NOT (TRY_CAST(TRY_CAST({value} AS {there}) AS {back}) <=> {value})"


def _integer_to_float(value: str, old: Integer, new: Float) -> str:
    # The largest bigint becomes 2^63 and saturates back to itself.
    return f"({_round_trip(value, old, new)} OR {value} = {_MAX_BIGINT})"


def _float_to_integer(value: str, old: Float, new: Integer) -> str:
    limit = f"{2.0 ** (new.bits - 1)!r}D".replace("e+", "E")
    number = value if old.bits == 64 else f"CAST({value} AS DOUBLE)"
    return (
        f"CASE WHEN isnan({number}) OR {number} >= {limit} OR {number} < -{limit} THEN TRUE"
        f" ELSE {number} <> floor({number}) END"
    )


def _not_castable(value: str, _old: Type, new: Type) -> str:
    return f"TRY_CAST({value} AS {value_type(new)}) IS NULL"


def _too_long(value: str, old: Type, new: String) -> str:
    text = text_of(value, old)
    if isinstance(old, String) and old.fixed:
        # The padding of CHAR(n) carries nothing.
        text = f"rtrim({text})"
    if new.length is None:
        return "FALSE"
    if not new.fixed:
        return f"length({text}) > {new.length}"
    blank = "" if isinstance(old, String) and old.fixed else f" OR {text} RLIKE ' $'"
    return f"(length({text}) > {new.length}{blank})"


def _text_to_decimal(value: str, _old: String, new: Decimal) -> str:
    cast = f"TRY_CAST({value} AS {value_type(new)})"
    return f"({cast} IS NULL OR {_digits(value)} <> {_digits(f'CAST({cast} AS STRING)')})"


def _text_to_float(value: str, _old: String, new: Float) -> str:
    """The text of the float must be the same number; few digits always are, however Java prints them."""
    cast = f"TRY_CAST({value} AS {value_type(new)})"
    few, small, large = _FEW[new.bits]
    plain = f"(length({_digits(value)}) <= {few} AND abs({cast}) BETWEEN {small} AND {large})"
    changed = f"{_digits(value)} <> {_digits(f'CAST({cast} AS STRING)')}"
    return f"({cast} IS NULL OR (NOT {plain} AND {changed}))"


def _digits(value: str) -> str:
    """The digits of a number in text without zeros around them: rounding never leaves them as they are."""
    mantissa = f"split_part(lower({value}), 'e', 1)"
    return f"regexp_replace(regexp_replace({mantissa}, '[^0-9]', ''), '^0+|0+$', '')"


def _text_to_date(value: str, _old: String, _new: Date) -> str:
    """Spark reads over what stands behind a date: it must be midnight UTC, or nothing at all."""
    date = f"TRY_CAST({value} AS DATE)"
    # Not TIMESTAMP_NTZ: that reads over a zone, in which another day may begin.
    midnight = f"TRY_CAST({value} AS TIMESTAMP) <=> CAST({date} AS TIMESTAMP)"
    return (
        f"CASE WHEN {date} IS NULL OR {value} RLIKE '{_BARE_YEAR}' THEN TRUE"
        f" WHEN {value} RLIKE '{_DATE_ONLY}' THEN FALSE"
        f" WHEN {_too_far(date)} THEN TRUE ELSE NOT ({midnight}) END"
    )


def _too_far(date: str) -> str:
    """Beyond what microseconds hold: a cast to a timestamp fails there, and so does TRY_CAST."""
    return f"abs(unix_date({date})) > {_MAX_DAYS}"


def _date_to_timestamp(value: str, _old: Date, _new: Timestamp) -> str:
    return _too_far(value)


def _text_to_timestamp(value: str, _old: String, new: Timestamp) -> str:
    tests = [
        _not_castable(value, _old, new),
        f"{value} RLIKE '{_BARE_YEAR}'",
        f"{value} RLIKE '[.][0-9]{{6}}[0-9]*[1-9]'",
        f"NOT ({value} RLIKE '^\\\\s*[+-]?[0-9]{{4,}}')",
    ]
    if not new.zone:
        clock = "^[+-]?[0-9]{4,}(-[0-9]{1,2}){0,2}([T ][0-9:.]*)?"
        tests.append(f"regexp_replace(trim({value}), '{clock}', '') <> ''")
    return f"({' OR '.join(tests)})"


def _binary_to_text(value: str, old: Binary, new: String) -> str:
    broken = f"NOT is_valid_utf8(CAST({value} AS STRING))"
    return f"({broken} OR {_too_long(value, old, new)})"


LOSSY: dict[tuple[type, type], Predicate] = {
    (Boolean, String): _too_long,
    (Integer, Boolean): _round_trip,
    (Integer, Integer): _round_trip,
    (Integer, Float): _integer_to_float,
    (Integer, Decimal): _round_trip,
    (Integer, String): _too_long,
    (Float, Float): _round_trip,
    (Float, Integer): _float_to_integer,
    (Float, Decimal): _round_trip,
    (Float, String): _too_long,
    (Decimal, Decimal): _round_trip,
    (Decimal, Integer): _round_trip,
    (Decimal, Float): _round_trip,
    (Decimal, String): _too_long,
    (String, String): _too_long,
    (String, Boolean): _not_castable,
    (String, Integer): _not_castable,
    (String, Float): _text_to_float,
    (String, Decimal): _text_to_decimal,
    (String, Date): _text_to_date,
    (String, Timestamp): _text_to_timestamp,
    (Binary, String): _binary_to_text,
    (Date, String): _too_long,
    (Timestamp, Date): _round_trip,
    (Timestamp, Timestamp): _round_trip,
    (Date, Timestamp): _date_to_timestamp,
    (Timestamp, String): _too_long,
    (Interval, String): _too_long,
    (Variant, String): _too_long,
}
