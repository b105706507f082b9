"""Views of Spark's catalog, and which of them would no longer work once a table has another shape.

No job runs: a view's query is analysed as it is, and again with an empty table of the new shape in it.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cached_property

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from instar.backends.base import Views
from instar.backends.spark.delta_sql import parse_path
from instar.backends.spark.types import value_type
from instar.backends.sql import literal_spark, qualified, quote_backtick
from instar.core.schema import Table, TableName
from instar.core.types import Type
from instar.dialects import reading
from instar.spark import SparkHandle, SparkSqlError

_Key = tuple[str, str]
"""Schema and name, casefolded."""
_PLAIN = re.compile(r"\w+")
_FOLLOWS = "EVOLUTION"
_KEEP_TYPES = frozenset(("BINDING", "COMPENSATION"))
"""What Spark calls it when a view casts to the types that it was created with."""


@dataclass(frozen=True, slots=True)
class View:
    """`catalog`, `namespace`: where its bare names are looked for. `mode`: whether its columns follow the query's.

    `outputs` are the query's columns behind the view's `columns`, which may have other names.
    """

    name: TableName
    sql: str
    namespace: str = ""
    mode: str = ""
    outputs: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    catalog: str = ""


def views_in(
    handle: SparkHandle, catalog: str, schema: str, without: Container[TableName] = ()
) -> tuple[View, ...]:
    """The views of a schema with their queries; none where there is no such schema."""
    place = f"{quote_backtick(catalog)}.{quote_backtick(schema)}"
    return tuple(
        _view(handle, name, f"{place}.{quote_backtick(name.name)}")
        for name in _listed(handle, place, schema)
        if name not in without
    )


def _listed(handle: SparkHandle, place: str, schema: str) -> list[TableName]:
    try:
        rows = handle.run(f"SHOW VIEWS IN {place}")
    except SparkSqlError:
        return []
    return [TableName(schema, str(row["viewName"])) for row in rows if not row["isTemporary"]]


def _view(handle: SparkHandle, name: TableName, place: str) -> View:
    """With no query where the view itself is broken or gone meanwhile, which hides no other."""
    try:
        said = json.loads(handle.run(f"DESCRIBE EXTENDED {place} AS JSON")[0][0])
    except SparkSqlError:
        return View(name, "")
    home = parse_path(str(said.get("view_catalog_and_namespace", "")))
    return View(
        name,
        str(said.get("view_text", "")),
        home[-1] if home else "",
        str(said.get("view_schema_mode", "")),
        tuple(map(str, said.get("view_query_output_columns") or ())),
        tuple(str(c["name"]) for c in said.get("columns") or ()),
        home[0] if len(home) > 1 else "",
    )


def shown_query(view: View, live: Mapping[str, Type]) -> str:
    """A query that gives what the view gives: unless it follows its query, under its own names and types.

    `live`: the types of its columns as they are.
    """
    keeps_names = view.mode != _FOLLOWS and len(view.outputs) == len(view.columns) > 0
    if not view.sql or not keeps_names:
        return view.sql

    def shown(output: str, name: str) -> str:
        value = f"shown.{quote_backtick(output)}"
        if view.mode in _KEEP_TYPES and name in live:
            value = f"CAST({value} AS {value_type(live[name])})"
        return f"{value} AS {quote_backtick(name)}"

    columns = ", ".join(map(shown, view.outputs, view.columns))
    return f"SELECT {columns} FROM (\n{view.sql}\n) AS shown"


class SparkViews(Views):
    """Those of all schemas of Spark's own catalog, for tables of `catalog`."""

    def __init__(self, handle: SparkHandle, catalog: str) -> None:
        self._handle, self._own, self._catalog = handle, handle.delta_catalog, catalog
        self._described: dict[TableName, View] = {}

    @cached_property
    def _texts(self) -> dict[TableName, str]:
        """What the catalog says of each; asked schema by schema, for there is no other way."""
        texts: dict[TableName, str] = {}
        for row in self._handle.run(f"SHOW SCHEMAS IN {quote_backtick(self._own)}"):
            texts |= _texts(self._handle, self._own, str(row[0]))
        return texts

    def broken(self, target: Table) -> Mapping[TableName, str]:
        views = {_key(v.name): v for v in self._mentioning(target.name.name)}
        now = _Reader(views, self._own, None, self._catalog)
        then = _Reader(views, self._own, target, self._catalog)
        return {
            view.name: view.sql
            for view in views.values()
            if _works(self._handle, now.query(view)) and not _works(self._handle, then.query(view))
        }

    def _mentioning(self, name: str) -> list[View]:
        """The views whose text holds a table's name, or that of such a view: only they are described."""
        texts = self._texts
        words, chosen = {name.casefold()}, dict.fromkeys(n for n, text in texts.items() if not text)
        while new := [
            n for n, text in texts.items() if n not in chosen and any(w in text for w in words)
        ]:
            words |= {n.name.casefold() for n in new}
            chosen |= dict.fromkeys(new)
        return [self._view(name) for name in chosen]

    def _view(self, name: TableName) -> View:
        if name not in self._described:
            place = qualified(name, backtick=True, catalog=self._own)
            self._described[name] = _view(self._handle, name, place)
        return self._described[name]


def _texts(handle: SparkHandle, catalog: str, schema: str) -> dict[TableName, str]:
    """What the catalog says of each view in a schema, casefolded; nothing where it cannot say."""
    place = f"{quote_backtick(catalog)}.{quote_backtick(schema)}"
    names = _listed(handle, place, schema)
    texts = dict.fromkeys(names, "")
    if names and all(_PLAIN.fullmatch(n.name) for n in names):
        pattern = literal_spark("|".join(n.name for n in names))
        with contextlib.suppress(SparkSqlError):
            for row in handle.run(f"SHOW TABLE EXTENDED IN {place} LIKE {pattern}"):
                name = TableName(schema, row["tableName"])
                if name in texts and not row["isTemporary"]:
                    texts[name] = row["information"].casefold()
    return texts


def _key(name: TableName) -> _Key:
    return name.schema.casefold(), name.name.casefold()


def _works(handle: SparkHandle, sql: str | None) -> bool:
    if sql is None:
        return False
    try:
        with handle.errors():
            return handle.session.sql(sql).schema is not None
    except SparkSqlError:
        return False


@dataclass(frozen=True, slots=True)
class _Reader:
    """Writes a view's query with every view that it reads spelled out, and the table in its new shape."""

    views: Mapping[_Key, View]
    own: str
    target: Table | None
    catalog: str

    def query(self, view: View) -> str | None:
        """None where the query cannot be read, or reads itself."""
        try:
            return self._spelled(view, ()).sql(dialect=reading("spark"))
        except (SqlglotError, RecursionError):
            return None

    def _spelled(self, view: View, within: tuple[_Key, ...]) -> exp.Expr:
        name = _key(view.name)
        if name in within:
            raise RecursionError(str(view.name))
        tree = sqlglot.parse_one(view.sql, read=reading("spark"))
        hidden = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
        for node in list(tree.find_all(exp.Table)):
            if node.name and (node.db or node.name.casefold() not in hidden):
                self._put(node, view, (*within, name))
        return tree

    def _put(self, node: exp.Table, view: View, within: tuple[_Key, ...]) -> None:
        catalog = node.catalog or view.catalog or self.own
        name = TableName(node.db or view.namespace or view.name.schema, node.name)
        key, target = _key(name), self.target
        if target is not None and key == _key(target.name) and catalog == self.catalog:
            inner: exp.Expr = sqlglot.parse_one(_empty(target), read=reading("spark"))
        elif catalog == self.own and key in self.views:
            inner = self._spelled(self.views[key], within)
        else:
            if not node.db:
                node.set("db", exp.to_identifier(name.schema, quoted=True))
                node.set("catalog", exp.to_identifier(catalog, quoted=True))
            return
        node.replace(exp.Subquery(this=inner, alias=exp.to_identifier(node.alias_or_name, True)))


def _empty(table: Table) -> str:
    columns = ", ".join(
        f"CAST(NULL AS {value_type(c.type)}) AS {quote_backtick(c.name)}" for c in table.columns
    )
    return f"SELECT {columns} WHERE {literal_spark('')} = 'x'"
