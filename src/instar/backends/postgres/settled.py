"""PostgreSQL's text of an expression, as PostgreSQL itself would write it had it read that text.

It is not always the same: `v IN ('x', 'y')` over varchar is reported as `(ARRAY['x'::character varying, …])::text[]`,
and that text, sent again, as `ARRAY[('x'::character varying)::text, …]`. A cast of a list of elements is the only
such case; all texts are compared, and sent, in the form that stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LIST = re.compile(r"\(ARRAY\[")
_CAST = re.compile(r"\]\)::([a-z][a-z ]*)\[\]")
_PART = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.", re.DOTALL)


def settled(text: str) -> str:
    """Casts of lists become casts of their elements."""
    if "(ARRAY[" not in text:
        return text
    made, place = "", 0
    while place < len(text):
        found = _cast_list(text, place)
        if found is not None:
            elements, type_, place = found
            casts = ", ".join(f"({settled(e)})::{type_}" for e in elements)
            made += f"ARRAY[{casts}]"
            continue
        part = _PART.match(text, place)
        assert part is not None
        made, place = made + part[0], part.end()
    return made


def _cast_list(text: str, place: int) -> tuple[list[str], str, int] | None:
    """The elements of the list that begins here, the type that it is cast to, and where that ends."""
    begin = _LIST.match(text, place)
    if begin is None:
        return None
    *elements, end = _elements(text, begin.end())
    cast = _CAST.match(text, int(end))
    inner = [str(e) for e in elements]
    if cast is None or any(e.startswith(("ARRAY[", "(ARRAY[")) for e in inner):
        # A list of lists: its cast stays where it is.
        return None
    return inner, cast[1], cast.end()


def _elements(text: str, place: int) -> Iterator[str | int]:
    """The elements up to the bracket that closes the list, then the place of that bracket."""
    depth, begun = 0, place
    while place < len(text):
        part = _PART.match(text, place)
        assert part is not None
        word = part[0]
        if (word == "]" and depth == 0) or (word == "," and depth == 0):
            yield text[begun:place].strip()
            begun = part.end()
        if word == "]" and depth == 0:
            yield place
            return
        depth += (word in ("(", "[")) - (word in (")", "]"))
        place = part.end()
    yield place
