"""Random names, types and tables for property tests."""

from __future__ import annotations

from types import MappingProxyType

from hypothesis import strategies as st

from instar.core.schema import Check, Table, TableName, Unique
from instar.core.types import (
    Array,
    Binary,
    Boolean,
    Column,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Json,
    Map,
    Opaque,
    String,
    Struct,
    Time,
    Timestamp,
    Type,
    Uuid,
    Variant,
    array,
    map_of,
)

odd = st.sampled_from(["NO", "on", "yes", "null", "true", "1", "a.b", "a b", "`", '"', "'", "#x", ": ", "ä", "{x}", "[", "-", "- a", "a,b", "select", "NOT", "&a", "*a", "!t", "%", "@", "🤑", "a\nb", "a\tb", "~", "key", "element", " lead", "x:"])  # fmt: skip
plain = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
anything = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), min_size=1, max_size=6
)
names = plain | odd | anything

scalars = st.one_of(
    st.sampled_from([Boolean(), Binary(), Date(), Time(), Uuid(), Json(), Variant(), String()]),
    st.builds(Integer, st.sampled_from([8, 16, 32, 64, 128]), st.booleans()),
    st.builds(Float, st.sampled_from([32, 64])),
    st.integers(1, 38).flatmap(lambda p: st.builds(Decimal, st.just(p), st.integers(0, p))),
    st.builds(String, st.integers(1, 9999), st.booleans()),
    st.builds(Timestamp, st.booleans(), st.integers(0, 9)),
    st.builds(Interval, st.sampled_from(["", "DAY", "DAY TO SECOND", "YEAR TO MONTH"])),
    st.sampled_from([Opaque("GEOMETRY"), Opaque("ENUM('a', 'b')"), Opaque("INTEGER[3]")]),
)


def unique_names(min_size: int = 0, max_size: int = 4) -> st.SearchStrategy[list[str]]:
    return st.lists(names, min_size=min_size, max_size=max_size, unique_by=str.casefold)


def _struct(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return unique_names().flatmap(
        lambda found: st.tuples(
            *(st.builds(Column, st.just(n), inner, st.booleans()) for n in found)
        ).map(Struct)
    )


types: st.SearchStrategy[Type] = st.recursive(
    scalars,
    lambda inner: st.one_of(_struct(inner), inner.map(array), st.builds(map_of, inner, inner)),
    max_leaves=8,
)

defaults = st.none() | st.sampled_from(["0", "-1.5", "true", "'open'", "current_date()", "1 + 2"])
comments = st.none() | st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\x00"), max_size=12
)


def _decorated(type_: Type) -> st.SearchStrategy[Type]:
    """The type with comments, defaults and nullability at every depth."""
    match type_:
        case Struct(fields):
            return st.tuples(*(_about(f) for f in fields)).map(Struct)
        case Array(element):
            return _about(element).map(Array)
        case Map(key, value):
            return st.builds(Map, _about(key), _about(value))
        case _:
            return st.just(type_)


def _about(column: Column) -> st.SearchStrategy[Column]:
    return st.builds(
        Column, st.just(column.name), _decorated(column.type), st.booleans(), defaults, comments
    )


native = st.sampled_from([Opaque("odd type(1, 'x')"), Opaque("Nullable(UInt8)")])


@st.composite
def tables(draw: st.DrawFn) -> Table:
    found = draw(unique_names(1, 5))
    columns = [draw(_about(Column(n, draw(types | native)))) for n in found]
    key = tuple(n for n in found if draw(st.booleans()))
    columns = [
        Column(c.name, c.type, c.nullable and c.name not in key, c.default, c.comment)
        for c in columns
    ]
    constraints = [Check(n, "1 = 1") for n in draw(unique_names(0, 2))]
    taken = {c.name.casefold() for c in constraints}
    extra = [n for n in draw(unique_names(0, 2)) if n.casefold() not in taken]
    return Table(
        name=TableName(draw(names), draw(names)),
        columns=tuple(columns),
        format=draw(st.sampled_from(["delta", "iceberg", "parquet"])),
        primary_key=key,
        constraints=(*constraints, *(Unique(n, (found[0],)) for n in extra)),
        cluster_by=tuple(found[:1]) if draw(st.booleans()) else (),
        partition_by=tuple(found[-1:]) if draw(st.booleans()) else (),
        properties=MappingProxyType(
            draw(st.dictionaries(names, st.text("aä:# '\"", max_size=5), max_size=2))
        ),
        change_tracking=draw(st.none() | st.booleans()),
        comment=draw(comments),
    )
