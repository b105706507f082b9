"""Random tables, and random ways from one to another whose outcome is known beforehand."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import (
    Array,
    Boolean,
    Column,
    Date,
    Decimal,
    Float,
    Integer,
    Map,
    Path,
    String,
    Struct,
    Timestamp,
    Type,
    children,
    with_children,
)

NAMES = ["a", "b", "c", "d", "e", "f", "g", "key", "a b", "x.y", "`q`", 'w"z', "ünï", "Order"]
SCALARS: list[Type] = [
    Boolean(),
    Integer(32),
    Integer(64),
    Float(64),
    Decimal(10, 2),
    String(),
    String(5),
    Date(),
    Timestamp(zone=False),
]
NAME = TableName("s", "t")
ALREADY_THERE = "never there"


def examples(few: int, times: int = 100) -> int:
    """How many examples a property is tried on; INSTAR_FUZZ asks for many times more."""
    return few * times if os.environ.get("INSTAR_FUZZ") else few


@st.composite
def _described(draw: st.DrawFn, name: str, type_: Type, path: Path) -> Column:
    del path
    return Column(
        name,
        type_,
        nullable=draw(st.booleans()),
        default=draw(st.sampled_from([None, None, "1", "'x'"])),
        comment=draw(st.sampled_from([None, None, "said", "told"])),
    )


def _any_other(type_: Type, key: bool) -> st.SearchStrategy[Type]:
    del key
    return types(1).filter(lambda t: type(t) is not type(type_))


@dataclass(frozen=True)
class Words:
    """What random tables are made of. A real engine brings its own; `depth` 0 has no nested types."""

    names: Sequence[str] = tuple(NAMES)
    scalars: Sequence[Type] = tuple(SCALARS)
    keys: Sequence[Type] = tuple(SCALARS)
    depth: int = 2
    described: Callable[[str, Type, Path], st.SearchStrategy[Column]] = _described
    retyped: Callable[[Type, bool], st.SearchStrategy[Type | None]] = _any_other
    """Another type for a column of that type, or None; True for the key of a map."""


ANY = Words()


def types(depth: int = 2, words: Words = ANY, parent: Path = ()) -> st.SearchStrategy[Type]:
    scalars = st.sampled_from(words.scalars)
    if depth == 0:
        return scalars
    inner = types(depth - 1, words, parent)
    return st.one_of(
        scalars,
        columns(depth - 1, words=words, parent=(*parent, "")).map(Struct),
        inner.map(lambda t: Array(Column("element", t))),
        st.tuples(st.sampled_from(words.keys), inner).map(
            lambda kv: Map(Column("key", kv[0], nullable=False), Column("value", kv[1]))
        ),
    )


@st.composite
def columns(
    draw: st.DrawFn, depth: int = 2, at_least: int = 1, words: Words = ANY, parent: Path = ()
) -> tuple[Column, ...]:
    chosen = st.lists(st.sampled_from(words.names), min_size=at_least, max_size=4, unique=True)
    return tuple(
        draw(words.described(name, draw(types(depth, words, parent)), (*parent, name)))
        for name in draw(chosen)
    )


def tables() -> st.SearchStrategy[Table]:
    return columns().map(lambda found: Table(NAME, found))


@dataclass
class Evolution:
    """`expected`: what the live table must become. `origin`: target path → live path, None for new."""

    live: Table
    wanted: Wanted
    expected: Table
    origin: dict[Path, Path | None]


@dataclass
class _Way:
    draw: st.DrawFn
    folding: bool
    retype: bool
    words: Words
    hints: dict[Path, Hint] = field(default_factory=dict)
    origin: dict[Path, Path | None] = field(default_factory=dict)


@st.composite
def evolutions(
    draw: st.DrawFn, *, folding: bool, retype: bool = True, words: Words = ANY
) -> Evolution:
    """A random live table, and a random wish with drops, adds, renames, swaps, moves and new types."""
    live = Table(NAME, draw(columns(words.depth, words=words)))
    way = _Way(draw, folding, retype, words)
    wanted, expected = _level(way, live.columns, (), (), ())
    return Evolution(
        live,
        Wanted(Table(NAME, wanted), way.hints),
        Table(NAME, expected),
        way.origin,
    )


Pair = tuple[Column, Column]
"""A column as it is wanted (its spelling may differ) and as it must become."""


def _level(
    way: _Way, live: tuple[Column, ...], old: Path, wish: Path, target: Path
) -> tuple[tuple[Column, ...], tuple[Column, ...]]:
    draw = way.draw
    kept = draw(st.lists(st.sampled_from(live), min_size=1, unique=True))
    names = _new_names(way, [c.name for c in live], [c.name for c in kept])
    pairs = [_kept(way, column, names[column.name], old, wish, target) for column in kept]
    vacated = set(names) - set(names.values())
    words = way.words
    fresh = [n for n in words.names if n not in names.values() and n not in {c.name for c in live}]
    for name in draw(
        st.lists(st.sampled_from([*fresh, *sorted(vacated)]), max_size=2, unique=True)
    ):
        depth = min(words.depth, 1)
        column = draw(words.described(name, draw(types(depth, words, target)), (*target, name)))
        way.origin[(*target, name)] = None
        pairs.append((column, column))
    pairs = draw(st.permutations(pairs))
    return tuple(w for w, _ in pairs), tuple(e for _, e in pairs)


def _new_names(way: _Way, live: list[str], kept: list[str]) -> dict[str, str]:
    """Old name → new name: kept, fresh, or taken from another kept column (chains and rings)."""
    movers = way.draw(st.lists(st.sampled_from(kept), unique=True))
    fresh = [n for n in way.words.names if n not in live]
    pool = way.draw(st.permutations([*movers, *fresh[:2]]))
    return {name: name for name in kept} | dict(zip(movers, pool, strict=False))


def _kept(way: _Way, column: Column, name: str, old: Path, wish: Path, target: Path) -> Pair:
    draw = way.draw
    spelled = name
    if name != column.name:
        way.hints[(*wish, name)] = Hint(renamed_from=column.name)
    elif way.folding and draw(st.booleans()):
        # Not every engine folds letters beyond ASCII.
        spelled = name.swapcase() if name.isascii() else name
        if spelled != name and spelled.casefold() == name.casefold() and draw(st.booleans()):
            way.hints[(*wish, spelled)] = Hint(renamed_from=name)
            name = spelled
        elif spelled.casefold() != name.casefold():
            spelled = name
    elif draw(st.booleans()):
        way.hints[(*wish, name)] = Hint(renamed_from=ALREADY_THERE)
    way.origin[(*target, name)] = (*old, column.name)
    paths = (*old, column.name), (*wish, spelled), (*target, name)
    wanted_type, expected_type = _type(way, column.type, *paths)
    said = draw(way.words.described(spelled, wanted_type, paths[1]))
    comment = column.comment if said.comment is None else said.comment or None
    expected = Column(name, expected_type, said.nullable, said.default, comment)
    return said, expected


def _type(
    way: _Way, type_: Type, old: Path, wish: Path, target: Path, key: bool = False
) -> tuple[Type, Type]:
    if way.retype and way.draw(st.integers(0, 3)) == 0:
        other = way.draw(way.words.retyped(type_, key))
        if other is not None:
            return other, other
    if isinstance(type_, Struct):
        wanted, expected = _level(way, type_.fields, old, wish, target)
        return Struct(wanted), Struct(expected)
    parts = [_part(way, type_, child, old, wish, target) for child in children(type_)]
    return (
        with_children(type_, tuple(w for w, _ in parts)),
        with_children(type_, tuple(e for _, e in parts)),
    )


def _part(way: _Way, holder: Type, part: Column, old: Path, wish: Path, target: Path) -> Pair:
    way.origin[(*target, part.name)] = (*old, part.name)
    wanted, expected = _type(
        way,
        part.type,
        (*old, part.name),
        (*wish, part.name),
        (*target, part.name),
        key=isinstance(holder, Map) and part is holder.key,
    )
    said = Column(part.name, wanted, part.nullable)
    return said, Column(part.name, expected, part.nullable, part.default, part.comment)
