"""How Spark SQL writes values: rebuilt by field name, cast only where nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from instar.backends.spark.lossy import lossy_sql, text_of
from instar.backends.spark.types import value_type
from instar.backends.sql import literal_spark, quote_backtick
from instar.core.promotions import DIGITS, Verdict, promotion
from instar.core.types import Array, Date, Decimal, Integer, Map, String, Struct, Type, type_text

_EMPTY = ("NULL", "ARRAY()", "MAP()")


@dataclass(frozen=True, slots=True)
class SparkValues:
    """`trying`: a map whose keys do not survive becomes NULL instead of failing (for proofs)."""

    trying: bool = False

    def quote(self, name: str) -> str:
        return quote_backtick(name)

    def type_sql(self, type_: Type) -> str:
        return value_type(type_)

    def field(self, value: str, name: str) -> str:
        # Without the brackets `a`.`b` could be column b of a table a.
        return f"({value}).{quote_backtick(name)}"

    def build_struct(self, fields: Sequence[tuple[str, str]]) -> str:
        inner = ", ".join(f"{literal_spark(name)}, {value}" for name, value in fields)
        return f"named_struct({inner})"

    def map_array(self, value: str, var: str, body: str) -> str:
        return f"transform({value}, {var} -> {body})"

    def map_map(self, value: str, key: str, val: str, key_body: str, val_body: str) -> str:
        """Spark may be set to keep the last of two equal keys; here that always fails."""
        keys = f"transform(map_keys({value}), {key} -> {key_body})"
        values = f"transform(map_values({value}), {val} -> {val_body})"
        if key_body == key:
            return f"map_from_arrays(map_keys({value}), {values})"
        clash = f"size(array_distinct({keys})) < size({keys})"
        bad = f"{clash} OR exists({keys}, {key} -> {key} IS NULL)"
        fail = "NULL" if self.trying else _fail("two keys of a map become one, or none")
        return f"CASE WHEN {bad} THEN {fail} ELSE map_from_arrays({keys}, {values}) END"

    def any_in_array(self, value: str, var: str, predicate: str) -> str:
        return f"COALESCE(exists({value}, {var} -> {predicate}), FALSE)"

    def any_in_map(self, value: str, key: str, val: str, predicate: str) -> str:
        return f"COALESCE(size(map_filter({value}, ({key}, {val}) -> {predicate})) > 0, FALSE)"

    def cast(self, value: str, old: Type | None, new: Type) -> str:
        """Fails where it would lose: Spark's own cast keeps silent in many such cells."""
        if old is None:
            return self._unknown(value, new, _required)
        plain = _plain(value, old, new)
        if promotion(old, new).verdict is not Verdict.CHECKED:
            return plain
        words = f"a value does not survive {type_text(old)} to {type_text(new)}"
        return f"CASE WHEN {lossy_sql(value, old, new)} THEN {_fail(words)} ELSE {plain} END"

    def try_cast(self, value: str, old: Type | None, new: Type) -> str:
        if old is None:
            return self._unknown(value, new, _attempted)
        plain = _plain(value, old, new, "TRY_CAST")
        if promotion(old, new).verdict is not Verdict.CHECKED:
            return plain
        return f"CASE WHEN {lossy_sql(value, old, new)} THEN NULL ELSE {plain} END"

    def lossy(self, value: str, old: Type, new: Type) -> str:
        return lossy_sql(value, old, new)

    def _unknown(self, value: str, new: Type, scalar: Callable[[str, Type], str]) -> str:
        """An expression of unknown type: by name into a nested type, never by a struct cast."""
        if _is_empty(value):
            return f"CAST({value} AS {value_type(new)})"
        match new:
            case Struct(fields):
                inner = [
                    (f.name, self._unknown(self.field(value, f.name), f.type, scalar))
                    for f in fields
                ]
                return f"CASE WHEN {value} IS NULL THEN NULL ELSE {self.build_struct(inner)} END"
            case Array(element):
                return self.map_array(value, "e", self._unknown("e", element.type, scalar))
            case Map(key, val):
                keys = self._unknown("k", key.type, scalar)
                return self.map_map(value, "k", "v", keys, self._unknown("v", val.type, scalar))
            case _:
                return scalar(value, new)


def _is_empty(value: str) -> bool:
    text = "".join(value.split()).upper()
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return text in _EMPTY


def _fail(words: str) -> str:
    return f"raise_error({literal_spark('instar: ' + words)})"


def _plain(value: str, old: Type, new: Type, cast: str = "CAST") -> str:
    if isinstance(new, String):
        text = text_of(value, old)
        if isinstance(old, String) and old.fixed and new.length is not None:
            return f"substring({text}, 1, {new.length})"
        return text
    return f"{cast}({value} AS {value_type(new)})"


def _attempted(value: str, new: Type) -> str:
    cast = f"TRY_CAST({value} AS {value_type(new)})"
    if isinstance(new, String) and new.length is not None:
        return f"CASE WHEN length({cast}) > {new.length} THEN NULL ELSE {cast} END"
    if (wide := _finer(new)) is not None:
        cut = f"TRY_CAST({value} AS {wide}) <> TRY_CAST({cast} AS {wide})"
        return f"CASE WHEN {cut} THEN NULL ELSE {cast} END"
    return cast


def _finer(new: Type) -> str | None:
    """The type that still shows what a cast to this one cuts or rounds off without a word."""
    match new:
        case Integer(bits):
            return f"DECIMAL(38, {38 - DIGITS[bits]})"
        case Decimal(precision, scale):
            return f"DECIMAL(38, {38 - (precision - scale)})"
        case Date():
            return "TIMESTAMP"
        case _:
            return None


def _required(value: str, new: Type) -> str:
    """ANSI casts fail, but NaN becomes a NULL decimal; lengths and fractions are not looked at."""
    fail = _fail(f"an expression gives no {type_text(new)}")
    attempt = _attempted(value, new)
    return f"CASE WHEN {value} IS NOT NULL AND {attempt} IS NULL THEN {fail} ELSE {attempt} END"
