"""Models on DuckDB: every build is one transaction that also leaves the mark of what was built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from instar.backends.base import SWITCH, Backend, RunContext
from instar.backends.duckdb.backend import ROWS_ONLY, DuckDBBackend
from instar.backends.duckdb.create import table_body
from instar.backends.duckdb.facts import Facts, facts_of
from instar.backends.duckdb.types import parse_type, type_sql
from instar.backends.relational.create import comments, schema_sql
from instar.backends.sql import literal, qualified, quote_double
from instar.core.plan import Rung, Step
from instar.core.schema import Table, TableName
from instar.core.types import Column
from instar.errors import EngineError
from instar.run.building import MEND_KEY, Events, Failpoint, Order
from instar.run.duckdb_infer import DuckDBInferrer
from instar.sources.models import Model, Target
from instar.sources.models_sql import Read

MARKS = "__instar_marks"
BATCH = "__instar_batch"

_COLUMNS = """SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns()
WHERE NOT internal AND database_name = current_database()
AND lower(schema_name) IN (SELECT unnest(?::VARCHAR[]))
ORDER BY schema_name, table_name, column_index"""

_VIEWS = """SELECT schema_name, view_name, sql FROM duckdb_views()
WHERE NOT internal AND database_name = current_database() AND lower(schema_name) = lower(?)"""


class DuckDBBuilder:
    """DuckDB has one writer: models are built one after the other."""

    threads = 1

    def __init__(self, backend: DuckDBBackend, schema: str) -> None:
        self._backend, self._schema = backend, schema
        self._marks = f"{quote_double(schema)}.{quote_double(MARKS)}"
        self._ready = False

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
        names = {(t.table.schema.casefold(), t.table.name.casefold()): t.table for _, t in wanted}
        schemas = sorted({schema for schema, _ in names})
        found: dict[TableName, list[Column]] = {}
        for schema, table, column, type_ in self._ask(_COLUMNS, schemas) if names else ():
            name = names.get((str(schema).casefold(), str(table).casefold()))
            if name is not None:
                found.setdefault(name, []).append(Column(str(column), parse_type(str(type_))))
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
                    *comments(target, name),
                ),
                after=target,
                confirm=f"{target.name} is a view; it becomes a table that holds its rows",
            ),
        )

    def to_view_steps(
        self, model: Model, sql: str, columns: tuple[Column, ...], aside: TableName
    ) -> tuple[Step, ...]:
        step = self.view_step(model, sql, columns, new=True)
        rename = self.aside_sql(model.table, aside)
        return (
            replace(
                step,
                title=f"put table {model.table} aside and create a view in its place",
                sql=(rename, step.sql[-1]),
                confirm=f"{model.table} is a table; it becomes a view, and its rows are kept in {aside}",
                repeatable=False,
            ),
        )

    def aside_sql(self, name: TableName, aside: TableName) -> str:
        return f"ALTER TABLE {qualified(name)} RENAME TO {quote_double(aside.name)}"

    def cannot_refresh(self, model: Model, target: Table) -> str:
        del model, target
        return ""

    def refresh_steps(self, model: Model, target: Table, sql: str) -> tuple[Step, ...]:
        name = qualified(target.name)
        lost = ("rows that the query no longer returns",) if model.incremental else ()
        return (
            Step(
                id=f"{target.name}/1",
                kind="refresh",
                rung=Rung.REFRESH,
                title=f"recompute {target.name} from its query",
                sql=(
                    f"CREATE OR REPLACE TABLE {name} {table_body(target)}",
                    f"INSERT INTO {name} BY NAME\n{sql}",
                    *comments(target, name),
                ),
                after=target,
                reversible=False,
                confirm=f"recomputes {target.name} from its query and replaces it as a whole",
                irreversible=lost,
                repeatable=True,
            ),
        )

    # --- data ---

    def build(self, order: Order, failpoint: Failpoint) -> int:
        self._prepare()
        known = self._rows(order.mark) if order.resumed else None
        if known is not None:
            return known
        try:
            statements = tuple(self._statements(order))
            step = Step(order.mark, ROWS_ONLY, Rung.REFRESH, "build", statements, order.live)
            self._backend.run(step, RunContext({}, lambda *_: None, _named(failpoint, order)))
        except EngineError as error:
            raise broken_key(error) from None
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
        yield from _guards(order)
        yield from _written(order, f"\n{order.sql}" if direct else f" SELECT * FROM {BATCH}")
        count = f"(SELECT count(*) FROM {qualified(order.live.name) if direct else BATCH})"
        yield f"INSERT INTO {self._marks} VALUES ({literal(order.mark)}, {count}, now())"

    def _batch(self, order: Order) -> str:
        if order.interval is None:
            return order.sql
        column, where = _interval(order)
        del column
        return f"SELECT * FROM (\n{order.sql}\n) AS batch WHERE {where}"

    def event_range(self, sql: str, column: str) -> Events:
        at = f"CAST({quote_double(column)} AS TIMESTAMP)"
        asked = f"min({at})::VARCHAR, max({at})::VARCHAR, count(*) - count({at})"
        first, last, nulls = self._ask(f"SELECT {asked} FROM (\n{sql}\n) AS batch")[0]
        return Events(first, last, int(nulls))

    def version(self, name: TableName, format_: str) -> str | None:
        del format_
        rows = self._ask(f"SELECT count(*), COALESCE(sum(hash(t)), 0) FROM {qualified(name)} AS t")
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

    def views(self, schema: str) -> Mapping[TableName, str]:
        rows = self._ask(_VIEWS, schema)
        return {TableName(str(s), str(v)): str(sql) for s, v, sql in rows}

    def interrupt(self) -> None:
        self._backend.interrupt()

    def _ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._backend.query(sql, *values)


def _named(failpoint: Failpoint, order: Order) -> Failpoint:
    what = "build" if order.interval is None else "interval"
    return lambda name: failpoint(f"{what}:{name}")


def _interval(order: Order) -> tuple[Column, str]:
    assert order.interval is not None
    assert order.model.incremental is not None
    name = str(order.model.incremental.event_time_column)
    column = next(c for c in order.live.columns if c.name.casefold() == name.casefold())
    quoted, type_ = quote_double(column.name), type_sql(column.type)
    start, stop = (
        f"CAST({literal(t)} AS {type_})" for t in (order.interval.start, order.interval.stop)
    )
    return column, f"{quoted} >= {start} AND {quoted} < {stop}"


def _guards(order: Order) -> Iterator[str]:
    """Statements that fail when a key is NULL or stands twice."""
    incremental = order.model.incremental
    if incremental is None:
        return
    table = order.model.table
    for key in incremental.columns:
        message = literal(f"E430 the incremental key '{key}' of {table} is NULL in some rows")
        where = f"FROM {BATCH} WHERE {quote_double(key)} IS NULL LIMIT 1"
        yield f"SELECT error({message}) {where}"
    if incremental.unique_key:
        keys = ", ".join(quote_double(k) for k in incremental.unique_key)
        told = ", ".join(incremental.unique_key)
        message = literal(f"E430 the unique key ({told}) of {table} stands twice in the new rows")
        yield f"SELECT error({message}) FROM {BATCH} GROUP BY {keys} HAVING count(*) > 1 LIMIT 1"


def _written(order: Order, rows: str) -> Iterator[str]:
    """`rows` is a query: the batch, or the model's own where nothing else looks at them."""
    name = qualified(order.live.name)
    incremental = order.model.incremental
    if incremental is None or order.whole:
        if facts_of(order.live) == Facts() and not order.live.constraints:
            yield f"CREATE OR REPLACE TABLE {name} {table_body(order.live)}"
        else:
            yield f"DELETE FROM {name}"
        yield from comments(order.live, name)
    elif incremental.unique_key:
        yield _merge(order, name)
        return
    elif incremental.partition_column:
        column = quote_double(incremental.partition_column)
        yield f"DELETE FROM {name} WHERE {column} IN (SELECT {column} FROM {BATCH})"
    else:
        _, where = _interval(order)
        yield f"DELETE FROM {name} WHERE {where}"
    yield f"INSERT INTO {name} BY NAME{rows}"


def _merge(order: Order, name: str) -> str:
    assert order.model.incremental is not None
    keys = {k.casefold() for k in order.model.incremental.unique_key}
    on = " AND ".join(
        f"t.{quote_double(k)} = s.{quote_double(k)}" for k in order.model.incremental.unique_key
    )
    outputs = [c.name for c in order.live.columns]
    rest = [c for c in outputs if c.casefold() not in keys]
    update = "UPDATE BY NAME" if rest else "DO NOTHING"
    return (
        f"MERGE INTO {name} AS t USING {BATCH} AS s ON {on}"
        f" WHEN MATCHED THEN {update} WHEN NOT MATCHED THEN INSERT BY NAME"
    )


def broken_key(error: EngineError) -> EngineError:
    """A guard's message as an error of its own."""
    if "E430 " not in error.message:
        return error
    told = error.message.split("E430 ", 1)[1].splitlines()[0]
    return EngineError("E430", told, hint=MEND_KEY)
