"""Native steps for one table: each DDL a transaction of its own, each with its way of telling whether it is done.

Order: new columns that are filled; fills in batches; everything that only the catalog has to know; CHECKs
and unique keys, each proven by a job of the service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from instar.backends.postgres.fill import Fill
from instar.backends.postgres.inspect import HELPER
from instar.backends.postgres.key import chosen_key
from instar.backends.postgres.names import fitted
from instar.backends.postgres.native import until_last
from instar.backends.postgres.renaming import ordered_renames
from instar.backends.postgres.script import (
    Part,
    either,
    has_constraint,
    has_index,
    script,
    script_step,
)
from instar.backends.postgres.types import type_sql
from instar.backends.postgres.values import PostgresValues, PostgresWriter
from instar.backends.relational.create import comment_table, names
from instar.backends.relational.steps import alter_step, numbered
from instar.backends.sql import literal, qualified, quote_double
from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangeProperty,
    DefaultChange,
    DropColumn,
    ModifyColumn,
    Nullability,
    Rename,
    modification,
)
from instar.core.evolve import evolve
from instar.core.plan import Job, Step
from instar.core.projection import FieldCarry, FromExpression
from instar.core.schema import Check, Table, Unique
from instar.core.types import Type


def native_steps(job: Job, known: Mapping[str, Type]) -> tuple[Step, ...]:
    """The job as steps; the last one's `after` is the target."""
    return numbered(_Native(job, known).steps(), job.target)


@dataclass(slots=True)
class _Native:
    job: Job
    known: Mapping[str, Type]

    @property
    def live(self) -> Table:
        assert self.job.live is not None
        return self.job.live

    @property
    def alter(self) -> str:
        return f"ALTER TABLE {qualified(self.live.name)}"

    def steps(self) -> Iterator[Step]:
        table = self.live
        fields = {f.column.name: f for f in self.job.projection}
        slow = [c for c in self.job.changes if isinstance(c, AddColumn) and _by_rows(c, fields)]
        early = until_last([c for c in self.job.changes if isinstance(c, AddColumn)], slow)
        rest = [c for c in self.job.changes if c not in early and not isinstance(c, AddConstraint)]
        if early:
            table = evolve(table, tuple(early))
            yield self._alter(early, [p for c in early for p in self._add(c)], table)
            yield self._fill(slow, fields, table)
        if rest:
            table = evolve(table, tuple(rest))
            yield self._alter(rest, list(self._parts(rest)), table)
        for change in self.job.changes:
            match change:
                case AddConstraint(Check() as check):
                    table = evolve(table, (change,))
                    yield self._check(check, table)
                case AddConstraint(Unique() as unique):
                    table = evolve(table, (change,))
                    yield self._unique(unique, table)
                case _:
                    pass

    def _alter(self, changes: Sequence[Change], parts: list[Part], after: Table) -> Step:
        sql = (sql for part in parts for sql in part.sql)
        return alter_step(changes, sql, after, data=script(parts))

    def _parts(self, changes: Sequence[Change]) -> Iterator[Part]:
        """Columns go first, then names; new columns may take a name set free."""
        for change in changes:
            if isinstance(change, DropColumn):
                name = change.path[0]
                sql = f"{self.alter} DROP COLUMN {quote_double(name)}"
                yield Part((sql,), f"SELECT NOT {self._has(name)}", once=True)
        yield from self._renames(changes)
        for change in changes:
            match change:
                case AddColumn():
                    yield from self._add(change)
                case ModifyColumn():
                    yield from self._modified(change)
                case ChangeProperty("comment", _, text):
                    yield Part((comment_table(qualified(self.live.name), text),), once=True)
                case _:
                    pass

    def _renames(self, changes: Sequence[Change]) -> Iterator[Part]:
        modified = [c for c in changes if isinstance(c, ModifyColumn) and modification(c, Rename)]
        dropped = {c.path[0] for c in changes if isinstance(c, DropColumn)}
        renames = {c.old_path[0]: c.path[0] for c in modified}
        origin = {name: name for name in renames}
        for old, new in ordered_renames(renames, {c.name for c in self.live.columns} - dropped):
            source = origin[new] = origin.pop(old)
            sql = f"{self.alter} RENAME COLUMN {quote_double(old)} TO {quote_double(new)}"
            yield Part((sql,), f"SELECT {self._has(source, named=new)}", once=True)

    def _has(self, live_name: str, named: str | None = None) -> str:
        """Whether the column that was live under a name is there (under another): its number tells."""
        column = self.live.column((live_name,))
        assert column is not None
        name = "" if named is None else f" AND attname = {literal(named)}"
        return (
            f"EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = "
            f"{literal(qualified(self.live.name))}::regclass AND attnum = {column.identity} "
            f"AND NOT attisdropped{name})"
        )

    def _add(self, change: AddColumn) -> Iterator[Part]:
        column, quoted = change.column, quote_double(change.path[0])
        there = (
            f"SELECT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = "
            f"{literal(qualified(self.live.name))}::regclass AND attnum > 0 AND NOT attisdropped "
            f"AND attname = {literal(column.name)})"
        )
        yield Part((f"{self.alter} ADD COLUMN {quoted} {type_sql(column.type)}",), there, once=True)
        if column.default is not None:
            sql = f"{self.alter} ALTER COLUMN {quoted} SET DEFAULT {column.default}"
            yield Part((sql,), once=True)

    def _modified(self, change: ModifyColumn) -> Iterator[Part]:
        column = f"{self.alter} ALTER COLUMN {quote_double(change.path[0])}"
        for mark in change.modifications:
            match mark:
                case Nullability(_, True):
                    yield Part((f"{column} DROP NOT NULL",), once=True)
                case DefaultChange(_, None):
                    yield Part((f"{column} DROP DEFAULT",), once=True)
                case DefaultChange(_, text):
                    yield Part((f"{column} SET DEFAULT {text}",), once=True)
                case _:
                    pass

    def _fill(self, slow: list[AddColumn], fields: Mapping[str, FieldCarry], after: Table) -> Step:
        writer = PostgresWriter(PostgresValues(self.known))
        sets = tuple((c.path[0], writer.source(fields[c.path[0]], None)) for c in slow)
        key = chosen_key(self.live)
        name = self.live.name
        fill = Fill(name.schema, name.name, sets, tuple(c for c, _ in sets), key)
        return fill.step(f"{fill.words} in batches by {', '.join(c for c, _ in key)}", after)

    def _step(self, kind: str, words: str, parts: list[Part], after: Table) -> Step:
        return script_step(kind, f"{words}, proven by a job", parts, after)

    def _check(self, check: Check, after: Table) -> Step:
        """One that is there and waits for its validation is only validated."""
        name, quoted = after.name, quote_double(check.name)
        add = f"{self.alter} ADD CONSTRAINT {quoted} CHECK ({check.expression}) NOT VALID"
        drop = f"{self.alter} DROP CONSTRAINT IF EXISTS {quoted}"
        validate = f"ALTER TABLE ASYNC {qualified(name)} VALIDATE CONSTRAINT {quoted}"
        valid = has_constraint(name, check.name, valid=True)
        parts = [
            Part((add,), has_constraint(name, check.name)),
            Part((validate,), valid, outside=True, cleanup=drop),
        ]
        return self._step("check", f"add constraint {check.name}", parts, after)

    def _unique(self, unique: Unique, after: Table) -> Step:
        """An index that a crash left invalid is dropped, which ends its job, and built again."""
        index = fitted(unique.name, f"{HELPER}key")
        drop = f"DROP INDEX IF EXISTS {quote_double(after.name.schema)}.{quote_double(index)}"
        create = (
            f"CREATE UNIQUE INDEX ASYNC {quote_double(index)} "
            f"ON {qualified(after.name)} ({names(unique.columns)})"
        )
        attach = (
            f"{self.alter} ADD CONSTRAINT {quote_double(unique.name)} "
            f"UNIQUE USING INDEX {quote_double(index)}"
        )
        done = has_constraint(after.name, unique.name, columns=unique.columns)
        built = either(done, has_index(after.name, index))
        parts = [
            Part((drop,), built),
            Part((create,), built, outside=True, cleanup=drop),
            Part((attach,), done),
        ]
        return self._step("key", f"add constraint {unique.name}", parts, after)


def _by_rows(change: AddColumn, fields: Mapping[str, FieldCarry]) -> bool:
    return isinstance(fields[change.path[0]].source, FromExpression)
