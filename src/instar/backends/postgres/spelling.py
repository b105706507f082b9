"""Expressions of a person and of the catalog, in one spelling: every column quoted as the table spells it.

Only the names of columns are touched, in place; the rest of the text stays what it was. The parser finds
out which words are columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp

from instar.backends.sql import closing, quote_double
from instar.expressions import BadExpression, one_expression

VOLATILE = frozenset(
    {
        "random",
        "random_normal",
        "array_shuffle",
        "array_sample",
        "setseed",
        "gen_random_uuid",
        "uuidv4",
        "uuidv7",
        "uuid_generate_v1",
        "uuid_generate_v1mc",
        "uuid_generate_v4",
        "clock_timestamp",
        "timeofday",
        "nextval",
        "currval",
        "lastval",
        "setval",
        "txid_current",
        "pg_current_xact_id",
        "pg_sleep",
        "rand",
        "uuid",
    }
)
"""Functions that answer differently on every call."""
STABLE = frozenset(
    {
        "now",
        "current_timestamp",
        "current_date",
        "current_time",
        "localtime",
        "localtimestamp",
        "currenttimestamp",
        "currentdate",
        "currenttime",
        "transaction_timestamp",
        "statement_timestamp",
        "current_user",
        "session_user",
        "currentuser",
        "sessionuser",
        "user",
        "current_role",
        "current_catalog",
        "current_schema",
        "age up to today",
        "'now'",
        "'today'",
        "'tomorrow'",
        "'yesterday'",
    }
)
"""What answers differently in another transaction: functions, and words that are read as moments."""
_WORDS = frozenset({"user", "current_role", "current_catalog", "current_schema", "session_user"})
"""Functions without parentheses that the parser takes for columns."""


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    columns: frozenset[str]
    functions: frozenset[str]
    has_subquery: bool

    @property
    def volatile(self) -> frozenset[str]:
        return self.functions & VOLATILE

    @property
    def moving(self) -> frozenset[str]:
        """Functions that may answer differently in another transaction."""
        return self.functions & (VOLATILE | STABLE)

    @property
    def varies(self) -> bool:
        """Another transaction may get another answer."""
        return bool(self.moving)


def spelled(
    sql: str, names: tuple[str, ...] = (), renames: Mapping[str, str] | None = None
) -> Expression:
    """The expression with its columns quoted, or under their new names."""
    return _spelled(sql, names, tuple((renames or {}).items()))


@lru_cache(maxsize=8192)
def _spelled(sql: str, names: tuple[str, ...], renames: tuple[tuple[str, str], ...]) -> Expression:
    tree = _tree(sql)
    known = {name.casefold(): name for name in names} | {name: name for name in names}
    new = dict(renames)
    marks: list[tuple[int, int, str]] = []
    columns: set[str] = set()
    for column in tree.find_all(exp.Column):
        part = column.parts[0]
        name = known.get(part.name) or known.get(part.name.casefold())
        if name is None or "start" not in part.meta:
            continue
        columns.add(name)
        place = part.meta["start"], part.meta["end"] + 1
        marks.append((*place, quote_double(new.get(name, name))))
    text = sql
    for start, end, word in sorted(marks, reverse=True):
        text = text[:start] + word + text[end:]
    functions = frozenset(
        word.casefold()
        for f in tree.find_all(exp.Func)
        for word in {f.name, f.sql_name(), f.key}
        if word
    ).union(_unsaid(tree, known))
    return Expression(
        unwrapped(text), frozenset(columns), functions, tree.find(exp.Query) is not None
    )


def _unsaid(tree: exp.Expr, known: Mapping[str, str]) -> Iterator[str]:
    """What moves without looking like a function that does."""
    for column in tree.find_all(exp.Column):
        name = column.name.casefold()
        if name in _WORDS and name not in known and not column.this.args.get("quoted"):
            yield name
    for cast in tree.find_all(exp.Cast):
        word = f"'{cast.this.name.strip().casefold()}'"
        if cast.this.is_string and word in STABLE and cast.to.this in exp.DataType.TEMPORAL_TYPES:
            yield word
    for call in tree.find_all(exp.Anonymous):
        if call.name.casefold() == "age" and len(call.expressions) == 1:
            yield "age up to today"


def _tree(sql: str) -> exp.Expr:
    found = one_expression(sql, "postgres")
    if sql.rstrip().endswith(";"):
        raise BadExpression("it is more than one expression")
    if any(token.comments for token in sqlglot.tokenize(sql, read="postgres")):
        raise BadExpression("it holds a comment")
    return found


def unwrapped(text: str) -> str:
    """Without outer brackets that enclose all of it."""
    text = text.strip()
    while text.startswith("(") and closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


_CAST_LITERAL = re.compile(r"('(?:[^']|'')*')::[a-z][a-z0-9_ .\"(),\[\]]*", re.IGNORECASE)
_NUMBER = re.compile(r"'(-?\d+(?:\.\d+)?)'")
_NUMERIC_CAST = re.compile(r"::(integer|bigint|smallint|numeric|double precision|real)\b.*")


def plain_default(text: str | None) -> str | None:
    """A default as a person would write it: literals without the cast that the catalog adds."""
    if text is None:
        return None
    text = unwrapped(text)
    if re.match(r"NULL(::.*)?$", text, re.IGNORECASE):
        return None
    found = _CAST_LITERAL.fullmatch(text)
    if found is not None:
        number = _NUMBER.fullmatch(found[1])
        if number and _NUMERIC_CAST.search(text):
            return number[1]
        return found[1]
    if text.casefold() in ("true", "false"):
        return text.lower()
    return text


_LITERAL = re.compile(r"-?\d+(\.\d+)?|'(?:[^']|'')*'|true|false", re.IGNORECASE)


def is_literal(text: str) -> bool:
    return _LITERAL.fullmatch(text.strip()) is not None
