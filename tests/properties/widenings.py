"""Random tables, each of whose columns may get a wider type, and the values that must still be there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from core.strategies import columns
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import (
    Binary,
    Boolean,
    Column,
    Decimal,
    Float,
    Integer,
    Map,
    String,
    Struct,
    Type,
    Uuid,
    children,
    with_children,
)
from properties.cases import KEEP, Case, Row
from properties.conversions import bounds, convert, known
from properties.traits import Traits, injective, key_of, words_of
from properties.values import values


def widens(old: Type, new: Type) -> bool:
    """Whether the new type has room for every value of the old one, by arithmetic on their limits."""
    match old, new:
        case Integer(), Integer():
            return bounds(new)[0] <= bounds(old)[0] and bounds(old)[1] <= bounds(new)[1]
        case Integer(), Decimal(precision, scale):
            return max(map(abs, bounds(old))) < 10 ** (precision - scale)
        case Integer(), Float(bits):
            return max(map(abs, bounds(old))) <= 2 ** (24 if bits == 32 else 53)
        case Decimal(p, s), Decimal(precision, scale):
            return s <= scale and p - s <= precision - scale
        case Float(bits), Float(more):
            return bits <= more
        case String(length), String(more):
            return more is None or (length is not None and length <= more)
        case ((Boolean() | Integer() | Decimal() | Float() | Uuid()), String(None)):
            return True
        case (Boolean(), Integer()) | (String(), Binary()):
            return True
        case _:
            return False


@st.composite
def widenings(draw: st.DrawFn, traits: Traits) -> Case:
    """Nothing but wider types, at any depth: the plan may never be blocked."""
    pool = st.lists(traits.names, min_size=6, max_size=8, unique_by=traits.fold)
    names = draw(pool.map(lambda found: [n for n in found if traits.fold(n) != "id"]))
    words = words_of(traits, names, {})
    live = (traits.id, *draw(columns(traits.depth, words=words)))
    live = tuple(Column(c.name, c.type, c.nullable) for c in live)
    wish = (
        traits.id,
        *(Column(c.name, _wider(draw, traits, c.type), c.nullable) for c in live[1:]),
    )
    rows = tuple(_row(draw, n, live) for n in range(draw(st.integers(1, 4))))
    name = TableName("main", draw(traits.table_names))
    after = tuple(
        {w.name: _widened(row[c.name], c.type, w.type) for c, w in zip(live, wish, strict=True)}
        for row in rows
    )
    return Case(Table(name, live), rows, Wanted(Table(name, wish)), KEEP, wish, after, {})


def _wider(draw: st.DrawFn, traits: Traits, type_: Type) -> Type:
    inner = children(type_)
    if not inner:
        wider = [t for t in traits.scalars if widens(type_, t) and known(type_, t)]
        return draw(st.sampled_from([type_, *wider, *wider]))
    made = []
    for part in inner:
        if isinstance(type_, Map) and part is type_.key:
            keys = [t for t in traits.keys if injective(part.type, t)]
            now = draw(st.sampled_from([part.type, *keys]))
        else:
            now = _wider(draw, traits, part.type)
        made.append(replace(part, type=now))
    return with_children(type_, tuple(made))


def _row(draw: st.DrawFn, number: int, live: tuple[Column, ...]) -> Row:
    row: Row = {"id": number}
    for column in live[1:]:
        some = values(column.type)
        row[column.name] = draw(some if column.nullable else some.filter(lambda v: v is not None))
    return row


def _widened(value: Any, old: Type, new: Type) -> Any:
    if value is None:
        return None
    before, after = children(old), children(new)
    if isinstance(new, Struct):
        pairs = zip(before, after, strict=True)
        return {b.name: _widened(value[a.name], a.type, b.type) for a, b in pairs}
    if isinstance(new, Map):
        (ka, va), (kb, vb) = before, after
        return {
            key_of(k, ka.type, kb.type): _widened(v, va.type, vb.type) for k, v in value.items()
        }
    if after:
        return [_widened(v, before[0].type, after[0].type) for v in value]
    return convert(value, old, new)
