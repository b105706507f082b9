"""Old tables that PostgreSQL's recreations keep: one transaction puts one back with all that hangs on it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from instar.backends.base import RunContext
from instar.backends.keeping import Copy, Leftover, TableKeeper
from instar.backends.postgres import catalog
from instar.backends.postgres.carry import gather, linked_tables, names_aside
from instar.backends.postgres.names import FN, LIMIT, LOG, NEW, OLD, POS, TRIGGER, beside, fitted
from instar.backends.postgres.session import Session
from instar.backends.sql import literal, qualified, quote_double
from instar.core.plan import Cost, Step
from instar.core.schema import Table, TableName

if TYPE_CHECKING:
    from instar.backends.postgres.backend import PostgresBackend

_TRIGGERS = "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal"
_INDEXES = """SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass ORDER BY c.relname"""
_CONSTRAINTS = "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass"
_SEQUENCES = """SELECT a.attname, a.attidentity <> '', s.oid::regclass::text, s.relname
FROM pg_attribute a JOIN pg_class s
ON s.oid = pg_get_serial_sequence(%s, a.attname)::regclass
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped"""
_MARK = re.compile(r"__instar_o\d+$")
_NAMED = re.compile(r'COMMENT ON CONSTRAINT "((?:[^"]|"")*)"')


class PostgresKeeper(TableKeeper):
    def __init__(self, backend: PostgresBackend) -> None:
        self._backend = backend
        self._session: Session = backend.session

    def own(self, schema: str) -> Sequence[str]:
        return [name for name in self._names(schema) if "__instar_" in name]

    def _names(self, schema: str) -> list[str]:
        return [str(row[1]) for row in self._session.ask(catalog.LIST, [schema])]

    def resolve(self, schema: str, stem: str, name: str) -> TableName | None:
        """A name that was cut to fit tells its table only by comparison."""
        suffix = name[len(stem) :]
        for other in self._names(schema):
            if "__instar_" not in other and fitted(other, suffix) == name:
                return TableName(schema, other)
        return None if len(name.encode()) == LIMIT else TableName(schema, stem)

    def there(self, names: Sequence[TableName]) -> list[bool]:
        found = self._backend.inspect(names)
        return [name in found for name in names]

    def inspect(self, name: TableName) -> Table:
        found = self._backend.inspect([name])[name]
        assert isinstance(found, Table)
        return found

    def ask(self, sql: str) -> Sequence[Any]:
        return self._session.ask(sql)

    def place(self, name: TableName) -> str:
        return qualified(name)

    def quote(self, name: str) -> str:
        return quote_double(name)

    def rename_sql(self, old: TableName, new: TableName) -> str:
        return f"ALTER TABLE {qualified(old)} RENAME TO {quote_double(new.name)}"

    def old_name(self, table: TableName, number: int) -> TableName:
        return beside(table, f"{OLD}{number}")

    def counted(self, copy: Copy) -> Cost:
        size = self._backend.measure([copy.name]).get(copy.name, Cost())
        return Cost(self.rows(copy.name), size.bytes)

    def drop_new_sql(self, left: Leftover) -> Sequence[str]:
        """Everything that an unfinished recreation has put beside the table, and its triggers."""
        table = qualified(left.table)
        helpers = ", ".join(qualified(beside(left.table, suffix)) for suffix in (NEW, LOG, POS))
        return [
            f'DROP TRIGGER IF EXISTS "{TRIGGER}_r" ON {table}',
            f'DROP TRIGGER IF EXISTS "{TRIGGER}_t" ON {table}',
            f"DROP FUNCTION IF EXISTS {qualified(beside(left.table, FN))}()",
            f"DROP TABLE IF EXISTS {helpers}",
        ]

    # --- putting one back ---

    def revert_sql(self, copy: Copy, live: Table, old: Table, aside: TableName) -> Sequence[str]:
        """What hangs on the table moves to the old one; what does not fit there makes PostgreSQL refuse."""
        kept = {c.name for c in old.columns}
        carried = gather(
            self._session, live.name, [c.name for c in live.columns if c.name not in kept]
        )
        linked = linked_tables(self._session, live.name)
        locked = ", ".join([qualified(live.name), qualified(copy.name), *linked])
        mark = "__instar_o" + aside.name.rsplit("_", 1)[-1]
        return [
            f"LOCK TABLE {locked} IN ACCESS EXCLUSIVE MODE",
            *carried.before,
            *self._without_triggers(copy.name),
            *names_aside(self._session, live.name, mark),
            *self._sequences(copy, kept, mark),
            *super().revert_sql(copy, live, old, aside),
            *self._names_back(copy.name),
            *self._fitting(carried.after, copy.name),
            *carried.validate,
        ]

    def _without_triggers(self, old: TableName) -> Iterator[str]:
        """The table's own are made again on it: those may have changed since."""
        for (name,) in self._session.ask(_TRIGGERS, [qualified(old)]):
            yield f"DROP TRIGGER {quote_double(name)} ON {qualified(old)}"

    def _sequences(self, copy: Copy, kept: set[str], mark: str) -> Iterator[str]:
        """Numbers go on where they are: a serial's sequence moves, an identity's hands its place over."""
        schema = quote_double(copy.name.schema)
        now, then = qualified(copy.table), qualified(copy.name)
        own = {row[0]: row for row in self._session.ask(_SEQUENCES, [then, then])}
        for column, identity, sequence, name in self._session.ask(_SEQUENCES, [now, now]):
            if not identity and column in kept:
                yield f"ALTER SEQUENCE {sequence} OWNED BY {then}.{quote_double(column)}"
            if not identity or column not in own or not own[column][1]:
                continue
            _, _, old, old_name = own[column]
            aside, back = fitted(name, mark), _MARK.sub("", old_name)
            yield f"SELECT setval({literal(old)}, last_value, is_called) FROM {sequence}"
            yield f"ALTER SEQUENCE {sequence} RENAME TO {quote_double(aside)}"
            if back != old_name:
                place = f"{schema}.{quote_double(old_name)}"
                yield f"ALTER SEQUENCE {place} RENAME TO {quote_double(back)}"

    def _names_back(self, old: TableName) -> Iterator[str]:
        for (name,) in self._session.ask(_INDEXES, [qualified(old)]):
            back = _MARK.sub("", name)
            if back != name:
                place = f"{quote_double(old.schema)}.{quote_double(name)}"
                yield f"ALTER INDEX {place} RENAME TO {quote_double(back)}"

    def _fitting(self, statements: Sequence[str], old: TableName) -> Iterator[str]:
        """A comment on a constraint that the old table has not is left out."""
        there = {_MARK.sub("", r[0]) for r in self._session.ask(_CONSTRAINTS, [qualified(old)])}
        for sql in statements:
            named = _NAMED.match(sql)
            if named is None or named[1].replace('""', '"') in there:
                yield sql

    def execute(self, step: Step, sql: Sequence[str], context: RunContext) -> None:
        """The backend runs the statements of a plain step in one transaction with a lock timeout."""
        assert tuple(sql) == step.sql
        self._backend.run(step, context)
