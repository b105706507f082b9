"""Functions of one name that DuckDB and Spark compute differently, and that no translation tells apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from instar.dialects import reading

_WEEKDAYS = frozenset(("dow", "dayofweek", "weekday"))


def _always(parts: Sequence[Any]) -> bool:
    del parts
    return True


def _from_zero(parts: Sequence[Any]) -> bool:
    return len(parts) > 1 and str(parts[1]) == "0"


def _backwards(parts: Sequence[Any]) -> bool:
    return len(parts) > 1 and str(parts[1]).startswith("-")


def _of_a_weekday(parts: Sequence[Any]) -> bool:
    return bool(parts) and parts[0].name.casefold() in _WEEKDAYS


_SUNDAY = "DuckDB counts the days of a week from 0, Spark from 1 or from Monday"
_CUT = "DuckDB cuts a negative number from the other end, Spark gives an empty text"

_DIFFERENT: Mapping[str, tuple[Callable[[Sequence[Any]], bool], str]] = {
    "substring": (_from_zero, "DuckDB begins before the first character at 0, Spark at the first"),
    "day_of_week": (_always, _SUNDAY),
    "weekday": (_always, _SUNDAY),
    "extract": (_of_a_weekday, _SUNDAY),
    "date_part": (_of_a_weekday, _SUNDAY),
    "left": (_backwards, _CUT),
    "right": (_backwards, _CUT),
    "hash": (_always, "each engine has a hash of its own"),
}
"""By sqlglot's name of the function: when, and in what they differ."""


def difference(sql: str, dialect: str) -> str | None:
    """Why an expression means one thing in DuckDB and another in Spark, as far as its functions tell."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(sql, read=reading(dialect))
    except SqlglotError:
        return None
    for node in tree.find_all(exp.Func):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        when, words = _DIFFERENT.get(name.casefold(), (None, ""))
        if when is not None and when(list(node.iter_expressions())):
            return words
    return None
