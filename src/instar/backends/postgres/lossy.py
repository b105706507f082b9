"""Which values a change of type would lose on PostgreSQL: exact predicates over its own casts.

PostgreSQL rounds without a word (1.9 → 2, 1.005 → 1.01), cuts text that an explicit CAST to varchar(n)
meets, drops times and offsets from text, takes 'now' and 'today' for dates, and guesses the century of
'01-02-03' and '201201'. A value is lost when it cannot be read, or when what is stored no longer says the
same number or moment. A spelling ('007', ' 12 ', '1_000', '0x10') is no loss. No predicate ever fails. The
session's time zone must be UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from instar.backends.postgres.types import type_sql
from instar.backends.sql import literal
from instar.core.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
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

_MOVING = r"^\s*(now|today|tomorrow|yesterday|allballs)\M"
_GUESSED = r"^\s*([0-9]{5,6}(\s|T|$)|[0-9]{1,2}[-/.][0-9])"
_YEAR = r"(^|[^0-9.:])[0-9]{3}"
_DATE_ONLY = r"^\s*[0-9]+-[0-9]+-[0-9]+( BC)?\s*$"
_TIME_ONLY = r"^\s*[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6}0*)?)?\s*([AaPp][Mm])?\s*$"
_C = "[89ab][0-9a-f]"
_UTF8 = (
    rf"^((0[1-9a-f]|[1-7][0-9a-f])|(c[2-9a-f]|d[0-9a-f]){_C}|e0[ab][0-9a-f]{_C}|e[1-9abcef]{_C}{_C}"
    rf"|ed[89][0-9a-f]{_C}|f0[9ab][0-9a-f]{_C}{_C}|f[1-3]{_C}{_C}{_C}|f48[0-9a-f]{_C}{_C})*$"
)
_EXACT = {32: 2**24, 64: 2**53}
_FLOAT_MAX, _FLOAT_MIN = "3.4028235677973366e38", "7.006492321624085e-46"


def lossy_sql(value: str, old: Type, new: Type) -> str:
    """True exactly for the values that are lost; never NULL."""
    if bare(old) == bare(new):
        return "FALSE"
    if isinstance(new, String) and not isinstance(old, Binary):
        rule: Predicate = _to_text
    else:
        rule = _RULES.get((type(old), type(new)), _readable)
    found = rule(value, old, new)
    return found if found == "FALSE" else f"({value} IS NOT NULL AND {found})"


def fails_itself(old: Type, new: Type) -> bool:
    """The plain cast refuses exactly the values that are lost: nobody has to look before it."""
    match old, new:
        case (Integer(), Integer() | Decimal()) | (
            String(_, False),
            Integer() | Boolean() | Uuid(),
        ):
            return True
        case _:
            return False


def valid_sql(value: str, new: Type) -> str:
    """Whether the text of a value can be read as the type at all."""
    return f"pg_input_is_valid({value}, {literal(type_sql(new))})"


def _readable(value: str, _old: Type, new: Type) -> str:
    return f"NOT {valid_sql(f'CAST({value} AS text)', new)}"


def _to_text(value: str, old: Type, new: String) -> str:
    if new.length is None:
        return "FALSE"
    text = value if isinstance(old, String) else f"CAST({value} AS text)"
    long = f"length(CAST({text} AS text)) > {new.length}"
    if not new.fixed:
        return f"({long})"
    return f"({long} OR CAST({text} AS text) <> rtrim(CAST({text} AS text), ' '))"


def _range(new: Integer) -> tuple[int, int]:
    return -(2 ** (new.bits - 1)), 2 ** (new.bits - 1) - 1


def _never(_value: str, _old: Type, _new: Type) -> str:
    return "FALSE"


def _to_boolean(value: str, _old: Integer, _new: Boolean) -> str:
    return f"{value} NOT IN (0, 1)"


def _integers(value: str, old: Integer, new: Integer) -> str:
    if old.bits <= new.bits:
        return "FALSE"
    low, high = _range(new)
    return f"{value} NOT BETWEEN {low} AND {high}"


def _integer_to_decimal(value: str, _old: Integer, new: Decimal) -> str:
    return f"abs(CAST({value} AS numeric)) >= 1e{new.precision - new.scale}::numeric"


def _integer_to_float(value: str, old: Integer, new: Float) -> str:
    """Back through bigint, which is exact; the way back from 2^63 itself would fail."""
    if 2 ** (old.bits - 1) <= _EXACT[new.bits]:
        return "FALSE"
    there = f"CAST({value} AS {type_sql(new)})"
    return (
        f"CASE WHEN {there} >= 9223372036854775808 THEN TRUE "
        f"ELSE CAST({there} AS bigint) <> {value} END"
    )


def _floats(value: str, old: Float, new: Float) -> str:
    if old.bits <= new.bits:
        return "FALSE"
    return (
        f"CASE WHEN {_infinite(value)} THEN FALSE WHEN abs({value}) >= {_FLOAT_MAX} THEN TRUE "
        f"WHEN {value} <> 0 AND abs({value}) <= {_FLOAT_MIN} THEN TRUE "
        f"ELSE CAST({value} AS real) <> {value} END"
    )


def _infinite(value: str) -> str:
    return f"{value} IN ('NaN', 'Infinity', '-Infinity')"


def _float_to_integer(value: str, _old: Float, new: Integer) -> str:
    low, high = _range(new)
    return (
        f"CASE WHEN {_infinite(value)} THEN TRUE "
        f"ELSE {value} <> trunc({value}) OR {value} < {low} OR {value} >= {high + 1} END"
    )


def _unfit(number: str, new: Decimal) -> str:
    """A numeric that the decimal would round or refuse."""
    return (
        f"({number} IN ('NaN', 'Infinity', '-Infinity') OR round({number}, {new.scale}) <> {number} "
        f"OR abs({number}) >= 1e{new.precision - new.scale}::numeric)"
    )


def float_number(value: str) -> str:
    """The number of a float by its shortest text: the plain cast keeps 15 digits."""
    return f"CAST(CAST({value} AS text) AS numeric)"


def _float_to_decimal(value: str, _old: Float, new: Decimal) -> str:
    return _unfit(float_number(value), new)


def _decimals(value: str, old: Decimal, new: Decimal) -> str:
    if new.scale >= old.scale and new.precision - new.scale >= old.precision - old.scale:
        return "FALSE"
    return f"({value} <> 'NaN' AND {_unfit(value, new)})"


def _decimal_to_integer(value: str, _old: Decimal, new: Integer) -> str:
    low, high = _range(new)
    return (
        f"CASE WHEN {_infinite(value)} THEN TRUE "
        f"ELSE {value} <> trunc({value}) OR {value} NOT BETWEEN {low} AND {high} END"
    )


def _decimal_to_float(value: str, _old: Decimal, new: Float) -> str:
    there = f"CAST({value} AS {type_sql(new)})"
    large, small = ("1.7e308", "1e-307") if new.bits == 64 else ("3.4e38", "1e-37")
    exact = (
        f"(abs({value}) < 9223372036854774784 AND {value} = trunc({value}) "
        f"AND CAST({there} AS bigint) = {value})"
    )
    return (
        f"CASE WHEN {_infinite(value)} THEN FALSE WHEN abs({value}) > {large}::numeric THEN TRUE "
        f"WHEN {value} <> 0 AND abs({value}) < {small}::numeric THEN TRUE "
        f"WHEN {float_number(there)} = {value} THEN FALSE ELSE NOT {exact} END"
    )


def _text_to_decimal(value: str, _old: String, new: Decimal) -> str:
    number = f"CAST({value} AS numeric)"
    return f"CASE WHEN NOT pg_input_is_valid({value}, 'numeric') THEN TRUE ELSE {_unfit(number, new)} END"


def _text_to_float(value: str, _old: String, new: Float) -> str:
    """The shortest text of the float must be the same number."""
    number, back = f"CAST({value} AS numeric)", float_number(f"CAST({value} AS {type_sql(new)})")
    return (
        f"CASE WHEN NOT {valid_sql(value, new)} THEN TRUE "
        f"WHEN NOT pg_input_is_valid({value}, 'numeric') THEN TRUE "
        f"WHEN {_infinite(number)} THEN FALSE ELSE {number} <> {back} END"
    )


def _no_fixed_day(value: str) -> str:
    """A day that depends on the clock, or on a guess at the century; 'infinity' and 'epoch' have no digit."""
    guessed = f"{value} ~ '[0-9]' AND ({value} ~ '{_GUESSED}' OR {value} !~ '{_YEAR}')"
    return f"{value} ~* '{_MOVING}' OR ({guessed})"


def _text_to_date(value: str, _old: String, new: Date) -> str:
    """Text behind the date is read over: it must be midnight UTC, or nothing at all."""
    midnight = f"CAST({value} AS timestamptz) = CAST(CAST({value} AS date) AS timestamptz)"
    return (
        f"CASE WHEN NOT {valid_sql(value, new)} OR {_no_fixed_day(value)} THEN TRUE "
        f"WHEN {value} ~ '{_DATE_ONLY}' THEN FALSE "
        f"WHEN NOT pg_input_is_valid({value}, 'timestamptz') THEN TRUE ELSE NOT ({midnight}) END"
    )


def _text_to_time(value: str, _old: String, new: Time) -> str:
    return f"(NOT {valid_sql(value, new)} OR {value} !~ '{_TIME_ONLY}')"


def _text_to_timestamp(value: str, _old: String, new: Timestamp) -> str:
    long = rf"[.][0-9]{{{new.precision}}}[0-9]*[1-9]" if new.precision else "[.][0-9]*[1-9]"
    first = f"NOT {valid_sql(value, new)} OR {_no_fixed_day(value)} OR {value} ~ '{long}'"
    if new.zone:
        return f"({first})"
    moved = f"CAST(CAST({value} AS timestamptz) AS timestamp) <> CAST({value} AS timestamp)"
    return (
        f"CASE WHEN {first} THEN TRUE WHEN NOT pg_input_is_valid({value}, 'timestamptz') THEN TRUE "
        f"ELSE {moved} END"
    )


def _text_to_json(value: str, _old: String, new: Json) -> str:
    """jsonb keeps one of two equal keys."""
    return f"(NOT {valid_sql(value, new)} OR NOT ({value} IS JSON WITH UNIQUE KEYS))"


def _timestamps(value: str, old: Timestamp, new: Timestamp) -> str:
    if old.precision <= new.precision:
        return "FALSE"
    return f"CAST(CAST({value} AS {type_sql(new)}) AS {type_sql(old)}) <> {value}"


def _timestamp_to_date(value: str, old: Timestamp, _new: Date) -> str:
    return f"CAST(CAST({value} AS date) AS {type_sql(Timestamp(old.zone))}) <> {value}"


def _date_to_timestamp(value: str, _old: Date, _new: Timestamp) -> str:
    return f"({value} > '294276-12-31' AND {value} <> 'infinity')"


def _bytes_to_text(value: str, old: Binary, new: String) -> str:
    del old
    broken = f"encode({value}, 'hex') !~ '{_UTF8}'"
    if new.length is None:
        return broken
    text = f"convert_from({value}, 'UTF8')"
    return f"CASE WHEN {broken} THEN TRUE ELSE length({text}) > {new.length} END"


_RULES: dict[tuple[type, type], Predicate] = {
    (Boolean, Integer): _never,
    (Integer, Boolean): _to_boolean,
    (Integer, Integer): _integers,
    (Integer, Decimal): _integer_to_decimal,
    (Integer, Float): _integer_to_float,
    (Float, Float): _floats,
    (Float, Integer): _float_to_integer,
    (Float, Decimal): _float_to_decimal,
    (Decimal, Decimal): _decimals,
    (Decimal, Integer): _decimal_to_integer,
    (Decimal, Float): _decimal_to_float,
    (String, Decimal): _text_to_decimal,
    (String, Float): _text_to_float,
    (String, Date): _text_to_date,
    (String, Time): _text_to_time,
    (String, Timestamp): _text_to_timestamp,
    (String, Json): _text_to_json,
    (String, Binary): _never,
    (Date, Timestamp): _date_to_timestamp,
    (Timestamp, Date): _timestamp_to_date,
    (Timestamp, Timestamp): _timestamps,
    (Binary, String): _bytes_to_text,
    (Opaque, Opaque): _readable,
}
