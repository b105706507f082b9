"""Live rows into target rows: a projection carried out on Python values, and kept as text in a step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from instar.backends.memory.convert import Lossy, convert
from instar.backends.memory.expressions import Failed, evaluate
from instar.core.projection import (
    ArrayCarry,
    Carry,
    Converted,
    FieldCarry,
    FromExpression,
    FromOld,
    MapCarry,
    Nothing,
    Projection,
    Same,
    Source,
    StructCarry,
)
from instar.core.types import (
    Array,
    Column,
    Map,
    Struct,
    Type,
    children,
    with_children,
    without_identity,
)

Row = Mapping[str, Any]


def project_row(projection: Projection, row: Row, *, trying: bool = False) -> dict[str, Any]:
    """The row as it will be. `trying`: what cannot be had is NULL instead of an error."""
    return _fields(projection, row, row, trying)


def _fields(fields: Projection, value: Row, row: Row, trying: bool) -> dict[str, Any]:
    return {f.column.name: _source(f, value, row, trying) for f in fields}


def _source(field: FieldCarry, value: Row, row: Row, trying: bool) -> Any:
    match field.source:
        case FromExpression(sql):
            return expression_value(sql, field.column.type, row, trying)
        case Nothing():
            return None
        case FromOld(name, carry, fill):
            found = _carried(value[name], carry, row, trying)
            if found is None and fill is not None:
                return expression_value(fill, field.column.type, row, trying)
            return found
        case _:
            assert_never(field.source)


def expression_value(sql: str, type_: Type, row: Row, trying: bool = False) -> Any:
    """An expression's value as a value of the type."""
    try:
        value = evaluate(sql, row)
        return value if children(type_) else convert(value, type_)
    except (Failed, Lossy):
        if trying:
            return None
        raise


def _carried(value: Any, carry: Carry, row: Row, trying: bool) -> Any:
    if value is None:
        return None
    match carry:
        case Same():
            return value
        case Converted(old, new):
            return _converted(value, old, new, trying)
        case StructCarry(fields):
            return _fields(fields, value, row, trying)
        case ArrayCarry(element):
            return [_carried(v, element, row, trying) for v in value]
        case MapCarry(key, inner):
            built = {
                _carried(k, key, row, trying): _carried(v, inner, row, trying)
                for k, v in value.items()
            }
            if len(built) != len(value) and not trying:
                raise Lossy("two keys become one")
            return built
        case _:
            assert_never(carry)


def _converted(value: Any, old: Type, new: Type, trying: bool) -> Any:
    try:
        return convert(value, new, old)
    except Lossy:
        if trying:
            return None
        raise


def values_at(value: Any, type_: Type, rest: Sequence[str]) -> list[Any]:
    """Every value at a path below `value`; nothing where a parent is NULL."""
    if not rest:
        return [value]
    if value is None:
        return []
    match type_:
        case Struct(fields):
            field = next(f for f in fields if f.name == rest[0])
            return values_at(value[field.name], field.type, rest[1:])
        case Array(element):
            return [x for v in value for x in values_at(v, element.type, rest[1:])]
        case Map(key, inner):
            of_keys = rest[0] == key.name
            part, parts = (key, value.keys()) if of_keys else (inner, value.values())
            return [x for v in parts for x in values_at(v, part.type, rest[1:])]
        case _:
            raise AssertionError(f"{rest} does not lead into {type_}")


def with_identities(
    live: Sequence[Column], target: Sequence[Column], projection: Projection
) -> tuple[Column, ...]:
    """The target's columns with the identities of the live ones that they come from; new ones have none."""
    old = {c.name: c for c in live}
    return tuple(
        _identified(column, old, field.source)
        for column, field in zip(target, projection, strict=True)
    )


def _identified(column: Column, live: Mapping[str, Column], source: Source) -> Column:
    if not isinstance(source, FromOld):
        return without_identity(column)
    old = live[source.name]
    return replace(_inner(column, old, source.carry), identity=old.identity)


def _inner(column: Column, old: Column, carry: Carry) -> Column:
    match carry, old.type, column.type:
        case Same(), _, _:
            pairs = zip(children(column.type), children(old.type), strict=False)
            inner = tuple(replace(_inner(c, o, Same()), identity=o.identity) for c, o in pairs)
        case StructCarry(fields), Struct(a), Struct(b):
            inner = with_identities(a, b, fields)
        case ArrayCarry(element), Array(a), Array(b):
            inner = (replace(_inner(b, a, element), identity=a.identity),)
        case MapCarry(key, value), Map(k1, v1), Map(k2, v2):
            inner = (
                replace(_inner(k2, k1, key), identity=k1.identity),
                replace(_inner(v2, v1, value), identity=v1.identity),
            )
        case _:
            inner = ()
    return replace(column, type=with_children(column.type, inner)) if inner else column


# --- a projection as text: names only, the types are those of the two tables -------------------------


def to_text(projection: Projection) -> str:
    return json.dumps([_field_data(f) for f in projection])


def _field_data(field: FieldCarry) -> dict[str, Any]:
    match field.source:
        case FromExpression(sql):
            return {"sql": sql}
        case Nothing():
            return {}
        case FromOld(name, carry, fill):
            return {"from": name, "carry": _carry_data(carry), "fill": fill}
        case _:
            assert_never(field.source)


def _carry_data(carry: Carry) -> Any:
    match carry:
        case Same():
            return "same"
        case Converted():
            return "cast"
        case StructCarry(fields):
            return [_field_data(f) for f in fields]
        case ArrayCarry(element):
            return {"element": _carry_data(element)}
        case MapCarry(key, value):
            return {"key": _carry_data(key), "value": _carry_data(value)}
        case _:
            assert_never(carry)


def from_text(text: str, live: Sequence[Column], target: Sequence[Column]) -> Projection:
    return _projection(json.loads(text), live, target)


def _projection(
    data: Sequence[Mapping[str, Any]], live: Sequence[Column], target: Sequence[Column]
) -> Projection:
    old = {c.name: c for c in live}
    return tuple(
        FieldCarry(column, _source_of(item, old, column))
        for item, column in zip(data, target, strict=True)
    )


def _source_of(item: Mapping[str, Any], live: Mapping[str, Column], column: Column) -> Source:
    if "sql" in item:
        return FromExpression(item["sql"])
    if "from" not in item:
        return Nothing()
    carry = _carry_of(item["carry"], live[item["from"]].type, column.type)
    return FromOld(item["from"], carry, item["fill"])


def _carry_of(data: Any, old: Type, new: Type) -> Carry:
    match data, old, new:
        case "same", _, _:
            return Same()
        case "cast", _, _:
            return Converted(old, new)
        case list(), Struct(live), Struct(target):
            return StructCarry(_projection(data, live, target))
        case {"element": inner}, Array(a), Array(b):
            return ArrayCarry(_carry_of(inner, a.type, b.type))
        case {"key": key, "value": value}, Map(k1, v1), Map(k2, v2):
            return MapCarry(_carry_of(key, k1.type, k2.type), _carry_of(value, v1.type, v2.type))
        case _:
            raise AssertionError(f"{data} does not lead from {old} to {new}")
