"""Views of Spark's catalog, and which of them would no longer work once a table has another shape.

No job runs: a view's query is analysed as it is, and again with an empty table of the new shape in it.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from instar.backends.spark.types import value_type
from instar.backends.sql import literal_spark, quote_backtick
from instar.core.schema import Table, TableName
from instar.core.types import Type
from instar.dialects import reading
from instar.spark import SparkHandle, SparkSqlError

_FOLLOWS = "EVOLUTION"
_KEEP_TYPES = frozenset(("BINDING", "COMPENSATION"))
"""What Spark calls it when a view casts to the types that it was created with."""


@dataclass(frozen=True, slots=True)
class View:
    """`namespace`: where its bare names are looked for. `mode`: whether its columns follow the query's.

    `outputs` are the query's columns behind the view's `columns`, which may have other names.
    """

    name: TableName
    sql: str
    namespace: str = ""
    mode: str = ""
    outputs: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


def views_in(
    handle: SparkHandle, catalog: str, schema: str, without: Container[TableName] = ()
) -> tuple[View, ...]:
    """The views of a schema with their queries; none where there is no such schema."""
    place = f"{quote_backtick(catalog)}.{quote_backtick(schema)}"
    try:
        rows = handle.run(f"SHOW VIEWS IN {place}")
    except SparkSqlError:
        return ()
    names = [TableName(schema, str(row["viewName"])) for row in rows if not row["isTemporary"]]
    return tuple(
        _view(handle, name, f"{place}.{quote_backtick(name.name)}")
        for name in names
        if name not in without
    )


def _view(handle: SparkHandle, name: TableName, place: str) -> View:
    """With no query where the view itself is broken or gone meanwhile, which hides no other."""
    try:
        said = json.loads(handle.run(f"DESCRIBE EXTENDED {place} AS JSON")[0][0])
    except SparkSqlError:
        return View(name, "")
    return View(
        name,
        str(said.get("view_text", "")),
        str(said.get("view_catalog_and_namespace", "")).rpartition(".")[2].strip("`"),
        str(said.get("view_schema_mode", "")),
        tuple(map(str, said.get("view_query_output_columns") or ())),
        tuple(str(c["name"]) for c in said.get("columns") or ()),
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


def broken_views(handle: SparkHandle, target: Table, catalog: str) -> Mapping[TableName, str]:
    """The views that work now, and not once the table of `catalog` is as `target`; with their SQL.

    Views live in Spark's own catalog, those of the table's schema are looked at.
    """
    own = handle.delta_catalog
    views = {v.name.name.casefold(): v for v in views_in(handle, own, target.name.schema)}
    if not any(target.name.name.casefold() in v.sql.casefold() for v in views.values()):
        return {}
    now, then = _Reader(views, own, None, catalog), _Reader(views, own, target, catalog)
    return {
        view.name: view.sql
        for view in views.values()
        if _works(handle, now.query(view)) and not _works(handle, then.query(view))
    }


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

    views: Mapping[str, View]
    own: str
    target: Table | None
    catalog: str

    def query(self, view: View) -> str | None:
        """None where the query cannot be read, or reads itself."""
        try:
            return self._spelled(view, ()).sql(dialect=reading("spark"))
        except (SqlglotError, RecursionError):
            return None

    def _spelled(self, view: View, within: tuple[str, ...]) -> exp.Expr:
        name = view.name.name.casefold()
        if name in within:
            raise RecursionError(name)
        tree = sqlglot.parse_one(view.sql, read=reading("spark"))
        hidden = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
        for node in list(tree.find_all(exp.Table)):
            if node.name and (node.db or node.name.casefold() not in hidden):
                self._put(node, view, (*within, name))
        return tree

    def _put(self, node: exp.Table, view: View, within: tuple[str, ...]) -> None:
        schema, name = node.db or view.name.schema, node.name.casefold()
        catalog = node.catalog or self.own
        here = schema.casefold() == view.name.schema.casefold()
        meant = self.target is not None and name == self.target.name.name.casefold()
        if here and meant and catalog == self.catalog and self.target is not None:
            inner: exp.Expr = sqlglot.parse_one(_empty(self.target), read=reading("spark"))
        elif here and catalog == self.own and name in self.views:
            inner = self._spelled(self.views[name], within)
        else:
            if not node.db:
                node.set("db", exp.to_identifier(schema, quoted=True))
                node.set("catalog", exp.to_identifier(self.own, quoted=True))
            return
        node.replace(exp.Subquery(this=inner, alias=exp.to_identifier(node.alias_or_name, True)))


def _empty(table: Table) -> str:
    columns = ", ".join(
        f"CAST(NULL AS {value_type(c.type)}) AS {quote_backtick(c.name)}" for c in table.columns
    )
    return f"SELECT {columns} WHERE {literal_spark('')} = 'x'"
