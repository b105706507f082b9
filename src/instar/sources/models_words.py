"""The words of a query: its text without layout, and the functions that it calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from instar.dialects import reading

SAMPLE = "tablesample"
"""Stands among the calls of a query that takes some of the rows by chance."""

BARE = frozenset(
    (
        "current_date",
        "current_time",
        "current_timestamp",
        "current_localtime",
        "current_localtimestamp",
        "localtime",
        "localtimestamp",
        "current_user",
        "session_user",
    )
)
"""Functions that are called without parentheses."""

_CALLS = re.compile(rf"\(|sample|{'|'.join(sorted(BARE))}", re.IGNORECASE)
"""A text without any of these calls nothing."""
_ODD = re.compile(r"[$\\]|/\*")
"""Where a string may end elsewhere than at its quote, or a comment hold another: only tokens tell."""
_PLAIN = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`)|(?:--[^\n]*|\s+)+""")
_BLANK = re.compile(r"(?:--[^\n]*|/\*.*?\*/|\s+)*", re.DOTALL)
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def tokens(text: str, dialect: str) -> list[Any]:
    """What the dialect reads in a text; nothing where it cannot be read."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        return list(sqlglot.tokenize(text, read=reading(dialect)))
    except SqlglotError:
        return []


def squeezed(text: str, dialect: str) -> str:
    """The text without what does not matter: comments and layout, but not those inside a string."""
    if not _ODD.search(text):
        told = _PLAIN.sub(lambda m: m[1] if m[1] is not None else " ", text)
        return told.strip().rstrip("; ")
    return _by_tokens(text, tokens(text, dialect)).strip().rstrip("; ")


def _by_tokens(text: str, found: list[Any]) -> str:
    told: list[str] = []
    end = 0
    for token in found:
        between = text[end : token.start]
        blank = _BLANK.fullmatch(between)
        told.append(" " if between and blank else between)
        told.append(text[token.start : token.end + 1])
        end = token.end + 1
    return "".join(told)


def calls(text: str, dialect: str) -> frozenset[tuple[str, int]]:
    """The functions that a query calls, each with the number of its arguments."""
    return frozenset(_calls(text, tokens(text, dialect)) if _CALLS.search(text) else ())


def _calls(text: str, found: list[Any]) -> Iterator[tuple[str, int]]:
    words = [text[t.start : t.end + 1] for t in found]
    for place, word in enumerate(words):
        name = word.strip('"`').casefold()
        before = words[place - 1].casefold() if place else ""
        if place + 1 < len(words) and words[place + 1] == "(":
            count = _arguments(words, place + 1)
            yield name, count
            if before == ".":
                # DuckDB's `value.function()`: what stands before the dot is an argument too.
                yield name, count + 1
        elif word.casefold() in BARE and before != ".":
            yield name, 0
        if name == SAMPLE or (name == "sample" and before == "using"):
            yield SAMPLE, 0


def _arguments(words: list[str], opening: int) -> int:
    depth, commas = 0, 0
    for place in range(opening, len(words)):
        word = words[place]
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth == 0:
            return 0 if place == opening + 1 else commas + 1
        commas += word == "," and depth == 1
    return commas + 1
