"""Expressions in DuckDB's own spelling, by its own parser on an empty scratch database.

What the catalog reports is the engine's spelling of what was declared. Both sides of a comparison are
brought to one spelling: the parser's, with every column name quoted as the table spells it.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import duckdb

from instar.backends.duckdb.binding import bound
from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.traits import Node, called, captures, nodes, tries, windows
from instar.backends.duckdb.types import parse_type, type_sql
from instar.backends.sql import literal, quote_double
from instar.core.types import Column, Type
from instar.expressions import BadExpression

_LOCK = threading.Lock()
_EMPTY_CLAUSES = (
    "where_clause",
    "group_expressions",
    "having",
    "qualify",
    "sample",
    "modifiers",
)


@lru_cache(maxsize=1)
def _scratch() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"threads": 1})


def _ask(sql: str, *values: object) -> list[tuple[Any, ...]]:
    with _LOCK:
        rows: list[tuple[Any, ...]] = _scratch().execute(bound(sql, values)).fetchall()
        return rows


@lru_cache(maxsize=8192)
def _parsed(sql: str) -> str:
    """The parse tree of one expression, as JSON of the SELECT around it."""
    if sql.rstrip().endswith(";"):
        raise BadExpression("it ends with ';'")
    try:
        text = str(_ask("SELECT json_serialize_sql(?)", f"SELECT\n{sql}\n")[0][0])
    except duckdb.Error as error:
        raise BadExpression(_first_line(error)) from error
    tree = json.loads(text)
    if tree["error"]:
        raise BadExpression(str(tree["error_message"]).splitlines()[0])
    _only_one(tree["statements"])
    return text


def _only_one(statements: list[Node]) -> None:
    node: Node = statements[0]["node"] if len(statements) == 1 else {"type": ""}
    single = (
        node["type"] == "SELECT_NODE"
        and len(node["select_list"]) == 1
        and node["from_table"]["type"] == "EMPTY"
        and not any(node[clause] for clause in _EMPTY_CLAUSES)
        and not node["cte_map"]["map"]
        and not node["select_list"][0]["alias"]
        and node["select_list"][0]["class"] != "STAR"
    )
    if not single:
        raise BadExpression("it is more than one expression")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


@dataclass(frozen=True, slots=True)
class Expression:
    """What an expression uses, and its text once spelled."""

    text: str
    columns: frozenset[str]
    functions: frozenset[str]
    has_subquery: bool
    captures: bool
    has_window: bool
    has_try: bool
    called: frozenset[str]
    """The functions outside subqueries; `functions` are all of them."""


def spelled(
    sql: str, names: tuple[str, ...] = (), renames: Mapping[str, str] | None = None
) -> Expression:
    """The expression in one spelling; names of columns are quoted, or take their new name."""
    return _spelled(sql, names, tuple((renames or {}).items()))


@lru_cache(maxsize=8192)
def _spelled(sql: str, names: tuple[str, ...], renames: tuple[tuple[str, str], ...]) -> Expression:
    found = _respelled(sql, names, dict(renames))
    for _ in range(4):
        again = _respelled(found.text, names + tuple(new for _, new in renames), {})
        if again.text == found.text:
            break
        found = again
    return found


def _respelled(sql: str, names: tuple[str, ...], renames: Mapping[str, str]) -> Expression:
    parsed = _parsed(sql)
    tree = json.loads(parsed)
    traits = captures(tree), windows(tree), tries(tree), called(tree)
    known = {fold(name): name for name in names}
    marks: list[str] = []
    stem = _unused(parsed)
    columns: set[str] = set()
    functions: set[str] = set()
    has_subquery = False
    for node in nodes(tree):
        kind = node.get("class")
        if kind == "COLUMN_REF" and (name := known.get(fold(node["column_names"][0]))):
            columns.add(name)
            fields = node["column_names"][1:]
            node["column_names"] = [f"{stem}{len(marks)}q"]
            marks.append(_path(renames.get(name, name), fields))
        elif kind == "COLUMN_REF" and fold(node["column_names"][-1]) in _CLOCK_WORDS:
            functions.add(fold(node["column_names"][-1]))
        elif kind == "FUNCTION":
            functions |= _called(node)
        has_subquery = has_subquery or kind == "SUBQUERY"
    text = str(_ask("SELECT json_deserialize_sql(?::JSON)", json.dumps(tree))[0][0])
    text = text.removeprefix("SELECT ")
    text = re.sub(rf"{stem}(\d+)q", lambda found: marks[int(found[1])], text)
    return Expression(text, frozenset(columns), frozenset(functions), has_subquery, *traits)


_CLOCK_WORDS = frozenset(
    ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
)
"""Functions without parentheses, where no column has the name."""
_UP_TO_NOW = "age up to now"
_UNDECLARED = frozenset(
    (*_CLOCK_WORDS, "current_localtime", "current_localtimestamp", "getenv", _UP_TO_NOW)
)
"""What DuckDB lists as repeatable, or not at all, and is not."""


def _called(node: Node) -> set[str]:
    name = fold(node["function_name"])
    return {name, _UP_TO_NOW} if name == "age" and len(node["children"]) == 1 else {name}


def _unused(text: str) -> str:
    """The start of a name that the text does not have, in any case: no literal is taken for a mark."""
    taken, stem = fold(text), "zq"
    while stem in taken:
        stem += "z"
    return stem


def _path(name: str, fields: list[str]) -> str:
    """A column, or a field of it: in ALTER and CHECK a dotted path does not bind."""
    text = quote_double(name)
    for field in fields:
        text = f"struct_extract({text}, {literal(field)})"
    return text


def safe_text(sql: str, names: tuple[str, ...]) -> str:
    """The text as it was written, unless a comment or a dotted path would break it in a statement."""
    risky = "--" in sql or "/*" in sql or "." in sql
    return spelled(sql, names).text if risky else sql.strip()


@lru_cache(maxsize=2)
def _unstable(stability: str) -> frozenset[str]:
    sql = f"SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability {stability}"
    return frozenset(fold(str(row[0])) for row in _ask(sql))


def volatile_functions(expression: Expression) -> frozenset[str]:
    """Functions that answer differently on every call."""
    return expression.functions & _unstable("= 'VOLATILE'")


def moving_functions(expression: Expression) -> frozenset[str]:
    """Functions that may answer differently in another statement: the clock too."""
    return expression.functions & (_unstable("<> 'CONSISTENT'") | _UNDECLARED)


@lru_cache(maxsize=1)
def _not_per_row() -> frozenset[str]:
    """Functions that give one value for many rows, or many for one."""
    rows = _ask(
        "SELECT function_name FROM duckdb_functions() GROUP BY ALL "
        "HAVING bool_and(function_type = 'aggregate')"
    )
    return frozenset(fold(str(row[0])) for row in rows) | {"unnest", "unlist"}


def foreign_functions(expression: Expression) -> frozenset[str]:
    """Functions that cannot stand in an expression of one row."""
    return expression.called & _not_per_row()


def bound_type(sql: str, columns: tuple[Column, ...]) -> Type | None:
    """The type of an expression over a row of these columns; None where scratch cannot know it."""
    try:
        return _bound(sql, tuple((c.name, type_sql(c.type)) for c in columns))
    except (duckdb.Error, KeyError):
        return None


def binding_problem(sql: str, columns: tuple[Column, ...]) -> str | None:
    """Why an expression does not fit the columns, where that is certain without the database."""
    try:
        _bound(sql, tuple((c.name, type_sql(c.type)) for c in columns))
    except duckdb.BinderException as error:
        text = _first_line(error)
        return text if "Referenced column" in text else None
    except (duckdb.Error, KeyError):
        return None
    return None


def check_problem(sql: str, columns: tuple[Column, ...]) -> str | None:
    """Why DuckDB would not take a CHECK on these columns, where that is certain."""
    try:
        declared = ", ".join(f"{quote_double(c.name)} {type_sql(c.type)}" for c in columns)
        _ask(f"CREATE OR REPLACE TEMP TABLE scratch ({declared}, CHECK ({sql}))")
    except (duckdb.CatalogException, KeyError):
        return None
    except duckdb.Error as error:
        return _first_line(error)
    return None


def default_problem(sql: str, type_: Type) -> str | None:
    """Why a constant default does not fit its column."""
    try:
        _ask(f"SELECT CAST(({sql}) AS {type_sql(type_)})")
    except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
        return _first_line(error)
    except (duckdb.Error, KeyError):
        return None
    return None


@lru_cache(maxsize=4096)
def _bound(sql: str, columns: tuple[tuple[str, str], ...]) -> Type:
    row = ", ".join(f"CAST(NULL AS {type_}) AS {quote_double(name)}" for name, type_ in columns)
    source = f" FROM (SELECT {row}) AS live" if row else ""
    return parse_type(str(_ask(f"DESCRIBE SELECT ({sql}) AS e{source}")[0][1]))


@lru_cache(maxsize=1024)
def canonical_type(text: str) -> str | None:
    """The text that DuckDB reports for a type; None for a type it does not know."""
    try:
        return str(_ask(f"SELECT typeof(CAST(NULL AS {text}))")[0][0])
    except duckdb.Error:
        return None
