"""The pure half of the Parquet backend: what it keeps, can do, and how it is said in Spark SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from instar.backends.spark import parquet_ddl as ddl
from instar.backends.spark.base import CatalogRules
from instar.backends.spark.keys import key_data
from instar.backends.spark.parquet_capability import alterable, capability
from instar.backends.spark.parquet_normalize import ParquetNormalizer
from instar.backends.spark.parquet_recreate import overlay_steps, rewrite_steps
from instar.backends.spark.statements import (
    comment_table,
    full_name,
    set_properties,
    unset_properties,
)
from instar.backends.spark.types import value_type
from instar.core.changes import (
    AddColumn,
    Change,
    ChangePrimaryKey,
    ChangeProperty,
    CommentChange,
    DefaultChange,
    ModifyColumn,
    modification,
)
from instar.core.evolve import evolve
from instar.core.plan import Capability, Job, Rung, Step
from instar.core.schema import Table, Wanted
from instar.core.types import Column
from instar.spark.conf import DELTA_CATALOG


class ParquetRules(CatalogRules):
    name = "parquet"
    normalizer = ParquetNormalizer
    positions = False

    def __init__(self, catalog: str = DELTA_CATALOG) -> None:
        super().__init__(catalog)

    def capability(self, change: Change, live: Table, wanted: Wanted) -> Capability:
        return capability(change, live, wanted, self.fold)

    def steps(self, job: Job) -> tuple[Step, ...]:
        if job.live is None:
            return _numbered(_create(self.catalog, job.target))
        if job.rung is Rung.REWRITE:
            return _numbered(rewrite_steps(self.catalog, job))
        made: list[Step] = []
        now, changes = job.live, job.changes
        if job.rung is Rung.OVERLAY:
            changes = tuple(c for c in job.changes if _at_end(c, job.live))
            now = evolve(job.live, tuple(c for c in job.changes if not _at_end(c, job.live)))
            made += overlay_steps(self.catalog, job, now)
        made += _Native(self, job, now).steps(changes)
        return _numbered(made)


def _at_end(change: Change, live: Table) -> bool:
    """What an overlay leaves to ALTER: it alone can give a new column its value in old rows."""
    if not isinstance(change, AddColumn) or len(change.path) > 1 or change.after is not None:
        return False
    return alterable(change.column, live)


def _numbered(steps: list[Step]) -> tuple[Step, ...]:
    return tuple(replace(s, id=f"{n}-{s.kind}") for n, s in enumerate(steps, 1))


def _create(catalog: str, target: Table) -> list[Step]:
    full = full_name(catalog, target.name)
    made = ddl.definition(full, target)
    folder = target.name.name.lower()
    plain = replace(target, columns=tuple(replace(c, default=None) for c in target.columns))
    steps = [
        Step(
            "",
            "create",
            Rung.METADATA,
            f"create {target.name}",
            (ddl.create_schema(catalog, target.name.schema), made.at(folder)),
            plain,
            data={"head": made.head, "tail": made.tail, "folder": folder},
        )
    ]
    if sql := ddl.defaults(full, target):
        title = f"set the defaults of {target.name}"
        steps.append(Step("", "default", Rung.METADATA, title, sql, target, repeatable=True))
    return steps


class _Native:
    """Statements that ALTER has, one a step; `now` is the table after the steps so far."""

    def __init__(self, rules: ParquetRules, job: Job, now: Table) -> None:
        self.rules, self.job, self.now = rules, job, now
        self.full = full_name(rules.catalog, job.target.name)

    def steps(self, changes: tuple[Change, ...]) -> Iterator[Step]:
        yield from self._adds([c for c in changes if isinstance(c, AddColumn)])
        for change in changes:
            if isinstance(change, ModifyColumn):
                yield from self._modified(change)
        keys = [c for c in changes if isinstance(c, ChangePrimaryKey)]
        for key in keys:
            yield self._key(key)
        yield from self._properties([c for c in changes if isinstance(c, ChangeProperty)])

    def _adds(self, adds: list[AddColumn]) -> Iterator[Step]:
        if not adds:
            return
        first = [self._as_added(a) for a in adds]
        table = self.now
        for add, column in zip(adds, first, strict=True):
            table = evolve(table, (replace(add, column=column, after=None),))
        words = ", ".join(c.name for c in first)
        step = self._step("add", f"add {words}", ddl.add_columns(self.full, first), table)
        yield replace(step, data={"new": json.dumps([c.name for c in first])})
        for add, column in zip(adds, first, strict=True):
            if column.default != add.column.default:
                yield self._default(add.column.name, column.default, add.column.default)

    def _as_added(self, add: AddColumn) -> Column:
        """The value for rows that are there stands as the default for as long as one statement."""
        hint = self.job.wanted.hint(add.path, self.rules.fold)
        if hint.default is None:
            return add.column
        cast = f"CAST({hint.default} AS {value_type(add.column.type)})"
        return replace(add.column, default=cast)

    def _default(self, name: str, old: str | None, new: str | None) -> Step:
        columns = tuple(replace(c, default=new) if c.name == name else c for c in self.now.columns)
        title = f"{'drop' if new is None else 'set'} the default of {name}"
        sql = ddl.set_default(self.full, name, new)
        after = replace(self.now, columns=columns)
        del old
        return self._step("default", title, sql, after, repeatable=True)

    def _modified(self, change: ModifyColumn) -> Iterator[Step]:
        name = change.path[-1]
        if default := modification(change, DefaultChange):
            yield self._default(name, default.old, default.new)
        if comment := modification(change, CommentChange):
            sql = ddl.comment_column(self.full, name, comment.new)
            after = evolve(self.now, (replace(change, modifications=(comment,)),))
            yield self._step("comment", f"comment on {name}", sql, after, repeatable=True)

    def _key(self, change: ChangePrimaryKey) -> Step:
        after = evolve(self.now, (change,))
        if change.new:
            sql = set_properties(self.full, {ddl.PRIMARY_KEY: json.dumps(change.new)})
        else:
            sql = unset_properties(self.full, [ddl.PRIMARY_KEY])
        title = f"write the primary key down: ({', '.join(change.new)})"
        step = self._step("key", title, sql, after, repeatable=True)
        return replace(step, data=key_data(self.job))

    def _properties(self, changes: list[ChangeProperty]) -> Iterator[Step]:
        for change in changes:
            if change.key == "comment":
                sql = comment_table(self.full, change.new)
            elif change.new is None:
                sql = unset_properties(self.full, [change.key])
            else:
                sql = set_properties(self.full, {change.key: change.new})
            after = evolve(self.now, (change,))
            yield self._step("property", f"set {change.key}", sql, after, repeatable=True)

    def _step(
        self, kind: str, title: str, sql: str, after: Table, *, repeatable: bool = False
    ) -> Step:
        self.now = after
        return Step("", kind, Rung.METADATA, title, (sql,), after, repeatable=repeatable)
