"""The statements that write a model's rows on DuckDB, and those that refuse a broken key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from instar.backends.duckdb.create import table_body
from instar.backends.duckdb.facts import Facts, Index, facts_of
from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.types import type_sql
from instar.backends.relational.create import comments
from instar.backends.sql import literal, qualified, quote_double
from instar.core.guards import refusal
from instar.core.schema import Table, Unique
from instar.core.types import Column
from instar.run.building import REACH, Order
from instar.run.keys import SHOWN, beside, far_times, in_keys, in_rows, null_keys, twice
from instar.sources.models import Model

BATCH = "__instar_batch"
STAYS = "__instar_stays"


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


def broken_rows(model: Model) -> Iterator[tuple[str, str]]:
    """Conditions of one row that breaks the model's key, each with what is wrong."""
    for key, message in null_keys(model):
        yield f"{quote_double(key)} IS NULL", message
    first, stop = (f"TIMESTAMP {literal(t)}" for t in REACH)
    for column, message in far_times(model):
        at = f"CAST({quote_double(column)} AS TIMESTAMP)"
        yield f"({at} < {first} OR {at} >= {stop})", message


def _doubled(model: Model) -> str:
    assert model.incremental is not None
    keys = ", ".join(quote_double(k) for k in model.incremental.unique_key)
    return f"GROUP BY {keys} HAVING count(*) > 1"


def guards(model: Model, rows: str) -> Iterator[str]:
    """Statements that fail when a key of `rows` is NULL, stands twice, or is no time of an interval."""

    def fails(message: str, rest: str) -> str:
        said = literal(refusal("E430", message))
        return f"SELECT error({said}) FROM {rows} {rest} LIMIT 1"

    for condition, message in broken_rows(model):
        yield fails(message, f"WHERE {condition}")
    if message := twice(model):
        yield fails(message, _doubled(model))


def key_problem(model: Model, sql: str, ask: Callable[[str], list[tuple[Any, ...]]]) -> str:
    """What a guard would refuse of a query's rows, with counts and examples; empty where nothing."""
    rows = f"(\n{sql}\n) AS batch"
    names = model.incremental.columns if model.incremental else ()
    texts = ", ".join(f"CAST({quote_double(n)} AS VARCHAR)" for n in names)
    for condition, message in broken_rows(model):
        if count := int(ask(f"SELECT count(*) FROM {rows} WHERE {condition}")[0][0]):
            found = f"SELECT DISTINCT {texts} FROM {rows} WHERE {condition}"
            keys = ask(f"{found} ORDER BY ALL LIMIT {SHOWN}")
            return in_rows(message, count, keys, partial(_beside, model, rows, condition, ask))
    if not (message := twice(model)):
        return ""
    each = f"SELECT count(*) AS n FROM {rows} {_doubled(model)}"
    doubled, total = ask(f"SELECT count(*), sum(n) FROM ({each}) AS doubled")[0]
    found = f"SELECT {texts} FROM {rows} {_doubled(model)} ORDER BY ALL LIMIT {SHOWN}"
    return in_keys(message, int(doubled), int(total), ask(found)) if doubled else ""


def _beside(
    model: Model, rows: str, condition: str, ask: Callable[[str], list[tuple[Any, ...]]]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    names = beside(model, [str(row[0]) for row in ask(f"DESCRIBE SELECT * FROM {rows}")])
    texts = ", ".join(f"CAST({quote_double(n)} AS VARCHAR)" for n in names)
    found = f"SELECT DISTINCT {texts} FROM {rows} WHERE {condition} ORDER BY ALL LIMIT {SHOWN}"
    return names, ask(found) if names else []


def written(order: Order, rows: str) -> Iterator[str]:
    """`rows` is a query: the batch, or the model's own where nothing else looks at them."""
    name = qualified(order.live.name)
    incremental = order.model.incremental
    insert = f"INSERT INTO {name} BY NAME{rows}"
    if incremental is None or order.whole:
        if facts_of(order.live).bound:
            yield f"DELETE FROM {name}"
            yield insert
        else:
            yield from _anew(order.live, insert)
    elif incremental.unique_key:
        yield _merge(order, name)
    else:
        column = quote_double(incremental.partition_column or "")
        by_value = f"{column} IN (SELECT {column} FROM {BATCH})"
        gone = by_value if incremental.partition_column else within(order)
        if _unique(order.live) and not facts_of(order.live).bound:
            yield f"CREATE OR REPLACE TEMP TABLE {STAYS} AS SELECT * FROM {name} WHERE ({gone}) IS NOT TRUE"
            yield from _anew(
                order.live, f"INSERT INTO {name} BY NAME SELECT * FROM {STAYS}", insert
            )
            yield f"DROP TABLE temp.{STAYS}"
        else:
            yield f"DELETE FROM {name} WHERE {gone}"
            yield insert


def in_one_statement(order: Order) -> str | None:
    """A table that is columns and rows alone, made anew; in a transaction it would cost a third more."""
    live = order.live
    if order.model.incremental is not None or not _plain(live):
        return None
    values = (
        f"CAST({quote_double(c.name)} AS {type_sql(c.type)}) AS {quote_double(c.name)}"
        for c in live.columns
    )
    rows = f"SELECT {', '.join(values)} FROM (\n{order.sql}\n) AS batch"
    return f"CREATE OR REPLACE TABLE {qualified(live.name)} AS {rows}"


def _plain(live: Table) -> bool:
    """Nothing hangs on the table that CREATE TABLE AS would lose."""
    said = (live.primary_key, live.constraints, live.comment)
    return not any(said) and facts_of(live) == Facts() and all(map(_plain_column, live.columns))


def _plain_column(column: Column) -> bool:
    said = (column.default, column.generated, column.comment)
    return column.nullable and not any(said)


def _unique(live: Table) -> bool:
    """DuckDB still sees a key that its own transaction has deleted: such a table is written anew."""
    keys = live.primary_key or any(isinstance(c, Unique) for c in live.constraints)
    return bool(keys) or any(index.unique for index in facts_of(live).indexes)


def _anew(live: Table, *inserts: str) -> Iterator[str]:
    """The table, its rows, and what hangs on it."""
    name, facts = qualified(live.name), facts_of(live)
    yield f"CREATE OR REPLACE TABLE {name} {table_body(live, dict(facts.collations))}"
    yield from comments(live, name)
    yield from inserts
    yield from kept_indexes(live, live)


def kept_indexes(live: Table, target: Table) -> Iterator[str]:
    """The indexes of a table that its successor can have too."""
    names = tuple(c.name for c in target.columns)
    for index in facts_of(live).indexes:
        if _fits(index, names):
            yield from index.again(target.name, names, {})


def lost_objects(live: Table, target: Table) -> Iterator[str]:
    """What hangs on a table and does not go over to its successor, in words."""
    names = tuple(c.name for c in target.columns)
    for index in facts_of(live).indexes:
        if not _fits(index, names):
            yield f"the index {index.name}"
    if live.primary_key and live.primary_key != target.primary_key:
        yield f"the primary key ({', '.join(live.primary_key)})"
    for constraint in live.constraints:
        if constraint not in target.constraints:
            yield f"the constraint {constraint.name}"


def _fits(index: Index, names: tuple[str, ...]) -> bool:
    there = {fold(n) for n in names}
    return index.expressions is not None and {fold(c) for c in index.columns} <= there


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
