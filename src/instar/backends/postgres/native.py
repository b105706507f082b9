"""Native steps for one table: the catalog's part in one short transaction, the rows' part while writers go on.

Order: new columns that are filled; fills in batches; everything that only the catalog has to know; then
NOT NULL, CHECKs and keys, each proven by PostgreSQL under a lock that lets writers pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from instar.backends.postgres.facts import Facts, facts_of
from instar.backends.postgres.fill import Fill
from instar.backends.postgres.inspect import HELPER
from instar.backends.postgres.key import chosen_key
from instar.backends.postgres.names import fitted
from instar.backends.postgres.renaming import ordered_renames
from instar.backends.postgres.script import (
    Part,
    either,
    has_constraint,
    has_index,
    is_required,
    script,
    script_step,
)
from instar.backends.postgres.spelling import spelled
from instar.backends.postgres.types import type_sql
from instar.backends.postgres.values import PostgresValues, PostgresWriter
from instar.backends.postgres.words import EXCLUSIVE, SHARED, locked
from instar.backends.relational.create import comment_column, comment_table, names
from instar.backends.relational.steps import alter_step, numbered
from instar.backends.relational.words import title
from instar.backends.sql import qualified, quote_double
from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangePrimaryKey,
    ChangeProperty,
    CommentChange,
    DefaultChange,
    DropColumn,
    DropConstraint,
    ModifyColumn,
    Nullability,
    Rename,
    TypeChange,
    modification,
)
from instar.core.evolve import evolve
from instar.core.plan import Job, Step
from instar.core.projection import FieldCarry, FromExpression, FromOld, Same
from instar.core.schema import Check, Table, Unique
from instar.core.types import Column, Type


def native_steps(job: Job, known: Mapping[str, Type], timeout: float) -> tuple[Step, ...]:
    """The job as steps; the last one's `after` is the target."""
    return numbered(_Native(job, known, timeout).steps(), job.target)


@dataclass(slots=True)
class _Native:
    job: Job
    known: Mapping[str, Type]
    timeout: float

    @property
    def live(self) -> Table:
        assert self.job.live is not None
        return self.job.live

    @property
    def facts(self) -> Facts:
        return facts_of(self.live)

    @property
    def alter(self) -> str:
        return f"ALTER TABLE {qualified(self.live.name)}"

    def steps(self) -> Iterator[Step]:
        table = self.live
        adds = [c for c in self.job.changes if isinstance(c, AddColumn)]
        fields = {f.column.name: f for f in self.job.projection}
        slow = [c for c in adds if self._by_rows(fields[c.path[0]])]
        early = until_last(adds, slow)
        wide = [
            replace(c, column=replace(c.column, nullable=True)) if c in slow else c for c in early
        ]
        fill = self._fill(slow, fields)
        if early:
            table = evolve(table, tuple(wide))
            yield self._alter(wide, list(self._adds(wide, fields, unfilled=slow)), table)
        if fill is not None:
            yield self._fill_step(fill, table)
        late = [c for c in self.job.changes if self._in_key(c)]
        rest = [c for c in map(self._later, self.job.changes) if c is not None and c not in early]
        rest = [c for c in rest if c not in late]
        if rest:
            table = evolve(table, tuple(rest))
            yield self._alter(rest, list(self._statements(rest, fields)), table)
        for column in self._required(slow):
            table = _with_required(table, column)
            yield self._require(column, table)
        for change in self.job.changes:
            match change:
                case AddConstraint(Check() as check):
                    table = evolve(table, (change,))
                    yield self._check(check, table)
                case AddConstraint(Unique(name, columns)):
                    table = evolve(table, (change,))
                    yield self._key(change, name, columns, table)
                case ChangePrimaryKey(_, new) if new:
                    table = evolve(table, (change,))
                    yield self._primary(change, table)
                case _:
                    pass
        if late:
            table = evolve(table, tuple(late))
            yield self._alter(late, list(self._statements(late, fields)), table)

    def _in_key(self, change: Change) -> bool:
        """A column that goes would take the primary key with it: the new key comes first."""
        return isinstance(change, DropColumn) and change.path[0] in self.live.primary_key

    def _by_rows(self, field: FieldCarry) -> bool:
        if not isinstance(field.source, FromExpression):
            return False
        found = spelled(field.source.sql, tuple(c.name for c in self.live.columns))
        return bool(found.columns or found.volatile)

    def _later(self, change: Change) -> Change | None:
        """What goes into the short transaction: without what has to look at rows."""
        match change:
            case AddConstraint() | ChangePrimaryKey(_, (_, *_)):
                return None
            case ModifyColumn(_, _, _, _, modifications):
                kept = tuple(
                    m for m in modifications if not (isinstance(m, Nullability) and not m.new)
                )
                return replace(change, modifications=kept) if kept else None
            case _:
                return change

    def _required(self, slow: list[AddColumn]) -> list[str]:
        """Columns, by their new names, that become NOT NULL once their rows have a value."""
        made = [c.path[0] for c in slow if not c.column.nullable]
        for change in self.job.changes:
            if isinstance(change, ModifyColumn):
                mark = modification(change, Nullability)
                if mark is not None and not mark.new:
                    made.append(change.path[0])
        return made

    def _alter(self, changes: list[Change] | list[AddColumn], sql: list[str], after: Table) -> Step:
        words = locked(title(changes), EXCLUSIVE, self.timeout)
        return alter_step(changes, sql, after, words=words, data=script([Part(tuple(sql))]))

    def _statements(self, changes: list[Change], fields: Mapping[str, FieldCarry]) -> Iterator[str]:
        """Constraints go first, then columns, then names; new columns may take a name set free."""
        modified = [c for c in changes if isinstance(c, ModifyColumn)]
        for change in changes:
            match change:
                case DropConstraint(constraint):
                    yield f"{self.alter} DROP CONSTRAINT {quote_double(constraint.name)}"
                case ChangePrimaryKey(_, ()):
                    assert self.facts.primary is not None
                    yield f"{self.alter} DROP CONSTRAINT {quote_double(self.facts.primary.name)}"
                case _:
                    pass
        for change in changes:
            if isinstance(change, DropColumn):
                yield f"{self.alter} DROP COLUMN {quote_double(change.path[0])}"
        renames = {c.old_path[0]: c.path[0] for c in modified if modification(c, Rename)}
        dropped = {c.path[0] for c in changes if isinstance(c, DropColumn)}
        taken = {c.name for c in self.live.columns} - dropped
        for old, new in ordered_renames(renames, taken):
            yield f"{self.alter} RENAME COLUMN {quote_double(old)} TO {quote_double(new)}"
        yield from self._adds([c for c in changes if isinstance(c, AddColumn)], fields)
        for change in modified:
            yield from self._modified(change)
        for change in changes:
            if isinstance(change, ChangeProperty) and change.key == "comment":
                yield comment_table(qualified(self.live.name), change.new)

    def _adds(
        self,
        adds: list[AddColumn],
        fields: Mapping[str, FieldCarry],
        unfilled: Sequence[AddColumn] = (),
    ) -> Iterator[str]:
        """`unfilled`: rows get these values later, by themselves."""
        writer = PostgresWriter(PostgresValues(self.known))
        waits = {c.path[0] for c in unfilled}
        for change in adds:
            column, quoted = change.column, quote_double(change.path[0])
            field = fields[change.path[0]]
            add = f"{self.alter} ADD COLUMN {quoted} {type_sql(column.type)}"
            has_value = column.name not in waits and isinstance(field.source, FromExpression)
            if has_value:
                add += f" DEFAULT ({writer.source(field, None)})"
            yield add if column.nullable else f"{add} NOT NULL"
            if column.default is not None:
                yield f"{self.alter} ALTER COLUMN {quoted} SET DEFAULT {column.default}"
            elif has_value:
                yield f"{self.alter} ALTER COLUMN {quoted} DROP DEFAULT"
            if column.comment is not None:
                yield comment_column(qualified(self.live.name), column.name, column.comment)

    def _modified(self, change: ModifyColumn) -> Iterator[str]:
        column = f"{self.alter} ALTER COLUMN {quote_double(change.path[0])}"
        for mark in change.modifications:
            match mark:
                case TypeChange(_, new):
                    yield f"{column} TYPE {type_sql(new)}"
                case Nullability(_, True):
                    yield f"{column} DROP NOT NULL"
                case DefaultChange(_, None):
                    yield f"{column} DROP DEFAULT"
                case DefaultChange(_, text):
                    yield f"{column} SET DEFAULT {text}"
                case CommentChange(_, text):
                    yield comment_column(qualified(self.live.name), change.path[0], text)
                case _:
                    pass

    def _fill(self, slow: list[AddColumn], fields: Mapping[str, FieldCarry]) -> Fill | None:
        """New values for old rows, and for NULLs of a column that becomes NOT NULL; live names."""
        writer = PostgresWriter(PostgresValues(self.known))
        sets = [(c.path[0], writer.source(fields[c.path[0]], None)) for c in slow]
        for field in self.job.projection:
            match field.source:
                case FromOld(name, _, fill) if fill is not None:
                    old = self.live.column((name,))
                    assert old is not None
                    sets.append(
                        (name, writer.source(FieldCarry(old, FromOld(name, Same(), fill)), None))
                    )
                case _:
                    pass
        if not sets:
            return None
        key = chosen_key(self.live)
        return Fill(
            self.live.name.schema, self.live.name.name, tuple(sets), tuple(c for c, _ in sets), key
        )

    def _fill_step(self, fill: Fill, after: Table) -> Step:
        how = f"in batches by {', '.join(c for c, _ in fill.key)}"
        if not fill.key:
            how = "in one transaction, for want of a key"
        words = locked(f"{fill.words} {how}", "ROW EXCLUSIVE", self.timeout)
        return fill.step(words, after)

    def _step(self, kind: str, words: str, parts: list[Part], after: Table) -> Step:
        return script_step(kind, locked(words, SHARED, self.timeout), parts, after)

    def _require(self, column: str, after: Table) -> Step:
        """A CHECK that is validated first spares SET NOT NULL its look at every row."""
        name = after.name
        helper = fitted(f"{name.name}_{column}", f"{HELPER}nn")
        quoted, done = quote_double(helper), is_required(name, column)
        drop = f"{self.alter} DROP CONSTRAINT {quoted}"
        add = f"{self.alter} ADD CONSTRAINT {quoted} CHECK ({quote_double(column)} IS NOT NULL)"
        there, valid = has_constraint(name, helper), has_constraint(name, helper, valid=True)
        parts = [
            Part((f"{add} NOT VALID",), either(done, there)),
            Part(
                (f"{self.alter} VALIDATE CONSTRAINT {quoted}",), either(done, valid), cleanup=drop
            ),
            Part((f"{self.alter} ALTER COLUMN {quote_double(column)} SET NOT NULL", drop), done),
        ]
        return self._step("require", f"require {column}", parts, after)

    def _check(self, check: Check, after: Table) -> Step:
        name, quoted = after.name, quote_double(check.name)
        drop = f"{self.alter} DROP CONSTRAINT IF EXISTS {quoted}"
        add = f"{self.alter} ADD CONSTRAINT {quoted} CHECK ({check.expression}) NOT VALID"
        stale = check.name in self.facts.unvalidated
        valid = has_constraint(name, check.name, valid=True)
        parts = [
            Part((drop, add), valid) if stale else Part((add,), has_constraint(name, check.name)),
            Part((f"{self.alter} VALIDATE CONSTRAINT {quoted}",), valid, cleanup=drop),
        ]
        return self._step("check", f"add constraint {check.name}", parts, after)

    def _key(self, change: Change, name: str, columns: tuple[str, ...], after: Table) -> Step:
        attach = f"{self.alter} ADD CONSTRAINT {quote_double(name)} UNIQUE USING INDEX "
        return self._indexed(change, name, columns, attach, after)

    def _primary(self, change: ChangePrimaryKey, after: Table) -> Step:
        old = self.facts.primary
        name = old.name if old else fitted(after.name.name, "_pkey")
        drop = f"DROP CONSTRAINT {quote_double(name)}, " if old else ""
        attach = f"{self.alter} {drop}ADD CONSTRAINT {quote_double(name)} PRIMARY KEY USING INDEX "
        return self._indexed(change, name, change.new, attach, after)

    def _indexed(
        self, change: Change, name: str, columns: tuple[str, ...], attach: str, after: Table
    ) -> Step:
        """An index that a crash left invalid is dropped and built again."""
        index = fitted(name, f"{HELPER}key")
        place = f"{quote_double(after.name.schema)}.{quote_double(index)}"
        drop = f"DROP INDEX CONCURRENTLY IF EXISTS {place}"
        create = (
            f"CREATE UNIQUE INDEX CONCURRENTLY {quote_double(index)} "
            f"ON {qualified(after.name)} ({names(columns)})"
        )
        done = has_constraint(after.name, name, columns=columns)
        built = either(done, has_index(after.name, index))
        parts = [
            Part((drop,), built, outside=True),
            Part((create,), built, outside=True, cleanup=drop),
            Part((f"{attach}{quote_double(index)}",), done, cleanup=drop),
        ]
        return self._step("key", title([change]), parts, after)


def until_last(adds: list[AddColumn], slow: list[AddColumn]) -> list[AddColumn]:
    """The new columns up to the last one that is filled row by row: they come in the order of the target."""
    last = max((n for n, add in enumerate(adds) if add in slow), default=-1)
    return adds[: last + 1]


def _with_required(table: Table, name: str) -> Table:
    def required(column: Column) -> Column:
        return replace(column, nullable=False) if column.name == name else column

    return replace(table, columns=tuple(required(c) for c in table.columns))
