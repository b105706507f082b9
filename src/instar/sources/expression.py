"""One SQL expression, no more: parsed in the environment's dialect before it reaches any statement."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING

from instar.dialects import reading

if TYPE_CHECKING:
    from sqlglot import exp

DIALECTS = {
    "spark": "spark",
    "duckdb": "duckdb",
    "postgres": "postgres",
    "dsql": "postgres",
    "snowflake": "snowflake",
}
"""By the type of environment."""

_WORDS_OF_ENGINES = ("CURRENT_", "LOCALTIME", "SESSION_", "SYSDATE", "USER")


class BadExpression(ValueError):
    """The text is not exactly one SQL expression; the message says why."""


@lru_cache(maxsize=65536)
def check_expression(text: str, dialect: str) -> str | None:
    """Refuse what is not one expression; the answer is the column that a lone name means, if it is one."""
    import sqlglot
    from sqlglot.errors import ParseError, SqlglotError, TokenError

    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    if not text.strip():
        raise BadExpression("the expression is empty")
    try:
        _refuse_tokens(text, dialect)
        parsed = sqlglot.parse_one(text, read=reading(dialect))
    except (ParseError, TokenError) as error:
        raise BadExpression(f"not one SQL expression: {_reason(error)}") from None
    except SqlglotError as error:
        raise BadExpression(f"not one SQL expression: {error}") from None
    if not isinstance(parsed, _expressions()):
        raise BadExpression(f"not an expression but {_kind(parsed)}")
    return _lone_name(parsed)


def _refuse_tokens(text: str, dialect: str) -> None:
    """What would break out of the parentheses that the expression is put into."""
    import sqlglot

    for token in sqlglot.tokenize(text, read=reading(dialect)):
        if token.token_type is sqlglot.TokenType.SEMICOLON:
            raise BadExpression("one expression without a semicolon is expected")
        if token.comments:
            raise BadExpression("a comment does not belong into an expression")


@lru_cache(maxsize=1)
def _expressions() -> tuple[type, ...]:
    from sqlglot import exp

    return (exp.Condition, exp.Subquery, exp.Interval, exp.AtTimeZone, exp.Tuple)


def _lone_name(parsed: exp.Expr) -> str | None:
    from sqlglot import exp

    if not isinstance(parsed, exp.Column) or parsed.table or parsed.this.args.get("quoted"):
        return None
    name = str(parsed.name)
    return None if name.upper().startswith(_WORDS_OF_ENGINES) else name


def _kind(parsed: exp.Expr) -> str:
    from sqlglot import exp

    match parsed:
        case exp.Alias():
            return "two words side by side (text values need their own quotes: \"'…'\")"
        case exp.Query():
            return "a query (put a scalar subquery into parentheses)"
        case exp.Star():
            return "a star"
        case _:
            return "a statement"


def _reason(error: Exception) -> str:
    errors = getattr(error, "errors", None)
    said = str(errors[0].get("description", "")) if errors else ""
    if said and "missing for" not in said:
        return said.rstrip(".")
    return "it cannot be read to its end"
