"""What random tables of an engine are made of: its types, names, quoting, and what it keeps of a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from core.strategies import Words
from instar.core.types import Column, Integer, Path, String, Type, children
from properties.conversions import IMPOSSIBLE, convert, known
from properties.values import scalars, text

PLAIN_NAMES = (
    "a",
    "Order",
    "select",
    "NULL",
    "struct",
    "map",
    "left",
    "not",
    "interval",
    "1a",
    "_x",
)


@dataclass(frozen=True)
class Traits:
    """What random tables of an engine may have."""

    quote: Callable[[str], str]
    literal: Callable[[Any, Type], str]
    """A value as one SQL expression of that type."""
    names: st.SearchStrategy[str]
    scalars: tuple[Type, ...]
    keys: tuple[Type, ...] = (Integer(32), String())
    fold: Callable[[str], str] = str.casefold
    table_names: st.SearchStrategy[str] = field(default_factory=lambda: st.just("t"))
    depth: int = 2
    required: bool = True
    defaults: bool = True
    field_comments: bool = True
    constraints: bool = True
    respelled: bool = True
    """A name may be wished in another case than the live one."""

    @property
    def id(self) -> Column:
        """The first column of every table: each row's own number."""
        return Column("id", Integer(32), nullable=not self.required)


def with_limits(traits: Traits) -> Traits:
    """With limited text at every depth, under names that Spark can read back beside it."""
    plain = st.sampled_from(PLAIN_NAMES) | st.from_regex(r"[a-z_][a-z0-9_]{0,3}", fullmatch=True)
    return replace(traits, names=plain, scalars=(*traits.scalars, String(3), String(8)))


def words_of(traits: Traits, names: Sequence[str], said: dict[str, Any]) -> Words:
    """`said` learns which value each default in SQL stands for."""

    @st.composite
    def described(draw: st.DrawFn, name: str, type_: Type, path: Path) -> Column:
        top = len(path) == 1
        comment = None
        if top or traits.field_comments:
            comment = draw(st.none() | st.none() | text(20).filter(bool))
        default = None
        if top and traits.defaults and isinstance(type_, Integer | String):
            value = draw(st.none() | st.none() | scalars(type_))
            if value is not None:
                default = traits.literal(value, type_)
                said[default] = value
        required = top and traits.required and draw(st.integers(0, 2)) == 0
        return Column(name, type_, nullable=not required, default=default, comment=comment)

    def retyped(type_: Type, key: bool) -> st.SearchStrategy[Type | None]:
        if key:
            # Other keys may become one, which is a question of its own.
            return st.sampled_from([None, *(t for t in traits.keys if injective(type_, t))])
        if children(type_):
            return st.sampled_from([None] * 9 + [traits.scalars[0]])
        likely = [t for t in traits.scalars if known(type_, t) and t != type_]
        never = [t for t in traits.scalars if (type(type_), type(t)) in IMPOSSIBLE]
        chances = [st.sampled_from(likely)] * 9 if likely else [st.none()]
        return st.one_of(*chances, *([st.sampled_from(never)] if never else []))

    return Words(tuple(names), traits.scalars, traits.keys, traits.depth, described, retyped)


def injective(old: Type, new: Type) -> bool:
    match old, new:
        case Integer(bits), Integer(wider):
            return bits <= wider
        case Integer(), String(None):
            return True
        case _:
            return False


def key_of(key: Any, old: Type, new: Type) -> Any:
    """A number that became text is text as a key, where engines spell it alike."""
    return (
        str(key) if isinstance(old, Integer) and isinstance(new, String) else convert(key, old, new)
    )
