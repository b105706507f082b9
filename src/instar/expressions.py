"""One SQL expression, no more: as a tree, and as text that is safe to put into a statement."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING

from instar.dialects import reading

if TYPE_CHECKING:
    from sqlglot import exp

_WORDS_OF_ENGINES = ("CURRENT_", "LOCALTIME", "SESSION_", "SYSDATE", "USER")


class BadExpression(ValueError):
    """The text is not exactly one SQL expression; the message says why."""


def one_expression(sql: str, dialect: str) -> exp.Expr:
    """The tree; places in it count from the beginning of the text."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        # As a condition: a statement's word (`comment`, `copy`) is a column's name there.
        found = sqlglot.parse_one(sql, read=reading(dialect), into=exp.Condition)
    except SqlglotError as error:
        raise BadExpression(_kind(sql, dialect) or _reason(error)) from None
    if isinstance(found, exp.Star | exp.Block | exp.Command):
        raise BadExpression(_kind(sql, dialect) or "it is more than one expression")
    return found


@lru_cache(maxsize=65536)
def check_expression(text: str, dialect: str) -> str | None:
    """Refuse what is not one expression; the answer is the column that a lone name means, if it is one."""
    if not text.strip():
        raise BadExpression("the expression is empty")
    _refuse_tokens(text, dialect)
    return _lone_name(one_expression(text, dialect))


def _refuse_tokens(text: str, dialect: str) -> None:
    """What would break out of the parentheses that the expression is put into."""
    import sqlglot
    from sqlglot.errors import TokenError

    try:
        tokens = sqlglot.tokenize(text, read=reading(dialect))
    except TokenError as error:
        raise BadExpression(_reason(error)) from None
    for token in tokens:
        if token.token_type is sqlglot.TokenType.SEMICOLON:
            raise BadExpression("one expression without a semicolon is expected")
        if token.comments:
            raise BadExpression("a comment does not belong into an expression")


def _lone_name(parsed: exp.Expr) -> str | None:
    from sqlglot import exp

    if not isinstance(parsed, exp.Column) or parsed.table or parsed.this.args.get("quoted"):
        return None
    name = str(parsed.name)
    return None if name.upper().startswith(_WORDS_OF_ENGINES) else name


def _kind(sql: str, dialect: str) -> str | None:
    """What else the text is, where it can be read as something else."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        trees = sqlglot.parse(sql, read=reading(dialect))
    except SqlglotError:
        return None
    match trees:
        case [exp.Alias()]:
            what = "two words side by side (text values need their own quotes: \"'…'\")"
        case [exp.Query()]:
            what = "a query (put a scalar subquery into parentheses)"
        case [exp.Star()]:
            what = "a star"
        case [exp.Condition()] | [_, _, *_]:
            return None
        case _:
            what = "a statement"
    return f"not an expression but {what}"


def _reason(error: Exception) -> str:
    errors = getattr(error, "errors", None)
    said = str(errors[0].get("description", "")) if errors else ""
    readable = said and "missing for" not in said and "<Token" not in said
    why = said.rstrip(".") if readable else "it cannot be read to its end"
    return f"not one SQL expression: {why}"
