"""Old tables that PostgreSQL's recreations keep: one transaction puts one back with all that hangs on it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from instar.backends.keeping import DROP_NEW, Copy, Leftover
from instar.backends.postgres import catalog
from instar.backends.postgres.carry import gather, linked_tables, names_aside
from instar.backends.postgres.facts import facts_of
from instar.backends.postgres.names import FN, LIMIT, LOG, NEW, OLD, POS, beside, fitted
from instar.backends.postgres.session import Session
from instar.backends.relational.keeper import TransactionalKeeper
from instar.backends.sql import literal, qualified, quote_double
from instar.core.plan import Cost, Rung, Step
from instar.core.schema import Table, TableName, Unique

if TYPE_CHECKING:
    from instar.backends.postgres.backend import PostgresBackend

_TRIGGERS = "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal"
_INDEXES = """SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass ORDER BY c.relname"""
_SEQUENCES = """SELECT a.attname, a.attidentity <> '', s.oid::regclass::text, s.relname
FROM pg_attribute a JOIN pg_class s
ON s.oid = pg_get_serial_sequence(%s, a.attname)::regclass
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped"""
_NUMBERED = """SELECT a.attname, s.oid::regclass::text FROM pg_attrdef d
JOIN pg_depend p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
AND p.refclassid = 'pg_class'::regclass JOIN pg_class s ON s.oid = p.refobjid AND s.relkind = 'S'
JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = %s::regclass"""
_MARK = re.compile(r"__instar_o\d+$")


class PostgresKeeper(TransactionalKeeper):
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

    def ask(self, sql: str) -> Sequence[Any]:
        return self._session.ask(sql)

    def old_name(self, table: TableName, number: int) -> TableName:
        return beside(table, f"{OLD}{number}")

    def counted(self, copy: Copy) -> Cost:
        size = self._backend.measure([copy.name]).get(copy.name, Cost())
        return Cost(self.rows(copy.name), size.bytes)

    def drop_new_sql(self, left: Leftover) -> Sequence[str]:
        """Everything that an unfinished recreation has put beside the table, and its triggers."""
        helpers = ", ".join(qualified(beside(left.table, suffix)) for suffix in (NEW, LOG, POS))
        return [
            f"DROP FUNCTION IF EXISTS {qualified(beside(left.table, FN))}() CASCADE",
            f"DROP TABLE IF EXISTS {helpers}",
        ]

    def leftovers(self, schema: str) -> Sequence[Leftover]:
        """A position outlives the swap until the foreign keys are validated again."""
        known = list(super().leftovers(schema))
        named = {left.table for left in known}
        for name in self.own(schema):
            table = self.resolve(schema, name.removesuffix(POS), name)
            if name.endswith(POS) and table is not None and table not in named:
                known.append(Leftover(table, there=True, new=None, olds=()))
        return known

    def mend_step(self, left: Leftover) -> Step:
        if not left.there or left.new is not None:
            return super().mend_step(left)
        position = qualified(beside(left.table, POS))
        (validate,) = self.ask(f"SELECT validate FROM {position}")[0]
        return Step(
            f"finish/{left.table.name}",
            DROP_NEW,
            Rung.METADATA,
            f"{left.table} was swapped in: validate its foreign keys again",
            (*json.loads(validate or "[]"), *self.drop_new_sql(left)),
            self.inspect(left.table),
            repeatable=True,
        )

    # --- putting one back ---

    def promised(self, old: Table, name: TableName) -> Table:
        """Its unique keys have their own names again, by which they count; serials are serials again."""
        marked = [k for k in facts_of(old).keys if not k.primary and _MARK.search(k.name)]
        uniques = tuple(Unique(_MARK.sub("", k.name), k.columns) for k in marked)
        serial = {column for column, _ in self._serials(name, old.name)}
        columns = tuple(replace(c, default=None) if c.name in serial else c for c in old.columns)
        constraints = (*old.constraints, *uniques)
        return replace(old, name=name, columns=columns, constraints=constraints)

    def _serials(self, now: TableName, then: TableName) -> Iterator[tuple[str, str]]:
        """Columns of the old table that sequences of the new one number, by their defaults."""
        place, old = qualified(now), qualified(then)
        rows = self._session.ask(_SEQUENCES, [place, place]) if self.there([now])[0] else []
        owned = {row[2] for row in rows if not row[1]}
        for column, sequence in self._session.ask(_NUMBERED, [old]):
            if sequence in owned:
                yield column, sequence

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
            *self._sequences(copy, mark),
            *super().revert_sql(copy, live, old, aside),
            *self._names_back(copy.name),
            *carried.after,
            *carried.validate,
        ]

    def _without_triggers(self, old: TableName) -> Iterator[str]:
        """The table's own are made again on it: those may have changed since."""
        for (name,) in self._session.ask(_TRIGGERS, [qualified(old)]):
            yield f"DROP TRIGGER {quote_double(name)} ON {qualified(old)}"

    def _sequences(self, copy: Copy, mark: str) -> Iterator[str]:
        """Numbers go on where they are: a serial's sequence moves, an identity's hands its place over."""
        schema = quote_double(copy.name.schema)
        now, then = qualified(copy.table), qualified(copy.name)
        for column, sequence in self._serials(copy.table, copy.name):
            yield f"ALTER SEQUENCE {sequence} OWNED BY {then}.{quote_double(column)}"
        own = {row[0]: row for row in self._session.ask(_SEQUENCES, [then, then])}
        for column, identity, sequence, name in self._session.ask(_SEQUENCES, [now, now]):
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
