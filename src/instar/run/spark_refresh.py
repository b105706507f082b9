"""A full refresh on Spark: computed and put in by one statement where the format can, else by renames."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator

from instar.backends.base import SWITCH
from instar.backends.spark import delta_sql, parquet_ddl
from instar.backends.spark.aside import aside_name, out_name
from instar.backends.spark.iceberg_ddl import FORMAT_VERSION, create_table
from instar.backends.spark.statements import properties_sql
from instar.backends.spark.types import spark_type, value_type
from instar.backends.sql import literal_spark, qualified, quote_backtick
from instar.core.guards import refusal
from instar.core.plan import Rung, Step
from instar.core.schema import Table, TableName
from instar.core.types import Array, Column, Decimal, Map, Struct, Type, children
from instar.run.building import REACH
from instar.run.keys import far_times, null_keys, twice
from instar.sources.models import Model

_TWICE = "__instar_twice"


def refresh_steps(
    model: Model, target: Table, place: str, sql: str, location: str, *, exact: bool
) -> tuple[Step, ...]:
    """`location` is where the files of the live table lie; Delta does not ask. `exact`: CREATE … AS on Iceberg
    takes over what of the query may be NULL."""
    lost = ("rows that the query no longer returns",) if model.incremental else ()
    exact = exact and model.format == "iceberg"
    select = _selected(model, target, sql, _exact if exact else _column)
    required = not exact and any(not c.nullable for c in target.columns)
    if model.format == "parquet":
        statements = _parquet(target, place, select, _next_folder(location, select))
    elif model.format == "iceberg" and required:
        folder = _next_folder(location, select) if location else None
        statements = _iceberg_aside(target, place, select, folder)
    else:
        statements = _STATEMENTS[model.format](target, place, select)
    step = Step(
        id="1-refresh",
        kind="refresh",
        rung=Rung.REFRESH,
        title=f"recompute {target.name} from its query",
        sql=statements,
        after=target,
        reversible=False,
        confirm=f"recomputes {target.name} from its query and replaces it as a whole",
        irreversible=lost,
        repeatable=model.format != "parquet",
    )
    return (step,)


def to_table_steps(model: Model, target: Table, place: str, sql: str) -> tuple[Step, ...]:
    """Built aside, then the view goes and the table takes its name; each statement bears repetition."""
    aside = TableName(target.name.schema, f"{target.name.name}__instar_new")
    full = f"{place.split('.', 1)[0]}.{qualified(aside, backtick=True)}"
    select = _selected(model, target, sql, _column)
    if model.format == "delta":
        said = properties_sql(delta_sql.create_properties(target, frozenset()))
        how = f"USING delta TBLPROPERTIES ({said})"
    else:
        how = f"USING parquet{_partitioned(target)}"
    return (
        Step(
            id="1-switch",
            kind=SWITCH,
            rung=Rung.REFRESH,
            title=f"replace view {target.name} by a table computed from its query",
            sql=(
                f"DROP TABLE IF EXISTS {full}",
                f"CREATE TABLE {full} {how} AS\n{select}",
                f"DROP VIEW IF EXISTS {place}",
                f"ALTER TABLE {full} RENAME TO {qualified(target.name, backtick=True)}",
            ),
            after=target,
            confirm=f"{target.name} is a view; it becomes a table that holds its rows,"
            " and the name is missing for a moment",
        ),
    )


def _partitioned(target: Table) -> str:
    by = ", ".join(map(quote_backtick, target.partition_by))
    return f" PARTITIONED BY ({by})" if by else ""


def broken_rows(model: Model) -> Iterator[tuple[str, str]]:
    """Conditions of one row that breaks the model's key, each with what is wrong."""
    for key, message in null_keys(model):
        yield f"{quote_backtick(key)} IS NULL", message
    first, stop = (f"TIMESTAMP_NTZ {literal_spark(t)}" for t in REACH)
    for column, message in far_times(model):
        at = f"CAST({quote_backtick(column)} AS TIMESTAMP_NTZ)"
        yield f"({at} < {first} OR {at} >= {stop})", message
    by = model.incremental.partition_column if model.incremental else None
    if by and model.format == "parquet":
        # A folder has no name for it: it would be read back as NULL.
        told = f"the partition column '{by}' of {model.table} is an empty text in some rows"
        yield f"CAST({quote_backtick(by)} AS STRING) = ''", told


def _selected(model: Model, target: Table, sql: str, column: Callable[[Column], str]) -> str:
    """The query with exactly the columns and scalar types of the target; a broken key fails in it."""
    columns = ", ".join(f"{column(c)} AS {quote_backtick(c.name)}" for c in target.columns)
    if model.incremental is None:
        return f"SELECT {columns} FROM (\n{sql}\n)"
    broken = list(broken_rows(model))
    source = f"(\n{sql}\n)"
    if message := twice(model):
        keys = ", ".join(quote_backtick(k) for k in model.incremental.unique_key)
        source = f"(SELECT *, count(*) OVER (PARTITION BY {keys}) AS {_TWICE} FROM {source})"
        broken.append((f"{_TWICE} > 1", message))
    cases = " ".join(
        f"WHEN {condition} THEN CAST(raise_error({literal_spark(refusal('E430', text))}) AS BOOLEAN)"
        for condition, text in broken
    )
    return f"SELECT {columns} FROM {source} WHERE CASE {cases} ELSE TRUE END"


def _column(column: Column) -> str:
    quoted = quote_backtick(column.name)
    nested = bool(children(column.type))
    return quoted if nested else f"CAST({quoted} AS {spark_type(column.type)})"


def _exact(column: Column) -> str:
    """Spark's analyser must see what may be NULL, at every depth, and what may not: a NULL there fails."""
    value = f"IF(TRUE, {_column(column)}, CAST(NULL AS {value_type(column.type)}))"
    if column.nullable:
        return value
    words = refusal("E210", f"the query gives NULL for '{column.name}', which is NOT NULL")
    return f"coalesce({value}, raise_error({literal_spark(words)}), {_something(column.type)})"


_SOMETHING = {
    "BOOLEAN": "FALSE",
    "INT": "0",
    "BIGINT": "0L",
    "FLOAT": "0F",
    "DOUBLE": "0D",
    "STRING": "''",
    "BINARY": "X''",
    "DATE": "DATE '1970-01-01'",
    "TIMESTAMP": "TIMESTAMP '1970-01-01 00:00:00'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ '1970-01-01 00:00:00'",
    "VARIANT": "to_variant_object(map('', 0))",
}


def _something(type_: Type) -> str:
    """Any value of the type, never reached: behind it Spark's analyser knows that there is no NULL."""
    match type_:
        case Struct(fields):
            pairs = (f"{literal_spark(f.name)}, CAST(NULL AS {value_type(f.type)})" for f in fields)
            return f"named_struct({', '.join(pairs)})"
        case Array():
            return "array()"
        case Map():
            return "map()"
        case Decimal(_, scale):
            return f"{'0.' + '0' * scale if scale else '0'}BD"
        case _:
            return _SOMETHING[value_type(type_)]


def _delta(target: Table, place: str, select: str) -> tuple[str, ...]:
    properties = delta_sql.create_properties(target, frozenset())
    said = properties_sql(properties)
    return (f"CREATE OR REPLACE TABLE {place} USING delta TBLPROPERTIES ({said}) AS\n{select}",)


def _iceberg(target: Table, place: str, select: str) -> tuple[str, ...]:
    said = properties_sql({FORMAT_VERSION: "2", **target.properties})
    return (f"CREATE OR REPLACE TABLE {place} USING iceberg TBLPROPERTIES ({said}) AS\n{select}",)


def _iceberg_aside(target: Table, place: str, select: str, folder: str | None) -> tuple[str, ...]:
    """For a session in which CREATE … AS makes every column nullable: filled aside and renamed in; each
    statement bears repetition."""
    full = f"{place.split('.', 1)[0]}.{qualified(aside_name(target.name), backtick=True)}"
    return (
        f"DROP TABLE IF EXISTS {full}",
        create_table(full, target, folder),
        f"INSERT INTO {full} BY NAME\n{select}",
        f"DROP TABLE IF EXISTS {place}",
        f"ALTER TABLE {full} RENAME TO {qualified(target.name, backtick=True)}",
    )


def _next_folder(location: str, select: str) -> str:
    """A folder of its own for every refresh; the same one each time that it is planned."""
    digest = hashlib.sha256(f"{location}\0{select}".encode()).hexdigest()[:8]
    return re.sub(r"(__instar_[0-9a-f]{8})?/?$", "", location) + f"__instar_{digest}"


def _parquet(target: Table, place: str, select: str, folder: str) -> tuple[str, ...]:
    """Built aside, then two renames: between them the name is gone for a moment."""
    name = target.name
    aside, old = aside_name(name), out_name(name)
    catalog = place.split(".", 1)[0]

    def full(other: TableName) -> str:
        return f"{catalog}.{qualified(other, backtick=True)}"

    return (
        f"DROP TABLE IF EXISTS {full(aside)}",
        f"DROP TABLE IF EXISTS {full(old)}",
        parquet_ddl.definition(full(aside), target).at(folder),
        # Not CREATE … AS, which refuses a folder in which a refresh that was cut off has left files.
        f"INSERT OVERWRITE {full(aside)} BY NAME\n{select}",
        f"ALTER TABLE {place} RENAME TO {qualified(old, backtick=True)}",
        f"ALTER TABLE {full(aside)} RENAME TO {qualified(name, backtick=True)}",
        f"DROP TABLE {full(old)}",
    )


_STATEMENTS = {"delta": _delta, "iceberg": _iceberg}
