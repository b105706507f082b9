"""The former address of `instar.expressions` and `closing`, for PostgreSQL's package and Delta's inspection."""

from __future__ import annotations

from typing import cast

from sqlglot import exp

from instar import expressions
from instar.backends.sql import closing
from instar.expressions import BadExpression

__all__ = ["BadExpression", "closing", "one_expression"]


def one_expression(sql: str, dialect: str) -> exp.Expression:
    """As it stands in `SELECT <sql>`: PostgreSQL's spelling counts places from there."""
    found = expressions.one_expression(" " * len("SELECT ") + sql, dialect)
    return cast(exp.Expression, found)
