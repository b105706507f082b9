"""How DuckDB names, rebuilds and casts values; a cast fails where it would lose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from instar.backends.duckdb.lossy import lossy_sql, try_sql
from instar.backends.duckdb.types import type_sql
from instar.backends.sql import literal, quote_double
from instar.core.promotions import Verdict, promotion
from instar.core.types import Binary, String, Type, bare, type_text


class DuckDBValues:
    """The ValueDialect. `known`: the types of expressions, by their text in parentheses."""

    def __init__(self, known: Mapping[str, Type] = MappingProxyType({})) -> None:
        self._known = known

    def quote(self, name: str) -> str:
        return quote_double(name)

    def type_sql(self, type_: Type) -> str:
        return type_sql(type_)

    def field(self, value: str, name: str) -> str:
        return f"struct_extract({value}, {literal(name)})"

    def build_struct(self, fields: Sequence[tuple[str, str]]) -> str:
        inner = ", ".join(f"{quote_double(name)} := {value}" for name, value in fields)
        return f"struct_pack({inner})"

    def map_array(self, value: str, var: str, body: str) -> str:
        return f"list_transform({value}, lambda {var}: {body})"

    def map_map(self, value: str, key: str, val: str, key_body: str, val_body: str) -> str:
        """A key that cannot be cast is NULL where casts are tried; no map holds it."""
        keys = f"list_transform(map_keys({value}), lambda {key}: {key_body})"
        values = f"list_transform(map_values({value}), lambda {val}: {val_body})"
        bad = f"list_contains(list_transform({keys}, lambda {key}: {key} IS NULL), TRUE)"
        return f"CASE WHEN {value} IS NULL OR {bad} THEN NULL ELSE map({keys}, {values}) END"

    def any_in_array(self, value: str, var: str, predicate: str) -> str:
        return f"COALESCE(len(list_filter({value}, lambda {var}: {predicate})) > 0, FALSE)"

    def any_in_map(self, value: str, key: str, val: str, predicate: str) -> str:
        """Exactly one of key and value is looked at; both lists are walked by the one that is used."""
        entry = f"e_{key}"
        inner = _entry_reading(predicate, key, val, entry)
        return (
            f"COALESCE(len(list_filter(map_entries({value}), lambda {entry}: {inner})) > 0, FALSE)"
        )

    def cast(self, value: str, old: Type | None, new: Type) -> str:
        old = old or self._known.get(value)
        if old is None:
            return f"CAST({value} AS {type_sql(new)})"
        plain = self._plain(value, old, new, trying=False)
        if promotion(old, new).verdict is Verdict.LOSSLESS:
            return plain
        lost = lossy_sql(value, old, new)
        words = f"a value of {type_text(old)} does not fit {type_text(new)}: "
        failure = f"error({literal(words)} || CAST({value} AS VARCHAR))"
        return f"CASE WHEN {lost} THEN {failure} ELSE {plain} END"

    def try_cast(self, value: str, old: Type | None, new: Type) -> str:
        old = old or self._known.get(value)
        if old is None:
            return try_sql(value, new)
        lost = lossy_sql(value, old, new)
        plain = self._plain(value, old, new, trying=True)
        return plain if lost == "FALSE" else f"CASE WHEN {lost} THEN NULL ELSE {plain} END"

    def lossy(self, value: str, old: Type, new: Type) -> str:
        return lossy_sql(value, old, new)

    def _plain(self, value: str, old: Type, new: Type, *, trying: bool) -> str:
        if bare(old) == bare(new):
            return value
        match old, new:
            case String(), Binary():
                return f"encode({value})"
            case Binary(), String():
                return f"TRY(decode({value}))" if trying else f"decode({value})"
            case _:
                return try_sql(value, new) if trying else f"CAST({value} AS {type_sql(new)})"


class UsingValues(DuckDBValues):
    """For ALTER … USING, which sees deleted rows: NULL where a proof stands guard, else a failure."""

    def try_cast(self, value: str, old: Type | None, new: Type) -> str:
        source = old or self._known.get(value)
        if source is not None and promotion(source, new).verdict is Verdict.LOSSLESS:
            return self.cast(value, old, new)
        return super().try_cast(value, old, new)


def _entry_reading(predicate: str, key: str, val: str, entry: str) -> str:
    """The predicate over an entry: its key and value under the names that the predicate uses."""
    parts = f"[struct_extract({entry}, 'key')]", f"[struct_extract({entry}, 'value')]"
    with_value = f"list_transform({parts[1]}, lambda {val}: {predicate})[1]"
    return f"list_transform({parts[0]}, lambda {key}: {with_value})[1]"
