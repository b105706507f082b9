"""The queries of views; and those that would no longer work, created on empty tables as they will be."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import duckdb

from instar.backends.base import NotATable, Views
from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.inspect import key_of, read_tables
from instar.backends.duckdb.types import type_sql
from instar.backends.sql import qualified, quote_double
from instar.core.schema import Table, TableName

Ask = Callable[..., list[tuple[Any, ...]]]

_VIEWS = """SELECT schema_name, view_name, sql, current_database() FROM duckdb_views()
WHERE NOT internal AND NOT temporary AND database_name = current_database() ORDER BY ALL"""
_TABLES = """SELECT schema_name, table_name FROM duckdb_tables()
WHERE NOT internal AND NOT temporary AND database_name = current_database()"""


class DuckDBViews(Views):
    """They are tried on empty tables, as those are and as one of them will be."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    @cached_property
    def _found(self) -> list[tuple[Any, ...]]:
        return self._ask(_VIEWS)

    def broken(self, target: Table) -> Mapping[TableName, str]:
        texts = {TableName(str(row[0]), str(row[1])): str(row[2]) for row in self._found}
        views = _reading(target.name, texts)
        if not views:
            return {}
        text = fold(" ".join(views.values()))
        names = [TableName(str(row[0]), str(row[1])) for row in self._ask(_TABLES)]
        used = [name for name in names if fold(name.name) in text]
        live = [t for t in read_tables(self._ask, used).values() if not isinstance(t, NotATable)]
        then = [target if key_of(t.name) == key_of(target.name) else t for t in live]
        database = str(self._found[0][3])
        working = _working(database, live, views)
        lost = working - _working(database, then, {n: s for n, s in views.items() if n in working})
        return {name: sql for name, sql in views.items() if name in lost}


def query_of(sql: str) -> str:
    """The query of a CREATE VIEW, under the names that the view gives its columns."""
    import sqlglot

    depth = 0
    names: list[str] = []
    for token in sqlglot.tokenize(sql, read="duckdb"):
        match token.token_type:
            case sqlglot.TokenType.L_PAREN:
                depth += 1
            case sqlglot.TokenType.R_PAREN:
                depth -= 1
            case sqlglot.TokenType.ALIAS if not depth:
                query = sql[token.end + 1 :].strip().removesuffix(";")
                listed = ", ".join(map(quote_double, names))
                return f"SELECT * FROM (\n{query}\n) AS shown({listed})" if names else query
            case sqlglot.TokenType.COMMA:
                continue
            case _ if depth:
                names.append(token.text)
    return ""


def _reading(table: TableName, views: Mapping[TableName, str]) -> dict[TableName, str]:
    """The views whose text has the table's name, those that they read, and those that read them."""
    mentioned = {fold(table.name)}
    chosen: dict[TableName, str] = {}
    while True:
        new = {
            name: sql
            for name, sql in views.items()
            if name not in chosen and any(word in fold(sql) for word in mentioned)
        }
        if not new:
            break
        chosen |= new
        mentioned = {fold(name.name) for name in new}
    text = fold(" ".join(chosen.values()))
    return {n: s for n, s in views.items() if n in chosen or (chosen and fold(n.name) in text)}


def _working(
    database: str, tables: Sequence[Table], views: Mapping[TableName, str]
) -> set[TableName]:
    """The views that can be created; one may read another, so they are tried until nothing moves."""
    with duckdb.connect(":memory:", config={"threads": 1}) as scratch:
        if fold(database) != "memory":
            scratch.execute(f"ATTACH ':memory:' AS {quote_double(database)}")
            scratch.execute(f"USE {quote_double(database)}")
        for schema in {n.schema for n in (*(t.name for t in tables), *views)}:
            scratch.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_double(schema)}")
        for table in tables:
            body = ", ".join(f"{quote_double(c.name)} {type_sql(c.type)}" for c in table.columns)
            with contextlib.suppress(duckdb.Error, KeyError):
                scratch.execute(f"CREATE TABLE {qualified(table.name)} ({body})")
        made: set[TableName] = set()
        while True:
            new = {n for n, sql in views.items() if n not in made and _made(scratch, sql)}
            if not new:
                return made
            made |= new


def _made(scratch: duckdb.DuckDBPyConnection, sql: str) -> bool:
    try:
        scratch.execute(sql)
    except duckdb.Error:
        return False
    return True
