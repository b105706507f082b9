"""A checksum of rows, made inside the engine: each row's hash, summed up, so that their order does not count.

A value's text is hashed with what was hashed before it as the seed, so that a row's hash tells every value and
its place. Text tells 1.0 from 1.00 and -0 from 0; an integer is told by itself and goes into the seed. One text of
the whole row costs twice as much, but types that are not known here need it: their cast to text may be anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from instar.backends.sql import literal, quote_double
from instar.core.types import Column, Integer, Opaque, String, Type

Compared = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Integers, columns that are hashed by their text, and those that are hashed together as one."""

_DEEPEST = 64
"""Calls within calls: the engine's stack has an end, and a table may have 1,600 columns."""
_NO_TEXT, _NO_NUMBER = "NULL 0c9e5f0d2b8e4f61a7d3", "7305419286417093565"
"""Hashed where there is no value; nothing that anybody would keep."""


def compared(columns: Iterable[Column]) -> Compared:
    numbers: list[str] = []
    texts: list[str] = []
    rest: list[str] = []
    for column in columns:
        place = _place(column.type, numbers, texts, rest)
        (place if len(place) < _DEEPEST else rest).append(column.name)
    return tuple(numbers), tuple(texts), tuple(rest)


def _place(type_: Type, numbers: list[str], texts: list[str], rest: list[str]) -> list[str]:
    """A cast to text gives the whole value; that of character(n) takes spaces away."""
    match type_:
        case Integer():
            return numbers
        case Opaque() | String(_, True):
            return rest
        case _:
            return texts


def content(columns: Compared, source: str) -> str:
    """Rows and their checksum."""
    return f"SELECT count(*), COALESCE(sum({row_hash(columns)}), 0) FROM {source}"


def row_hash(columns: Compared) -> str:
    """At most one integer goes into a seed: two of them could change places."""
    numbers, texts, rest = columns
    parts = [f"COALESCE(CAST({quote_double(c)} AS text), {literal(_NO_TEXT)})" for c in texts]
    if rest or not (numbers or texts):
        parts.append(_row(rest))
    seed = ""
    for text, number in zip_longest(parts, numbers):
        given = f"COALESCE({quote_double(number)}, {_NO_NUMBER})" if number is not None else ""
        seed = _hash(text or "''", " # ".join(s for s in (seed, given) if s) or "0")
    return seed


def _row(names: Sequence[str]) -> str:
    return f"CAST(ROW({', '.join(map(quote_double, names))}) AS text)"


def _hash(text: str, seed: str) -> str:
    return f'hashtextextended({text} COLLATE "C", {seed})'
