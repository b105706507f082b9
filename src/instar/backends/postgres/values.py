"""How PostgreSQL names and casts values; a cast fails where it would lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from instar.backends.postgres.lossy import fails_itself, float_number, lossy_sql
from instar.backends.postgres.types import type_sql
from instar.backends.sql import literal, quote_double
from instar.backends.values import ValueWriter
from instar.core.projection import (
    ArrayCarry,
    Carry,
    Converted,
)
from instar.core.promotions import Verdict, promotion
from instar.core.types import (
    Binary,
    Boolean,
    Decimal,
    Float,
    Integer,
    String,
    Type,
    array,
    bare,
    type_text,
)

_NO_TYPES: Mapping[str, Type] = MappingProxyType({})


class PostgresValues:
    """The ValueDialect. `known`: the types of expressions, by their text in parentheses."""

    def __init__(self, known: Mapping[str, Type] = _NO_TYPES) -> None:
        self._known = known

    def quote(self, name: str) -> str:
        return quote_double(name)

    def type_sql(self, type_: Type) -> str:
        return type_sql(type_)

    def field(self, value: str, name: str) -> str:
        raise AssertionError(f"no struct is kept as one: {value}.{name}")

    def build_struct(self, fields: Sequence[tuple[str, str]]) -> str:
        raise AssertionError(f"no struct is kept as one: {fields}")

    def map_array(self, value: str, var: str, body: str) -> str:
        raise AssertionError(f"arrays are cast whole: {value}, {var}, {body}")

    def map_map(self, value: str, key: str, val: str, key_body: str, val_body: str) -> str:
        raise AssertionError(f"no map is kept as one: {value}, {key_body}, {val_body}")

    def any_in_array(self, value: str, var: str, predicate: str) -> str:
        return f"EXISTS (SELECT 1 FROM unnest({value}) AS u_{var}({var}) WHERE {predicate})"

    def any_in_map(self, value: str, key: str, val: str, predicate: str) -> str:
        raise AssertionError(f"no map is kept as one: {value}, {predicate}")

    def cast(self, value: str, old: Type | None, new: Type) -> str:
        value, old = self._typed(value, old)
        plain = self._plain(value, old, new)
        if promotion(old, new).verdict is Verdict.LOSSLESS or fails_itself(old, new):
            return plain
        return self.guarded(lossy_sql(value, old, new), value, old, new, plain)

    def guarded(self, lost: str, value: str, old: Type, new: Type, plain: str) -> str:
        """PostgreSQL has no function that fails: an integer that is none does it, and says why."""
        if lost == "FALSE":
            return plain
        words = f"a value of {type_text(old)} does not fit {type_text(new)}: "
        failure = f"CAST(CAST(CAST({literal(words)} || CAST({value} AS text) AS integer) AS text) AS {type_sql(new)})"
        return f"CASE WHEN {lost} THEN {failure} ELSE {plain} END"

    def try_cast(self, value: str, old: Type | None, new: Type) -> str:
        value, old = self._typed(value, old)
        lost = lossy_sql(value, old, new)
        plain = self._plain(value, old, new)
        return plain if lost == "FALSE" else f"CASE WHEN {lost} THEN NULL ELSE {plain} END"

    def lossy(self, value: str, old: Type, new: Type) -> str:
        return lossy_sql(value, old, new)

    def _typed(self, value: str, old: Type | None) -> tuple[str, Type]:
        """A value whose type nobody knows is read from its text."""
        found = old or self._known.get(value)
        return (value, found) if found is not None else (f"CAST({value} AS text)", String())

    def _plain(self, value: str, old: Type, new: Type) -> str:
        if bare(old) == bare(new):
            return value
        target = type_sql(new)
        match old, new:
            case String(), Binary():
                return f"convert_to({value}, 'UTF8')"
            case Binary(), String():
                return f"CAST(convert_from({value}, 'UTF8') AS {target})"
            case Integer(), Boolean():
                return f"({value} <> 0)"
            case Boolean(), Integer():
                return f"CAST(CAST({value} AS integer) AS {target})"
            case Float(), Decimal():
                return f"CAST({float_number(value)} AS {target})"
            case _:
                return f"CAST({value} AS {target})"

    def whole_array(self, value: str, var: str, old: Type, new: Type) -> str:
        """The array with other elements, as `_plain` has each; its dimensions stay where a cast can do it."""
        target = type_sql(array(new))
        match old, new:
            case (Integer(), Boolean()) | (Boolean(), Integer()):
                return f"CAST(CAST({value} AS integer[]) AS {target})"
            case Float(), Decimal():
                return f"CAST(CAST({value} AS text[]) AS {target})"
            case (String(), Binary()) | (Binary(), String()):
                each = self._plain(var, old, new)
                rows = f"unnest({value}) WITH ORDINALITY AS u_{var}({var}, n_{var})"
                made = f"ARRAY(SELECT {each} FROM {rows} ORDER BY n_{var})"
                flat = f"CASE WHEN {value} IS NULL THEN NULL ELSE {made} END"
                return self.guarded(
                    f"array_ndims({value}) > 1", value, array(old), array(new), flat
                )
            case _:
                return f"CAST({value} AS {target})"


class PostgresWriter(ValueWriter):
    """Arrays are cast whole, so that their dimensions stay."""

    def __init__(self, dialect: PostgresValues, *, trying: bool = False) -> None:
        super().__init__(dialect, trying=trying)
        self._values = dialect
        self._trying = trying

    def carry(self, value: str, carry: Carry) -> str:
        match carry:
            case ArrayCarry(Converted(old, new)):
                return self._array(value, old, new)
            case _:
                return super().carry(value, carry)

    def _array(self, value: str, old: Type, new: Type) -> str:
        var = self.fresh()
        plain = self._values.whole_array(value, var, old, new)
        lost = lossy_sql(var, old, new)
        if lost == "FALSE" or promotion(old, new).verdict is Verdict.LOSSLESS:
            return plain
        found = self._values.any_in_array(value, var, lost)
        if self._trying:
            return f"CASE WHEN {found} THEN NULL ELSE {plain} END"
        return self._values.guarded(found, value, array(old), array(new), plain)
