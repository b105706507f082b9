"""SQL type text of both families, read into one type whatever the environment.

One manifest must mean one thing everywhere, so a word that engines disagree about has Spark's meaning:

- `TIMESTAMP` is an instant (with time zone); `TIMESTAMP_NTZ`, `DATETIME` and `TIMESTAMP WITHOUT TIME
  ZONE` are wall-clock readings. DuckDB and PostgreSQL call the latter TIMESTAMP: write TIMESTAMP_NTZ.
- `FLOAT` has 32 bits; `DOUBLE`, `FLOAT8` and `FLOAT(53)` have 64.
- `DECIMAL` and `NUMERIC` alone are DECIMAL(10, 0); `NUMBER` alone is Snowflake's NUMBER(38, 0).
- `INT8` counts bytes (64 bits), `INT64` and `INT16` count bits; `UINT8` counts bits.

`NATIVE('…')` keeps a type that only the engine knows as its own text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from instar.core.types import (
    ELEMENT,
    KEY,
    VALUE,
    Array,
    Column,
    Interval,
    Map,
    Opaque,
    Struct,
    Time,
    Timestamp,
    Type,
)
from instar.errors import ProjectError
from instar.sources import typewords as words

MAX_DEPTH = 150

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<name>`(?:[^`]|``)*`|"(?:[^"]|"")*")
      | (?P<string>'(?:[^']|'')*')
      | (?P<number>\d+(?!\w))
      | (?P<word>[^\W\d][\w$]*)
      | (?P<mark>[<>(),:\[\]])
      | (?P<end>\Z)
      | (?P<other>.)
    )""",
    re.VERBOSE | re.DOTALL,
)

Token = tuple[str, str, int, int]
"""(kind, text, start, end)"""

_CLOSING = {"<": ">", "(": ")"}


class TypeTextError(ProjectError):
    """Type text that cannot be read; `position` counts characters from 0."""

    def __init__(self, code: str, message: str, position: int, hint: str | None = None) -> None:
        super().__init__(code, message, hint=hint)
        self.position = position


@lru_cache(maxsize=65536)
def parse_type(text: str) -> Type:
    """The type that a SQL type text means."""
    reader = _Reader(text)
    type_ = reader.type()
    kind, found, start, _ = reader.token
    if kind != "end":
        raise reader.error(f"'{found}' is left over after the type", start)
    return type_


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = [
            (str(m.lastgroup), m.group(m.lastgroup or 0), m.start(m.lastgroup or 0), m.end())
            for m in _TOKEN.finditer(text)
        ]
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    def error(self, message: str, position: int, hint: str | None = None) -> TypeTextError:
        shown = f"type '{self.text}', at character {position + 1}: {message}"
        return TypeTextError("E120", shown, position, hint)

    def take(self, mark: str) -> bool:
        kind, text, _, _ = self.token
        if kind == "mark" and text == mark:
            self.at += 1
            return True
        return False

    def need(self, mark: str, other: str = "") -> None:
        """Take a mark; `other` is what might have stood here too, for the message."""
        if not self.take(mark):
            _, text, start, _ = self.token
            found = f"'{text}'" if text else "the end"
            wish = f"'{mark}' or '{other}'" if other else f"'{mark}'"
            raise self.error(f"{wish} is expected, {found} was found", start)

    def take_words(self, *wanted: str) -> bool:
        """The next tokens are these words, taken together or not at all."""
        got = self.tokens[self.at : self.at + len(wanted)]
        if [t[1].upper() for t in got if t[0] == "word"] != list(wanted):
            return False
        self.at += len(wanted)
        return True

    def type(self) -> Type:
        begin = self.token[2]
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH} levels", begin)
        type_ = self.base()
        while self.take("["):
            if self.token[0] == "number":
                self.at += 1
                self.need("]")
                type_ = Opaque(self.slice(begin))
            else:
                self.need("]")
                type_ = Array(Column(ELEMENT, type_))
        self.depth -= 1
        return type_

    def slice(self, begin: int) -> str:
        """The text from a position up to what was read last."""
        return self.text[begin : self.tokens[self.at - 1][3]]

    def base(self) -> Type:
        kind, text, start, _ = self.token
        if kind != "word":
            found = f"'{text}'" if text else "the end"
            raise self.error(f"a type is expected, {found} was found", start)
        word = self.word()
        if word in words.SIMPLE:
            return self.simple(word, start)
        if word in words.WITH_NUMBERS:
            return self.with_numbers(word, start)
        if word in words.ENGINE_OWN:
            self.skip_group()
            return Opaque(self.slice(start))
        match word:
            case "INTERVAL":
                return self.interval()
            case words.NATIVE:
                return self.native()
            case _ if word in words.STRUCTS:
                return self.struct(word, start)
            case _ if word in words.ARRAYS:
                return self.array(word, start)
            case _ if word in words.MAPS:
                return self.map()
            case _:
                raise self.unknown(text, start)

    def word(self) -> str:
        """The next word; several that mean one type are taken together."""
        for phrase, meaning in words.PHRASES.items():
            if self.take_words(*phrase):
                return meaning
        word = self.token[1].upper()
        self.at += 1
        return word

    def unknown(self, text: str, start: int) -> TypeTextError:
        near = difflib.get_close_matches(text.upper(), words.ALL_WORDS, n=1)
        hint = f"Did you mean {near[0]}?" if near else "NATIVE('…') passes a type to the engine."
        shown = f"'{text}' is not a type that Instar knows"
        return TypeTextError("E121", shown, start, hint)

    def simple(self, word: str, start: int) -> Type:
        if self.token[:2] == ("mark", "("):
            raise self.error(f"{word} takes nothing in parentheses", start)
        return words.SIMPLE[word]

    def with_numbers(self, word: str, start: int) -> Type:
        try:
            type_ = words.WITH_NUMBERS[word](self.numbers())
        except words.BadNumbers as bad:
            raise self.error(f"{word} {bad}", start) from None
        if isinstance(type_, Timestamp | Time):
            return self.zoned(type_, start)
        return type_

    def numbers(self) -> tuple[int, ...]:
        if not self.take("("):
            return ()
        if self.take_words("MAX"):
            self.need(")")
            return ()
        found: list[int] = []
        while not found or self.take(","):
            kind, text, start, _ = self.token
            if kind != "number":
                raise self.error("a number is expected", start)
            found.append(int(text))
            self.at += 1
        self.need(")")
        return tuple(found)

    def zoned(self, type_: Timestamp | Time, start: int) -> Type:
        for phrase, zone in words.ZONE_PHRASES.items():
            if self.take_words(*phrase):
                if isinstance(type_, Timestamp):
                    return replace(type_, zone=zone)
                return Opaque(self.slice(start)) if zone else type_
        return type_

    def interval(self) -> Type:
        units: list[str] = []
        while not units or self.take_words("TO"):
            unit = next((u for u in words.INTERVAL_UNITS if self.take_words(u)), None)
            if unit is None and units:
                raise self.error("a unit such as SECOND is expected after TO", self.token[2])
            if unit is None or len(units) == 1:
                units += [unit] if unit else []
                break
            units.append(unit)
        return Interval(" TO ".join(units))

    def native(self) -> Type:
        self.need("(")
        kind, text, start, _ = self.token
        if kind != "string":
            raise self.error("NATIVE takes the engine's type in single quotes", start)
        self.at += 1
        self.need(")")
        return Opaque(_unquoted(text))

    def skip_group(self) -> None:
        """Whatever stands in one pair of parentheses."""
        if not self.take("("):
            return
        open_ = 1
        while open_:
            kind, text, start, _ = self.token
            if kind == "end":
                raise self.error("')' is expected, the end was found", start)
            open_ += {"(": 1, ")": -1}.get(text, 0) if kind == "mark" else 0
            self.at += 1

    def opening(self) -> str | None:
        """The mark that closes the group that begins here, if one does."""
        return next((close for mark, close in _CLOSING.items() if self.take(mark)), None)

    def struct(self, word: str, start: int) -> Type:
        close = self.opening()
        if close is None and word == "OBJECT":
            return Opaque(self.slice(start))
        if close is None:
            raise self.error(f"{word} needs its fields: {word}<name TYPE, …>", start)
        fields: dict[str, Column] = {}
        while not self.take(close):
            if fields:
                self.need(",", close)
            self.field(fields)
        return Struct(tuple(fields.values()))

    def field(self, fields: dict[str, Column]) -> None:
        kind, text, start, _ = self.token
        if kind not in ("word", "name"):
            hint = "Put a name that is not a plain word into backticks."
            raise self.error("a field name is expected", start, hint)
        self.at += 1
        name = _unquoted(text) if kind == "name" else text
        if name.casefold() in fields:
            raise self.error(f"the field '{name}' stands twice", start)
        self.take(":")
        fields[name.casefold()] = self.part(name)

    def part(self, name: str) -> Column:
        """A type with what may follow it inside another type."""
        column = Column(name, self.type())
        while True:
            if self.take_words("NOT", "NULL"):
                column = replace(column, nullable=False)
            elif self.take_words("COMMENT"):
                kind, text, start, _ = self.token
                if kind != "string":
                    raise self.error("COMMENT takes a text in single quotes", start)
                self.at += 1
                column = replace(column, comment=_unquoted(text))
            elif not self.take_words("NULL"):
                return column

    def array(self, word: str, start: int) -> Type:
        close = self.opening()
        if close is None and word == "ARRAY":
            return words.UNTYPED_ARRAY
        if close is None:
            raise self.error(f"{word} needs the type of its elements: {word}<TYPE>", start)
        element = self.part(ELEMENT)
        self.need(close)
        return Array(element)

    def map(self) -> Type:
        start = self.token[2]
        close = self.opening()
        if close is None:
            raise self.error("MAP needs its types: MAP<KEY, VALUE>", start)
        key = replace(self.part(KEY), nullable=False)
        self.need(",")
        value = self.part(VALUE)
        self.need(close)
        return Map(key, value)


_UNDOUBLED: Mapping[str, str] = {"`": "``", '"': '""', "'": "''"}


def _unquoted(text: str) -> str:
    return text[1:-1].replace(_UNDOUBLED[text[0]], text[0])
