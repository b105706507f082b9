"""Which values a change of type would lose on DuckDB: exact predicates over its own casts.

DuckDB rounds without a word ('1.9' → 2, 1.005 → 1.00), drops times, offsets and trailing garbage from
text, and turns text beyond a double into infinity. A value is lost when it cannot be read, or when what
is stored no longer says the same number or moment. A spelling ('007', ' 12 ', '1e3', -0.0 → 0) is no loss.
The session's time zone must be UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from instar.backends.duckdb.types import type_sql
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
    bare,
)

Predicate = Callable[[str, Any, Any], str]

_NUMBER = r"^\s*([+-]?)([0-9_]*)\.?([0-9_]*)(?:[eE]([+-]?[0-9]+))?\s*$"
_DATE_ONLY = r"^\s*[0-9]+[-/. ][0-9]+[-/. ][0-9]+( \(BC\))?\s*$"
_TIME_ONLY = r"^\s*[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6}0*)?)?\s*$"
_ZONED_TIME = (
    r"^\s*[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6}0*)?)?"
    r"\s*([+-][0-9]{2}(:?[0-9]{2}){0,2})?\s*$"
)
_BEHIND_A_TIME = r":[0-9]*([.][0-9]*)?\s*[^0-9:.\s]"
_BELOW_MICROS = (
    r"[.][0-9]{6}[0-9]*[1-9]|[.][0-9]{3}[0-9]*[1-9]\s*m(illi)?s|[.][0-9]*[1-9]\s*(us|micros)"
)
_SMALLEST_NS, _LARGEST_NS = "TIMESTAMP '1677-09-22'", "TIMESTAMP '2262-04-11'"


def lossy_sql(value: str, old: Type, new: Type) -> str:
    """True exactly for the values that are lost; never NULL."""
    if bare(old) == bare(new):
        return "FALSE"
    if isinstance(new, String) and not isinstance(old, Binary):
        return "FALSE"
    rule = _RULES.get((type(old), type(new)), _round_trip)
    return f"({value} IS NOT NULL AND {rule(value, old, new)})"


def try_sql(value: str, new: Type) -> str:
    return f"TRY_CAST({value} AS {type_sql(new)})"


def _fails(value: str, _old: Type, new: Type) -> str:
    return f"{try_sql(value, new)} IS NULL"


def _round_trip(value: str, old: Type, new: Type) -> str:
    return f"{try_sql(try_sql(value, new), old)} IS DISTINCT FROM {value}"


def _to_boolean(value: str, _old: Integer, _new: Boolean) -> str:
    return f"{value} NOT IN (0, 1)"


def _integer_to_float(value: str, old: Integer, new: Float) -> str:
    """Through an integer that is wide enough: a saturating way back would hide 2^63 - 1."""
    wide = Integer(128, signed=old.signed)
    return (
        f"{try_sql(try_sql(value, new), wide)} IS DISTINCT FROM CAST({value} AS {type_sql(wide)})"
    )


def _float_to_float(value: str, old: Float, new: Float) -> str:
    return f"isfinite({value}) AND {_round_trip(value, old, new)}"


def _float_to_number(value: str, old: Float, new: Type) -> str:
    return f"(NOT isfinite({value}) OR {_round_trip(value, old, new)})"


def _part(value: str, group: int) -> str:
    return f"regexp_extract({value}, '{_NUMBER}', {group})"


def _digits(value: str) -> str:
    return f"replace({_part(value, 2)} || {_part(value, 3)}, '_', '')"


def _whole(value: str) -> str:
    return f"length(replace({_part(value, 2)}, '_', ''))"


def _exponent(value: str) -> str:
    return f"COALESCE(TRY_CAST({_part(value, 4)} AS BIGINT), 0)"


def _decimals(value: str) -> str:
    """How many digits behind the point a number in text needs."""
    significant = f"length(rtrim({_digits(value)}, '0'))"
    return (
        f"CASE WHEN {significant} = 0 THEN 0 "
        f"ELSE {significant} - {_whole(value)} - {_exponent(value)} END"
    )


def _text_to_number(scale: Callable[[Any], int]) -> Predicate:
    def predicate(value: str, _old: String, new: Integer | Decimal | Opaque) -> str:
        numeric = f"regexp_matches({value}, '{_NUMBER}')"
        return _unless_spelled(
            value,
            new,
            f"({_fails(value, _old, new)} OR ({numeric} AND {_decimals(value)} > {scale(new)}))",
        )

    return predicate


def _unless_spelled(value: str, new: Type, lost: str) -> str:
    """Most texts are spelled as the engine itself would: a glance is enough for those."""
    return f"CASE WHEN {value} = CAST({try_sql(value, new)} AS VARCHAR) THEN FALSE ELSE {lost} END"


def _number(value: str) -> str:
    """A number in text as (sign, digits, place of the point): equal for equal numbers."""
    digits = _digits(value)
    stripped = f"trim({digits}, '0')"
    leading = f"(length({digits}) - length(ltrim({digits}, '0')))"
    return (
        f"CASE WHEN {stripped} = '' THEN '0' ELSE concat_ws(' ', {_part(value, 1)} = '-', {stripped}, "
        f"{_whole(value)} - {leading} + {_exponent(value)}) END"
    )


def _text_to_float(value: str, _old: String, new: Float) -> str:
    """The shortest text of the float must be the same number."""
    back = f"CAST({try_sql(value, new)} AS VARCHAR)"
    numeric = f"regexp_matches({value}, '{_NUMBER}')"
    changed = f"(NOT regexp_matches({back}, '{_NUMBER}') OR {_number(value)} <> {_number(back)})"
    return _unless_spelled(
        value, new, f"({try_sql(value, new)} IS NULL OR ({numeric} AND {changed}))"
    )


def _text_to_date(value: str, _old: String, new: Date) -> str:
    """Text behind the date is read over: it must be midnight, or nothing at all."""
    day = try_sql(value, new)
    moment = f"TRY_CAST({value} AS TIMESTAMP)"
    zoned = f"TRY_CAST(TRY_CAST({value} AS TIMESTAMPTZ) AS TIMESTAMP)"
    midnight = (
        f"({moment} = TRY_CAST({day} AS TIMESTAMP) AND COALESCE({zoned}, {moment}) = {moment})"
    )
    only = f"regexp_matches({value}, '{_DATE_ONLY}')"
    nanos = f"regexp_matches({value}, ':[0-9]+[.][0-9]*[1-9]')"
    return f"({day} IS NULL OR {nanos} OR NOT COALESCE({midnight}, {only}))"


def _text_to_time(value: str, _old: String, new: Time) -> str:
    return f"({try_sql(value, new)} IS NULL OR NOT regexp_matches({value}, '{_TIME_ONLY}'))"


def _text_to_interval(value: str, _old: String, new: Interval) -> str:
    """What stands behind a time of day is read over, and so is what is shorter than a microsecond."""
    cut = f"regexp_matches({value}, '{_BEHIND_A_TIME}|{_BELOW_MICROS}', 'i')"
    return f"({try_sql(value, new)} IS NULL OR {cut})"


def _text_to_opaque(value: str, old: String, new: Opaque) -> str:
    """A type that is only known by its text: unless it is one of these, the very text must come back."""
    match new.text:
        case "BIGNUM":
            return _text_to_number(lambda _: 0)(value, old, new)
        case "TIME WITH TIME ZONE":
            return (
                f"({try_sql(value, new)} IS NULL OR NOT regexp_matches({value}, '{_ZONED_TIME}'))"
            )
        case _:
            return _round_trip(value, old, new)


def _text_to_timestamp(value: str, _old: String, new: Timestamp) -> str:
    fraction = rf"[.][0-9]{{{new.precision}}}[0-9]*[1-9]"
    if new.precision == 0:
        fraction = r"[.][0-9]*[1-9]"
    long = f"regexp_matches({value}, '{fraction}')"
    if new.zone:
        return f"({try_sql(value, new)} IS NULL OR {long})"
    plain = f"TRY_CAST({value} AS TIMESTAMP)"
    moved = f"TRY_CAST(TRY_CAST({value} AS TIMESTAMPTZ) AS TIMESTAMP) <> {plain}"
    unfit = f"({plain} IS NULL OR NOT {_fits_ns(plain)})" if new.precision == 9 else "FALSE"
    return f"({unfit} OR {try_sql(value, new)} IS NULL OR {long} OR COALESCE({moved}, FALSE))"


def _fits_ns(moment: str) -> str:
    """TRY_CAST to TIMESTAMP_NS raises out of range, so that the range is asked first."""
    return f"(NOT isfinite({moment}) OR {moment} BETWEEN {_SMALLEST_NS} AND {_LARGEST_NS})"


def _timestamps(value: str, old: Timestamp, new: Timestamp) -> str:
    if new.precision == 9:
        moment = f"TRY_CAST({value} AS TIMESTAMP)"
        return f"NOT COALESCE({_fits_ns(moment)}, FALSE)"
    return _round_trip(value, old, new)


def _date_to_timestamp(value: str, old: Date, new: Timestamp) -> str:
    if new.precision != 9:
        return _round_trip(value, old, new)
    return f"NOT COALESCE({_fits_ns(f'TRY_CAST({value} AS TIMESTAMP)')}, FALSE)"


def _blob_to_text(value: str, _old: Binary, _new: String) -> str:
    return f"TRY(decode({value})) IS NULL"


def _never(_value: str, _old: Type, _new: Type) -> str:
    return "FALSE"


_RULES: dict[tuple[type, type], Predicate] = {
    (Integer, Boolean): _to_boolean,
    (Integer, Integer): _fails,
    (Integer, Decimal): _fails,
    (Integer, Float): _integer_to_float,
    (Float, Float): _float_to_float,
    (Float, Integer): _float_to_number,
    (Float, Decimal): _float_to_number,
    (String, Integer): _text_to_number(lambda _: 0),
    (String, Decimal): _text_to_number(lambda new: int(new.scale)),
    (String, Float): _text_to_float,
    (String, Date): _text_to_date,
    (String, Time): _text_to_time,
    (String, Timestamp): _text_to_timestamp,
    (String, Binary): _never,
    (String, String): _never,
    (Timestamp, Timestamp): _timestamps,
    (Date, Timestamp): _date_to_timestamp,
    (Binary, String): _blob_to_text,
    (String, Boolean): _fails,
    (String, Uuid): _fails,
    (String, Json): _fails,
    (String, Opaque): _text_to_opaque,
    (String, Interval): _text_to_interval,
}
