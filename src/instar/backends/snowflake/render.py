"""Snowflake's statements: ALTER in place, or CREATE … AS SELECT and SWAP WITH."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import assert_never

from instar.backends.snowflake.types import type_sql
from instar.backends.sql import literal, qualified, quote_double
from instar.backends.values import ValueWriter
from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangeClustering,
    ChangePartitioning,
    ChangePrimaryKey,
    ChangeProperty,
    CommentChange,
    CreateTable,
    DefaultChange,
    DropColumn,
    DropConstraint,
    Modification,
    ModifyColumn,
    Nullability,
    Rename,
    ReorderColumns,
    TypeChange,
)
from instar.core.evolve import evolve
from instar.core.plan import Job, Rung, Step, drop_question
from instar.core.schema import Table, TableName, Unique
from instar.core.types import Column, Type, path_text

q = quote_double

ASIDE, MISSING = "aside", "missing"
"""In the step that drops the old rows: their table, and the question whether the new one lacks any."""


class Renderer:
    """Writes the steps of one job."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        self._fold = fold

    def steps(self, job: Job) -> tuple[Step, ...]:
        if job.live is None:
            return (
                _step(job.target, 1, "create", f"create {job.target.name}", create_sql(job.target)),
            )
        if job.rung is Rung.REWRITE:
            return self._swap(job)
        return self._in_place(job, job.live)

    def _in_place(self, job: Job, live: Table) -> tuple[Step, ...]:
        steps: list[Step] = []
        done: tuple[Change, ...] = ()
        table = qualified(live.name)
        for change in job.changes:
            done = (*done, change)
            sql = self._alter(table, change, job)
            drop = isinstance(change, DropColumn)
            title = _title(change)
            steps.append(
                _step(
                    evolve(live, done),
                    len(steps) + 1,
                    "alter",
                    title,
                    sql,
                    destructive=drop,
                    confirm=drop_question(
                        [path_text(change.path)] if isinstance(change, DropColumn) else ()
                    ),
                )
            )
        return tuple(steps)

    def _alter(self, table: str, change: Change, job: Job) -> tuple[str, ...]:
        match change:
            case AddColumn(path, column):
                value = job.wanted.hint(path, self._fold).default or column.default
                return (f"ALTER TABLE {table} ADD COLUMN {column_sql(column, value)}",)
            case DropColumn(path):
                return (f"ALTER TABLE {table} DROP COLUMN {q(path[-1])}",)
            case ModifyColumn(_, _, _, _, modifications):
                fill = job.wanted.hint(change.path, self._fold).default
                return tuple(s for m in modifications for s in _modify(table, change, m, fill))
            case ChangePrimaryKey(old, new):
                drop = (f"ALTER TABLE {table} DROP PRIMARY KEY",) if old else ()
                add = (f"ALTER TABLE {table} ADD PRIMARY KEY ({_names(new)})",) if new else ()
                return (*drop, *add)
            case AddConstraint(Unique(name, columns)):
                return (f"ALTER TABLE {table} ADD CONSTRAINT {q(name)} UNIQUE ({_names(columns)})",)
            case DropConstraint(constraint):
                return (f"ALTER TABLE {table} DROP CONSTRAINT {q(constraint.name)}",)
            case ChangeClustering(_, new):
                if new:
                    return (f"ALTER TABLE {table} CLUSTER BY ({_names(new)})",)
                return (f"ALTER TABLE {table} DROP CLUSTERING KEY",)
            case ChangeProperty(key, _, value):
                return (f"ALTER TABLE {table} SET {_property(key, value)}",)
            case CreateTable() | ReorderColumns() | ChangePartitioning() | AddConstraint():
                raise AssertionError(f"{change} is not altered in place")
            case _:
                assert_never(change)

    def _swap(self, job: Job) -> tuple[Step, ...]:
        """The seed's own three statements; the copy is dropped only after the swap is seen."""
        assert job.live is not None
        name = job.live.name
        aside = TableName(name.schema, f"{name.name}__swap")
        values = ", ".join(ValueWriter(SnowflakeValues()).select_list(job.projection))
        build = f"{_create_head(job.target, aside)} AS\nSELECT {values} FROM {qualified(name)}"
        swap = f"ALTER TABLE {qualified(name)} SWAP WITH {qualified(aside)}"
        ask = (
            f"{name} is rewritten and swapped; {aside} then holds the old rows, and is dropped when the"
            " table has them all. Writers must stop: what they write before the swap is not copied"
        )
        columns = ", ".join(q(field.column.name) for field in job.projection)
        missing = (
            f"SELECT {values} FROM {qualified(aside)} MINUS SELECT {columns} FROM {qualified(name)}"
        )
        return (
            _step(job.live, 1, "copy", f"build {aside}", (build,), rung=Rung.REWRITE, confirm=ask),
            _step(job.target, 2, "swap", f"swap {name} with {aside}", (swap,), rung=Rung.REWRITE),
            _step(
                job.target,
                3,
                "drop",
                f"drop {aside}",
                (f"DROP TABLE IF EXISTS {qualified(aside)}",),
                rung=Rung.REWRITE,
                destructive=True,
                repeatable=True,
                data={ASIDE: aside.name, MISSING: f"SELECT COUNT(*) AS N FROM ({missing})"},
            ),
        )


class SnowflakeValues:
    """Scalars only: nested values are VARIANT here."""

    def quote(self, name: str) -> str:
        return q(name)

    def type_sql(self, type_: Type) -> str:
        return type_sql(type_)

    def field(self, value: str, name: str) -> str:
        return f"{value}:{q(name)}"

    def build_struct(self, fields: Sequence[tuple[str, str]]) -> str:
        inner = ", ".join(f"{literal(n)}, {v}" for n, v in fields)
        return f"OBJECT_CONSTRUCT_KEEP_NULL({inner})"

    def map_array(self, value: str, var: str, body: str) -> str:
        return f"TRANSFORM({value}, {var} -> {body})"

    def map_map(self, value: str, key: str, val: str, key_body: str, val_body: str) -> str:
        raise AssertionError("maps are VARIANT on Snowflake")

    def any_in_array(self, value: str, var: str, predicate: str) -> str:
        return f"ARRAY_SIZE(FILTER({value}, {var} -> {predicate})) > 0"

    def any_in_map(self, value: str, key: str, val: str, predicate: str) -> str:
        raise AssertionError("maps are VARIANT on Snowflake")

    def cast(self, value: str, old: Type | None, new: Type) -> str:
        return f"CAST({value} AS {type_sql(new)})"

    def try_cast(self, value: str, old: Type | None, new: Type) -> str:
        return f"TRY_CAST(TO_VARCHAR({value}) AS {type_sql(new)})"

    def lossy(self, value: str, old: Type, new: Type) -> str:
        there = self.try_cast(value, old, new)
        back = self.try_cast(there, new, old)
        return f"({value} IS NOT NULL AND ({there} IS NULL OR NOT EQUAL_NULL({back}, {value})))"


def create_sql(table: Table) -> tuple[str, ...]:
    comments = [
        f"COMMENT ON COLUMN {qualified(table.name)}.{q(c.name)} IS {literal(c.comment)}"
        for c in table.columns
        if c.comment
    ]
    schema = f"CREATE SCHEMA IF NOT EXISTS {q(table.name.schema)}"
    tail = f" COMMENT = {literal(table.comment)}" if table.comment else ""
    return (schema, _create_head(table, table.name) + tail, *comments)


def _create_head(table: Table, name: TableName) -> str:
    parts = [column_sql(c, c.default) for c in table.columns]
    if table.primary_key:
        parts.append(f"PRIMARY KEY ({_names(table.primary_key)})")
    parts += [
        f"CONSTRAINT {q(c.name)} UNIQUE ({_names(c.columns)})"
        for c in table.constraints
        if isinstance(c, Unique)
    ]
    body = ",\n  ".join(parts)
    cluster = f" CLUSTER BY ({_names(table.cluster_by)})" if table.cluster_by else ""
    tracked = " CHANGE_TRACKING = TRUE" if table.change_tracking else ""
    return f"CREATE TABLE {qualified(name)} (\n  {body}\n){cluster}{tracked}"


def column_sql(column: Column, default: str | None) -> str:
    required = "" if column.nullable else " NOT NULL"
    value = f" DEFAULT {default}" if default is not None else ""
    return f"{q(column.name)} {type_sql(column.type)}{required}{value}"


def _modify(
    table: str, change: ModifyColumn, modification: Modification, fill: str | None
) -> tuple[str, ...]:
    name = q(change.path[-1])
    alter = f"ALTER TABLE {table} ALTER COLUMN {name}"
    match modification:
        case Rename(old, new):
            return (f"ALTER TABLE {table} RENAME COLUMN {q(old)} TO {q(new)}",)
        case TypeChange(_, new_type):
            return (f"{alter} SET DATA TYPE {type_sql(new_type)}",)
        case Nullability(_, nullable):
            if nullable:
                return (f"{alter} DROP NOT NULL",)
            mend = f"UPDATE {table} SET {name} = {fill} WHERE {name} IS NULL"
            return (*([mend] if fill is not None else []), f"{alter} SET NOT NULL")
        case DefaultChange():
            return (f"{alter} DROP DEFAULT",)
        case CommentChange(_, comment):
            return (f"COMMENT ON COLUMN {table}.{name} IS {literal(comment or '')}",)
        case _:
            assert_never(modification)


def _property(key: str, value: str | None) -> str:
    if key == "change_tracking":
        return f"CHANGE_TRACKING = {'TRUE' if value == 'true' else 'FALSE'}"
    return f"COMMENT = {literal(value or '')}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(q(n) for n in names)


def _title(change: Change) -> str:
    match change:
        case AddColumn(path):
            return f"add column {path_text(path)}"
        case DropColumn(path):
            return f"drop column {path_text(path)}"
        case ModifyColumn(path):
            return f"change column {path_text(path)}"
        case _:
            return type(change).__name__


def _step(
    after: Table,
    number: int,
    kind: str,
    title: str,
    sql: tuple[str, ...],
    *,
    rung: Rung = Rung.METADATA,
    destructive: bool = False,
    confirm: str | None = None,
    repeatable: bool = False,
    data: Mapping[str, str] = MappingProxyType({}),
) -> Step:
    return Step(
        id=f"{after.name}/{number}",
        kind=kind,
        rung=rung,
        title=title,
        sql=sql,
        after=after,
        destructive=destructive,
        reversible=not destructive,
        confirm=confirm,
        repeatable=repeatable,
        data=data,
    )
