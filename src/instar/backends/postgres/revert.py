"""Puts an old table back in one transaction, with what hangs on the table when its lock is held.

Others may alter both tables between the question and the lock. What hangs on the table (foreign keys, views,
triggers, privileges, options, statistics) is read under the lock and moves as it is then. The definitions are
compared with those that the question was asked about: what differs is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Self

from instar.backends.base import RunContext
from instar.backends.postgres.carry import gather, linked_tables, names_aside
from instar.backends.postgres.definition import Altered, Parts, altered
from instar.backends.postgres.inspect import PLAIN, Reader
from instar.backends.postgres.names import fitted
from instar.backends.postgres.session import Session
from instar.backends.sql import literal, qualified, quote_double
from instar.core.schema import TableName

REVERSION = "reversion"
MARK = re.compile(r"__instar_o\d+$")

_TRIGGERS = "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal"
_INDEXES = """SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass ORDER BY c.relname"""
_COLUMNS = """SELECT attname FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
_SEQUENCES = """SELECT a.attname, d.deptype = 'i', s.oid::regclass::text, s.relname
FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
AND d.refobjid = %s::regclass AND d.deptype IN ('a', 'i') ORDER BY s.relname"""
_NUMBERED = """SELECT a.attname, s.oid::regclass::text,
pg_get_expr(d.adbin, d.adrelid) = format('nextval(%%L::regclass)', s.oid::regclass::text) FROM pg_attrdef d
JOIN pg_depend p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
AND p.refclassid = 'pg_class'::regclass JOIN pg_class s ON s.oid = p.refobjid AND s.relkind = 'S'
JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum WHERE d.adrelid = %s::regclass"""


@dataclass(frozen=True, slots=True)
class Reversion:
    """`old` becomes `table`, which is kept as `aside`; `now` and `then` are how both were defined."""

    schema: str
    table: str
    old: str
    aside: str
    now: Parts = ()
    then: Parts = ()

    @property
    def live_name(self) -> TableName:
        return TableName(self.schema, self.table)

    @property
    def old_name(self) -> TableName:
        return TableName(self.schema, self.old)

    def dump(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> Self:
        raw = json.loads(text)
        parts = {side: tuple((part, said) for part, said in raw[side]) for side in ("now", "then")}
        return cls(**{**raw, **parts})


def run_reversion(session: Session, work: Reversion, context: RunContext) -> None:
    def once() -> None:
        with session.patient_transaction():
            session.execute(_lock_sql(session, work))
            check(session, work)
            for count, sql in enumerate(statements(session, work), start=1):
                session.execute(sql)
                context.failpoint(f"statement {count}")

    context.failpoint("revert:planned")
    session.patiently(once)


def _lock_sql(session: Session, work: Reversion) -> str:
    linked = linked_tables(session, work.live_name)
    locked = ", ".join([qualified(work.live_name), qualified(work.old_name), *linked])
    return f"LOCK TABLE {locked} IN ACCESS EXCLUSIVE MODE"


def check(session: Session, work: Reversion, live: str = "", reader: Reader = PLAIN) -> None:
    """Both tables are what the question was asked about; `live` is the table's name for now."""
    now = TableName(work.schema, live or work.table)
    for name, planned in ((now, work.now), (work.old_name, work.then)):
        if words := altered(session.ask, name, planned, reader):
            raise Altered(
                "E229",
                f"{name} was altered since its revert was asked about: {words}",
                hint="Both tables are as the others left them. Run `instar revert` again.",
            )


def shown(session: Session, work: Reversion) -> list[str]:
    """The statements as they would be now."""
    return [_lock_sql(session, work), *statements(session, work)]


def statements(session: Session, work: Reversion) -> list[str]:
    """What hangs on the table moves to the old one; what does not fit there makes PostgreSQL refuse."""
    now, then = qualified(work.live_name), qualified(work.old_name)
    kept = _names(session, then)
    carried = gather(session, work.live_name, [c for c in _names(session, now) if c not in kept])
    mark = "__instar_o" + work.aside.rsplit("_", 1)[-1]
    return [
        *carried.before,
        *_without_triggers(session, then),
        *names_aside(session, work.live_name, mark),
        *_sequences(session, work, mark),
        f"ALTER TABLE {now} RENAME TO {quote_double(work.aside)}",
        f"ALTER TABLE {then} RENAME TO {quote_double(work.table)}",
        *_names_back(session, work.old_name, _index_names(session, now)),
        *carried.after,
        *carried.validate,
    ]


def _names(session: Session, table: str) -> list[str]:
    return [str(row[0]) for row in session.ask(_COLUMNS, [table])]


def _without_triggers(session: Session, old: str) -> Iterator[str]:
    """The table's own are made again on it: those may have changed since."""
    for (name,) in session.ask(_TRIGGERS, [old]):
        yield f"DROP TRIGGER {quote_double(name)} ON {old}"


def serials(session: Session, now: TableName, then: TableName) -> Iterator[tuple[str, str, bool]]:
    """Columns of the old table to which sequences of the new one will belong; whether their defaults are no more.

    Several defaults may use one sequence: it belongs to the column to which it does now, if that is one of them.
    """
    uses = session.ask(_NUMBERED, [qualified(then)])
    for owner, identity, sequence, _ in session.ask(_SEQUENCES, [qualified(now)]):
        found = {column: alone for column, used, alone in uses if used == sequence}
        if found and not identity:
            column = owner if owner in found else next(iter(found))
            yield column, sequence, found[column]


def _sequences(session: Session, work: Reversion, mark: str) -> Iterator[str]:
    """Numbers go on where they are: a serial's sequence moves, an identity's hands its place over."""
    schema = quote_double(work.schema)
    now, then = qualified(work.live_name), qualified(work.old_name)
    numbered = {s: c for c, s, _ in serials(session, work.live_name, work.old_name)}
    own = {row[0]: row for row in session.ask(_SEQUENCES, [then]) if row[1]}
    kept = _names(session, then)
    for column, identity, sequence, name in session.ask(_SEQUENCES, [now]):
        if not identity and (wish := numbered.get(sequence, column)) in kept:
            yield f"ALTER SEQUENCE {sequence} OWNED BY {then}.{quote_double(wish)}"
        if not identity or column not in own:
            continue
        _, _, old, old_name = own[column]
        aside, back = fitted(name, mark), unmarked(old_name, [name])
        yield f"SELECT setval({literal(old)}, last_value, is_called) FROM {sequence}"
        yield f"ALTER SEQUENCE {sequence} RENAME TO {quote_double(aside)}"
        if back != old_name:
            place = f"{schema}.{quote_double(old_name)}"
            yield f"ALTER SEQUENCE {place} RENAME TO {quote_double(back)}"


def _index_names(session: Session, table: str) -> list[str]:
    return [str(row[0]) for row in session.ask(_INDEXES, [table])]


def unmarked(name: str, known: Iterable[str]) -> str:
    """The name before it was put aside; one that had to be cut is told by comparison with those there are."""
    mark = MARK.search(name)
    if mark is None:
        return name
    return next((n for n in known if fitted(n, mark[0]) == name), MARK.sub("", name))


def _names_back(session: Session, old: TableName, known: Sequence[str]) -> Iterator[str]:
    for name in _index_names(session, qualified(old)):
        back = unmarked(name, known)
        if back != name:
            place = f"{quote_double(old.schema)}.{quote_double(name)}"
            yield f"ALTER INDEX {place} RENAME TO {quote_double(back)}"
