"""The statements that write a model's rows on DuckDB, and those that refuse a broken key."""

from __future__ import annotations

from collections.abc import Iterator

from instar.backends.duckdb.create import table_body
from instar.backends.duckdb.facts import Facts, facts_of
from instar.backends.duckdb.types import type_sql
from instar.backends.relational.create import comments
from instar.backends.sql import literal, qualified, quote_double
from instar.core.guards import refusal
from instar.run.building import REACH, Order
from instar.run.keys import far_times, null_keys, twice
from instar.sources.models import Model

BATCH = "__instar_batch"


def within(order: Order) -> str:
    """The condition of an interval."""
    assert order.interval is not None
    assert order.model.incremental is not None
    name = str(order.model.incremental.event_time_column)
    column = next(c for c in order.live.columns if c.name.casefold() == name.casefold())
    quoted, type_ = quote_double(column.name), type_sql(column.type)
    start, stop = (
        f"CAST({literal(t)} AS {type_})" for t in (order.interval.start, order.interval.stop)
    )
    return f"{quoted} >= {start} AND {quoted} < {stop}"


def guards(model: Model, rows: str) -> Iterator[str]:
    """Statements that fail when a key of `rows` is NULL, stands twice, or is no time of an interval."""

    def fails(message: str, rest: str) -> str:
        said = literal(refusal("E430", message))
        return f"SELECT error({said}) FROM {rows} {rest} LIMIT 1"

    for key, message in null_keys(model):
        yield fails(message, f"WHERE {quote_double(key)} IS NULL")
    for column, message in far_times(model):
        at = f"CAST({quote_double(column)} AS TIMESTAMP)"
        first, stop = (f"TIMESTAMP {literal(t)}" for t in REACH)
        yield fails(message, f"WHERE {at} < {first} OR {at} >= {stop}")
    if message := twice(model):
        assert model.incremental is not None
        keys = ", ".join(quote_double(k) for k in model.incremental.unique_key)
        yield fails(message, f"GROUP BY {keys} HAVING count(*) > 1")


def written(order: Order, rows: str) -> Iterator[str]:
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
        yield f"DELETE FROM {name} WHERE {within(order)}"
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
