"""ALTER statements for one table, all in one transaction.

Old rows are filled by `ALTER … TYPE … USING`, never by UPDATE: DuckDB refuses to commit an ALTER after an
UPDATE of the same table. Everything that reads old rows comes first, then drops, then names.

USING is evaluated for deleted rows too. So a cast that may lose gives NULL in it instead of failing, and
the rows that count are asked before: a guard column shuts other writers out, then no committed row may
break a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from instar.backends.base import same_schema
from instar.backends.duckdb.content import content_sql
from instar.backends.duckdb.facts import facts_of
from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.predicates import broken_row
from instar.backends.duckdb.spelling import bound_type, spelled
from instar.backends.duckdb.types import type_sql
from instar.backends.duckdb.values import DuckDBValues, UsingValues
from instar.backends.relational.create import comment_column, comment_table, names
from instar.backends.relational.steps import alter_step
from instar.backends.sql import qualified, quote_double
from instar.backends.values import ValueWriter, expressions_in
from instar.core.changes import (
    AddColumn,
    ChangePrimaryKey,
    ChangeProperty,
    CommentChange,
    DefaultChange,
    DropColumn,
    ModifyColumn,
    Nullability,
    Rename,
    modification,
)
from instar.core.checks import CastProof, ExpressionProof, proofs_for
from instar.core.plan import Job, Step
from instar.core.projection import (
    FieldCarry,
    FromExpression,
    FromOld,
    Same,
)
from instar.core.schema import Table
from instar.core.types import Column, Type


def native_step(job: Job) -> Step:
    """The job as one atomic step."""
    native = _Native(job)
    check = native.check()
    return alter_step(
        job.changes,
        native.statements(guarded=check is not None),
        job.target,
        rung=job.rung,
        data=native.contents() | ({} if check is None else {CHECK: check}),
    )


def known_types(expressions: Iterable[str], live: Table) -> dict[str, Type]:
    """The types of expressions, by their text in parentheses."""
    found = {f"({sql})": bound_type(sql, live.columns) for sql in expressions}
    return {text: type_ for text, type_ in found.items() if type_ is not None}


CHECK = "check"
"""Step data: a query over committed rows that must count none once the first statement has run."""
BEFORE, AFTER = "before", "after"
"""Step data: queries for the content now and once the step is done, where the schema cannot tell."""


class _Native:
    def __init__(self, job: Job) -> None:
        assert job.live is not None
        self.job = job
        self.live = job.live
        self.facts = facts_of(job.live)
        self.names = tuple(c.name for c in job.live.columns)
        self.table = qualified(job.target.name)
        self.alter = f"ALTER TABLE {self.table}"
        known = known_types(expressions_in(job.projection), job.live)
        self.dialect = DuckDBValues(known)
        self.writer = ValueWriter(UsingValues(known), trying=True)
        self.added = {
            c.path[0]: c for c in job.changes if isinstance(c, AddColumn) and len(c.path) == 1
        }
        self.modified = [c for c in job.changes if isinstance(c, ModifyColumn) and len(c.path) == 1]
        self.renames = {
            c.old_path[0]: c.path[0] for c in self.modified if modification(c, Rename) is not None
        }
        self.dropped = {
            c.path[0] for c in job.changes if isinstance(c, DropColumn) and len(c.path) == 1
        }

    def check(self) -> str | None:
        """Counts the rows that a cast or an expression of this step would lose."""
        proofs = proofs_for(self.job.changes, self.job.wanted, fold)
        broken = [
            broken_row(self.dialect, self.live, proof)
            for proof in proofs
            if isinstance(proof, CastProof | ExpressionProof)
        ]
        if not broken:
            return None
        return f"SELECT count(*) FROM {self.table} WHERE {' OR '.join(broken)}"

    def contents(self) -> dict[str, str]:
        """A swap of like columns leaves the schema as it was: only the values tell that it happened."""
        if not same_schema(self.live, self.job.target):
            return {}
        columns = tuple(f.column.name for f in self.job.projection)
        select = ", ".join(self.writer.select_list(self.job.projection))
        projected = f"(SELECT {select} FROM {self.table}) AS projected"
        return {
            BEFORE: content_sql(columns, self.table),
            AFTER: content_sql(columns, projected),
        }

    def statements(self, *, guarded: bool) -> Iterator[str]:
        guard = _free("", {fold(c) for c in (*self.names, *self.added)})
        adds, fills, late_names = self._adds()
        heavy = [
            *fills,
            *self._alterations(),
            *(f"{self.alter} DROP COLUMN {quote_double(n)}" for n in self._in_order(self.dropped)),
            *self._renames(late_names),
            *self._nullability(),
        ]
        key = list(self._key())
        guarded = guarded and bool(heavy or key)
        indexes = self.facts.indexes if heavy or key else ()
        if guarded:
            yield f"{self.alter} ADD COLUMN {quote_double(guard)} BOOLEAN"
        yield from self.facts.drop_indexes(self.job.target.name) if indexes else ()
        yield from adds
        yield from heavy
        if guarded:
            yield f"{self.alter} DROP COLUMN {quote_double(guard)}"
        yield from key  # on a new column it would stand behind the guard, which then never goes
        yield from self._defaults()
        yield from self._comments()
        for index in indexes:
            if not self.dropped & set(index.columns):
                yield from index.again(self.job.target.name, self.names, self.renames)

    def _in_order(self, chosen: set[str]) -> list[str]:
        return [name for name in self.names if name in chosen]

    def _adds(self) -> tuple[list[str], list[str], dict[str, str]]:
        """ADD COLUMN, the fills, and the names that only a drop or rename sets free."""
        adds: list[str] = []
        fills: list[str] = []
        late: dict[str, str] = {}
        taken = {fold(name) for name in self.names}
        for field in self.job.projection:
            if field.column.name not in self.added:
                continue
            name = field.column.name
            if fold(name) in taken:
                name = _free(name, taken)
                late[name] = field.column.name
            taken.add(fold(name))
            self._add(field, name, adds, fills)
        return adds, fills, late

    def _add(self, field: FieldCarry, name: str, adds: list[str], fills: list[str]) -> None:
        column, quoted = field.column, quote_double(name)
        add = f"{self.alter} ADD COLUMN {quoted} {type_sql(column.type)}"
        match field.source:
            case FromExpression(sql) if self._must_use_default(column, sql):
                adds.append(f"{add} DEFAULT ({self.writer.source(field, None)})")
                lasting = f"SET DEFAULT {column.default}" if column.default else "DROP DEFAULT"
                adds.append(f"{self.alter} ALTER COLUMN {quoted} {lasting}")
                return
            case FromExpression():
                adds.append(add)
                fills.append(self._set_type(name, column, self.writer.source(field, None)))
            case _:
                adds.append(add)
        if column.default is not None:
            adds.append(f"{self.alter} ALTER COLUMN {quoted} SET DEFAULT {column.default}")

    def _must_use_default(self, column: Column, sql: str) -> bool:
        """Where a table may only get columns added, the value comes by a passing DEFAULT.

        Not elsewhere: it fills by an update, after which SET NOT NULL and other ALTERs are refused.
        """
        tied = self.facts.referenced_by or any(i.unique for i in self.facts.indexes)
        return bool(tied) and column.nullable and not spelled(sql, self.names).columns

    def _set_type(self, name: str, column: Column, value: str) -> str:
        type_ = type_sql(column.type)
        return f"{self.alter} ALTER COLUMN {quote_double(name)} TYPE {type_} USING {value}"

    def _alterations(self) -> list[str]:
        """Live columns whose values change; those that read other columns come first."""
        old = {c.path[0]: c.old_path[0] for c in self.modified}
        reading: list[str] = []
        alone: list[str] = []
        for field in self.job.projection:
            if field.column.name in self.added:
                continue
            match field.source:
                case FromOld(_, Same(), None):
                    continue
                case FromOld(name, _, None):
                    alone.append(
                        self._set_type(name, field.column, self.writer.source(field, None))
                    )
                case _:
                    name = old.get(field.column.name, field.column.name)
                    value = self.writer.source(field, None)
                    reading.append(self._set_type(name, field.column, value))
        return reading + alone

    def _renames(self, late: dict[str, str]) -> Iterator[str]:
        """Renames in an order in which no name is taken; a ring goes through a free name."""
        current = {fold(n) for n in self.names if n not in self.dropped}
        current |= {fold(n) for n in (*late, *self.added) if n not in late.values()}
        pending = dict(self.renames) | late
        while pending:
            old = next((o for o, n in pending.items() if _open(o, n, current)), None)
            if old is None:
                old = next(iter(pending))
                new = _free(old, current)
                pending = {(new if o == old else o): n for o, n in pending.items()}
            else:
                new = pending.pop(old)
            current.discard(fold(old))
            current.add(fold(new))
            yield f"{self.alter} RENAME COLUMN {quote_double(old)} TO {quote_double(new)}"

    def _nullability(self) -> Iterator[str]:
        for name, change in self.added.items():
            if not change.column.nullable:
                yield f"{self.alter} ALTER COLUMN {quote_double(name)} SET NOT NULL"
        for changed in self.modified:
            if (mark := modification(changed, Nullability)) is not None:
                verb = "DROP" if mark.new else "SET"
                yield f"{self.alter} ALTER COLUMN {quote_double(changed.path[0])} {verb} NOT NULL"

    def _key(self) -> Iterator[str]:
        for change in self.job.changes:
            if isinstance(change, ChangePrimaryKey):
                yield f"{self.alter} ADD PRIMARY KEY ({names(change.new)})"

    def _defaults(self) -> Iterator[str]:
        for change in self.modified:
            if (mark := modification(change, DefaultChange)) is not None:
                action = "DROP DEFAULT" if mark.new is None else f"SET DEFAULT {mark.new}"
                yield f"{self.alter} ALTER COLUMN {quote_double(change.path[0])} {action}"

    def _comments(self) -> Iterator[str]:
        for name, change in self.added.items():
            if change.column.comment is not None:
                yield comment_column(self.table, name, change.column.comment)
        for changed in self.modified:
            if (mark := modification(changed, CommentChange)) is not None:
                yield comment_column(self.table, changed.path[0], mark.new)
        for other in self.job.changes:
            if isinstance(other, ChangeProperty) and other.key == "comment":
                yield comment_table(self.table, other.new)


def _open(old: str, new: str, current: set[str]) -> bool:
    return fold(new) not in current or fold(new) == fold(old)


def _free(name: str, taken: set[str]) -> str:
    count = 1
    while fold(free := f"{name}__instar_{count}") in taken:
        count += 1
    return free
