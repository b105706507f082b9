"""The text of an index as the catalog gives it, with columns under new names.

A word may be a column, a type, an operator class or a function: the text is taken apart by its own grammar
(elements, INCLUDE, WHERE), and a parser tells the columns of expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from instar.backends.postgres.spelling import spelled
from instar.backends.sql import closing, quote_double
from instar.expressions import BadExpression

_NAME = r'(?:"(?:[^"]|"")*"|[^\s".(,]+)'
_INDEX = re.compile(
    rf"CREATE (?:UNIQUE )?INDEX {_NAME} ON (?:ONLY )?{_NAME}\.{_NAME} (USING .*)$", re.DOTALL
)
_HEAD = re.compile(rf"{_NAME}(?:\.{_NAME})?(\()?")
_WORD = re.compile(rf"""'(?:[^']|'')*'|::{_NAME}|"(?:[^"]|"")*"|(?<![\w$])[^\W\d]\w*(?!\w*\s*\()""")
_WHERE = re.compile(r" WHERE (?=\()")


def index_body(definition: str, names: tuple[str, ...], renames: Mapping[str, str]) -> str:
    """What follows the table's name: `USING method (elements) …`."""
    found = _INDEX.match(definition)
    assert found is not None, definition
    text = found[1]
    if not renames:
        return text
    work = _Renaming(names, renames)
    opened = text.index("(")
    closed = closing(text, opened)
    elements = ", ".join(work.element(e) for e in _listed(text[opened + 1 : closed]))
    return f"{text[:opened]}({elements}){work.rest(text[closed + 1 :])}"


def index_parts(body: str) -> tuple[tuple[str, ...], str]:
    """The expressions that such a text sorts by, bare of collation, class and order; and its condition."""
    opened = body.index("(")
    closed = closing(body, opened)
    where = _WHERE.search(body, closed)
    elements = tuple(_sorted_by(e) for e in _listed(body[opened + 1 : closed]))
    return elements, body[where.end() :] if where else ""


def _sorted_by(element: str) -> str:
    if element.startswith("("):
        return element[: closing(element) + 1]
    head = _HEAD.match(element)
    assert head is not None, element
    return element[: closing(element, head.start(1)) + 1] if head[1] else head[0]


class _Renaming:
    def __init__(self, names: tuple[str, ...], renames: Mapping[str, str]) -> None:
        self._names = names
        self._renames = renames

    def element(self, text: str) -> str:
        """A column, a call or a bracketed expression; what follows it (collation, class, order) stays."""
        if text.startswith("("):
            end = closing(text) + 1
            return f"({self._expression(text[:end])}){text[end:]}"
        head = _HEAD.match(text)
        assert head is not None, text
        if head[1]:
            end = closing(text, head.start(1)) + 1
            return f"({self._expression(text[:end])}){text[end:]}"
        return self._column(head[0]) + text[head.end() :]

    def rest(self, text: str) -> str:
        """Columns that are carried along, and the condition."""
        if text.startswith(" INCLUDE ("):
            opened = text.index("(")
            closed = closing(text, opened)
            columns = ", ".join(self._column(c) for c in _listed(text[opened + 1 : closed]))
            text = f" INCLUDE ({columns}){text[closed + 1 :]}"
        where = _WHERE.search(text)
        if where is None:
            return text
        return f"{text[: where.end()]}({self._expression(text[where.end() :])})"

    def _column(self, word: str) -> str:
        name = _bare(word)
        return quote_double(self._renames.get(name, name))

    def _expression(self, text: str) -> str:
        try:
            return spelled(text, self._names, self._renames).text
        except BadExpression:
            # Beyond the parser: words that are neither types nor functions; the copy is tried empty.
            return _WORD.sub(lambda m: self._word(m[0]), text)

    def _word(self, word: str) -> str:
        return self._column(word) if _bare(word) in self._renames else word


def _bare(word: str) -> str:
    return word[1:-1].replace('""', '"') if word.startswith('"') else word


def _listed(text: str) -> Iterator[str]:
    """The parts between the commas that no bracket or quote encloses."""
    depth, quote, since = 0, "", 0
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[since:place].strip()
            since = place + 1
    yield text[since:].strip()
