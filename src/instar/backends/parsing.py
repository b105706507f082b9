"""Expressions of people, read: exactly one, as a tree; and where a bracket of a text is closed."""

from __future__ import annotations

import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from instar.dialects import reading

logging.getLogger("sqlglot").setLevel(logging.ERROR)


class BadExpression(ValueError):
    """The text is not exactly one SQL expression; the message says why."""


def one_expression(sql: str, dialect: str) -> exp.Expression:
    """The tree, as it stands in `SELECT <sql>`: places in it count from there."""
    try:
        trees = sqlglot.parse(f"SELECT {sql}", dialect=reading(dialect))
    except SqlglotError as error:
        raise BadExpression(str(error).splitlines()[0]) from error
    select = trees[0] if len(trees) == 1 else None
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise BadExpression("it is more than one expression")
    found: exp.Expression = select.expressions[0]
    said = [key for key, value in select.args.items() if value and key != "expressions"]
    if said or isinstance(found, exp.Alias | exp.Star):
        raise BadExpression("it is more than an expression")
    return found


def closing(text: str, start: int = 0) -> int:
    """Where the first bracket from `start` on is closed, whatever its quoted parts hold; -1 if nowhere."""
    depth, quote = 0, ""
    for place in range(start, len(text)):
        char = text[place]
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                return place
    return -1
