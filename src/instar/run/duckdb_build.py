"""Models on DuckDB: every build is one transaction that also leaves the mark of what was built."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from instar.backends.base import SWITCH, Backend, RunContext
from instar.backends.duckdb.backend import ROWS_ONLY, DuckDBBackend
from instar.backends.duckdb.create import table_body
from instar.backends.duckdb.facts import facts_of
from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.types import parse_type, unnamed
from instar.backends.duckdb.views import query_of
from instar.backends.relational.create import comments, schema_sql
from instar.backends.sql import literal, qualified, quote_double
from instar.core.plan import Rung, Step, TablePlan
from instar.core.schema import Table, TableName
from instar.core.types import Column
from instar.errors import EngineError
from instar.run.building import Events, Failpoint, Order
from instar.run.duckdb_infer import DuckDBInferrer
from instar.run.duckdb_rows import (
    BATCH,
    guards,
    in_one_statement,
    kept_indexes,
    key_problem,
    lost_objects,
    within,
    written,
)
from instar.run.functions import Functions
from instar.sources.models import Model, Target
from instar.sources.models_sql import Read
from instar.sources.models_views import ViewText

MARKS = "__instar_marks"

_COLUMNS = """SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
WHERE NOT internal AND database_name = current_database()
AND lower(schema_name) IN (SELECT unnest(?::VARCHAR[]))
ORDER BY schema_name, table_name, column_index"""

_VIEWS = """SELECT schema_name, view_name, sql FROM duckdb_views()
WHERE NOT internal AND NOT temporary AND database_name = current_database()
AND lower(schema_name) = lower(?)"""

_FUNCTIONS = """SELECT function_name, macro AND database_name IN (current_database(), 'system') AS macro,
concat(parameters::VARCHAR, ' ', macro_definition) AS text, internal, moving FROM (
SELECT *, function_type IN ('macro', 'table_macro') AS macro, stability <> 'CONSISTENT' AND function_name NOT IN
('error', 'current_database', 'current_schema', 'current_schemas', 'in_search_path') AS moving
FROM duckdb_functions()) AS functions WHERE macro OR moving ORDER BY function_name, text, internal"""
"""In one look: the catalog writes all of its functions anew for each."""

ANY: frozenset[int] = frozenset()
_CLOCKS = ("localtime", "localtimestamp", "current_localtime", "current_localtimestamp")
_UNTOLD = {
    **dict.fromkeys(("current_time", "current_timestamp", *_CLOCKS), ANY),
    "age": frozenset((1,)),
}
"""Clocks that the catalog has under another name, or takes for constant; age() of one time asks today's."""


class DuckDBBuilder:
    """DuckDB has one writer: models are built one after the other."""

    one_writer = True

    def __init__(self, backend: DuckDBBackend, schema: str) -> None:
        self._backend, self._schema = backend, schema
        self._marks = f"{quote_double(schema)}.{quote_double(MARKS)}"
        self._ready = False

    def threads(self, asked: int | None) -> int:
        del asked
        return 1

    def inferrer(self) -> DuckDBInferrer:
        return DuckDBInferrer(self._backend.beside())

    def backend(self, format_: str) -> Backend:
        del format_
        return self._backend

    def place(self, name: TableName, format_: str) -> str:
        del format_
        return qualified(name)

    def outside_place(self, read: Read, target: Target) -> str:
        if len(read.parts) > 2:
            return ".".join(quote_double(part) for part in read.parts)
        return qualified(target.table)

    def outside(self, wanted: Sequence[tuple[Read, Target]]) -> Mapping[TableName, Table]:
        names = {t.table.folded: t.table for _, t in wanted}
        schemas = sorted({name.schema for name in names})
        found: dict[TableName, list[Column]] = {}
        for schema, table, column, type_ in self._ask(_COLUMNS, schemas) if names else ():
            name = names.get(TableName(str(schema), str(table)).folded)
            kind = parse_type(str(type_))
            # A view may return a row without field names; no model can, so none has a use for it.
            if name is not None and not unnamed(kind):
                found.setdefault(name, []).append(Column(str(column), kind))
        return {name: Table(name, tuple(columns), "duckdb") for name, columns in found.items()}

    def view_step(self, model: Model, sql: str, columns: tuple[Column, ...], *, new: bool) -> Step:
        name = model.table
        return Step(
            id=f"{name}/1",
            kind="view",
            rung=Rung.METADATA,
            title=f"{'create' if new else 'replace'} view {name}",
            sql=(
                schema_sql(name.schema),
                f"CREATE OR REPLACE VIEW {qualified(name)} AS\n{sql}",
            ),
            after=Table(name, columns, "view"),
            repeatable=True,
        )

    def to_table_steps(self, model: Model, target: Table, sql: str) -> tuple[Step, ...]:
        name = qualified(target.name)
        return (
            Step(
                id=f"{target.name}/1",
                kind=SWITCH,
                rung=Rung.REFRESH,
                title=f"replace view {target.name} by a table computed from its query",
                sql=(
                    f"DROP VIEW {name}",
                    f"CREATE TABLE {name} {table_body(target)}",
                    f"INSERT INTO {name} BY NAME\n{sql}",
                    *guards(model, name),
                    *comments(target, name),
                ),
                after=target,
                confirm=f"{target.name} is a view; it becomes a table that holds its rows",
            ),
        )

    def to_view_steps(
        self, model: Model, sql: str, live: Table, columns: tuple[Column, ...], aside: TableName
    ) -> tuple[Step, ...]:
        step = self.view_step(model, sql, columns, new=True)
        return (
            replace(
                step,
                title=f"put table {model.table} aside and create a view in its place",
                sql=(*self.aside_sql(live, aside), step.sql[-1]),
                irreversible=tuple(f"the index {i.name}" for i in facts_of(live).indexes),
                confirm=f"{model.table} is a table; it becomes a view, and its rows are kept in {aside}",
                repeatable=False,
            ),
        )

    def aside_sql(self, live: Table, aside: TableName) -> tuple[str, ...]:
        rename = f"ALTER TABLE {qualified(live.name)} RENAME TO {quote_double(aside.name)}"
        return (*facts_of(live).drop_indexes(live.name), rename)

    def refresh_steps(self, model: Model, target: Table, sql: str) -> tuple[Step, ...]:
        name = qualified(target.name)
        lost: tuple[str, ...] = ()
        lost += ("rows that the query no longer returns",) if model.incremental else ()
        live = self._backend.inspect([target.name]).get(target.name)
        kept: tuple[str, ...] = ()
        if isinstance(live, Table):
            lost += tuple(lost_objects(live, target))
            kept = tuple(kept_indexes(live, target))
        return (
            Step(
                id=f"{target.name}/1",
                kind="refresh",
                rung=Rung.REFRESH,
                title=f"recompute {target.name} from its query",
                sql=(
                    f"CREATE OR REPLACE TABLE {name} {table_body(target)}",
                    f"INSERT INTO {name} BY NAME\n{sql}",
                    *guards(model, name),
                    *comments(target, name),
                    *kept,
                ),
                after=target,
                reversible=False,
                confirm=f"recomputes {target.name} from its query and replaces it as a whole",
                irreversible=lost,
                repeatable=True,
            ),
        )

    def stage(self, model: Model, plan: TablePlan) -> None:
        """Every model is SQL here: its steps read tables only."""

    def unstage(self, model: Model, plan: TablePlan) -> None:
        """Nothing was staged."""

    # --- data ---

    def build(self, order: Order, failpoint: Failpoint) -> int:
        if (statement := in_one_statement(order)) is not None:
            # No mark: made twice by a resumed run, it is the same table.
            failpoint("build:statement")
            rows = self._ask(statement)
            failpoint("build:committed")
            return int(rows[0][0])
        self._prepare()
        known = self._rows(order.mark) if order.resumed else None
        if known is not None:
            return known
        try:
            statements = tuple(self._statements(order))
            step = Step(order.mark, ROWS_ONLY, Rung.REFRESH, "build", statements, order.live)
            self._backend.run(step, RunContext({}, lambda *_: None, _named(failpoint, order)))
        finally:
            if order.model.incremental is not None:
                self._ask(f"DROP TABLE IF EXISTS temp.{BATCH}")
        return self._rows(order.mark) or 0

    def _prepare(self) -> None:
        if not self._ready:
            self._ask(
                f"CREATE TABLE IF NOT EXISTS {self._marks}"
                " (mark VARCHAR PRIMARY KEY, row_count BIGINT, made TIMESTAMPTZ)"
            )
            self._ready = True

    def _rows(self, mark: str) -> int | None:
        rows = self._ask(f"SELECT row_count FROM {self._marks} WHERE mark = ?", mark)
        return int(rows[0][0]) if rows else None

    def _statements(self, order: Order) -> Iterator[str]:
        """The batch is computed once; a broken key raises inside the transaction and undoes it."""
        direct = order.model.incremental is None
        if not direct:
            yield f"CREATE OR REPLACE TEMP TABLE {BATCH} AS\n{self._batch(order)}"
            yield from guards(order.model, BATCH)
        yield from written(order, f"\n{order.sql}" if direct else f" SELECT * FROM {BATCH}")
        count = f"(SELECT count(*) FROM {qualified(order.live.name) if direct else BATCH})"
        yield f"INSERT INTO {self._marks} VALUES ({literal(order.mark)}, {count}, now())"

    def _batch(self, order: Order) -> str:
        if order.interval is None:
            return order.sql
        return f"SELECT * FROM (\n{order.sql}\n) AS batch WHERE {within(order)}"

    def key_problem(self, model: Model, sql: str) -> str:
        return key_problem(model, sql, self._ask)

    def event_range(self, sql: str, column: str) -> Events:
        at = f"CAST({quote_double(column)} AS TIMESTAMP)"
        asked = f"min({at})::VARCHAR, max({at})::VARCHAR, count(*) - count({at})"
        first, last, nulls = self._ask(f"SELECT {asked} FROM (\n{sql}\n) AS batch")[0]
        return Events(first, last, int(nulls))

    def event_starts(self, sql: str, live: Table, column: str, granularity: str) -> set[str]:
        at = f"date_trunc({literal(granularity)}, CAST({quote_double(column)} AS TIMESTAMP))"
        sides = (f"(\n{sql}\n) AS batch", qualified(live.name))
        asked = " UNION ".join(f"SELECT CAST({at} AS VARCHAR) FROM {side}" for side in sides)
        return {str(start) for (start,) in self._ask(asked)}

    def functions(self) -> Functions:
        moving: dict[str, frozenset[int]] = {}
        macros: dict[str, str] = {}
        own: set[str] = set()
        for name, macro, text, internal, moves in self._ask(_FUNCTIONS):
            called = fold(str(name))
            if moves:
                moving[called] = ANY
            if macro:
                macros[called] = macros.get(called, "") + f"{text}\n"
                own |= set() if internal else {called}
        return Functions("duckdb", {**moving, **_UNTOLD}, macros, frozenset(own))

    def version(self, name: TableName, format_: str) -> str | None:
        del format_
        # Not hash(t) of an alias t: a column of that name would be taken for the row.
        hashed = "SELECT count(*), COALESCE(sum(hash(*COLUMNS(*))), 0)"
        rows = self._ask(f"{hashed} FROM {qualified(name)}")
        return f"{rows[0][0]}:{rows[0][1]}"

    def rows(self, name: TableName, format_: str) -> int:
        del format_
        return int(self._ask(f"SELECT count(*) FROM {qualified(name)}")[0][0])

    def count(self, sql: str) -> int | None:
        try:
            return int(self._ask(f"SELECT count(*) FROM (\n{sql}\n) AS batch")[0][0])
        except EngineError:
            return None

    def forget(self, run: str) -> None:
        if self._backend.inspect([TableName(self._schema, MARKS)]):
            self._ask(f"DELETE FROM {self._marks} WHERE starts_with(mark, ?)", f"{run}/")

    def views(self, schema: str, without: Container[TableName]) -> Mapping[TableName, ViewText]:
        rows = self._ask(_VIEWS, schema)
        found = {TableName(str(s), str(v)): str(sql) for s, v, sql in rows}
        return {n: ViewText(query_of(q), n.schema) for n, q in found.items() if n not in without}

    def interrupt(self) -> None:
        self._backend.interrupt()

    def _ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._backend.query(sql, *values)


def _named(failpoint: Failpoint, order: Order) -> Failpoint:
    what = "build" if order.interval is None else "interval"
    return lambda name: failpoint(f"{what}:{name}")
