"""Names of indexes and keys, which are unique in a schema: they change places with their tables, one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from instar.backends.dsql.session import DsqlSession
from instar.backends.postgres.names import OLD, fitted
from instar.backends.postgres.revert import MARK, unmarked
from instar.backends.sql import qualified, quote_double
from instar.core.schema import TableName

_INDEXES = """SELECT c.relname, i.indisvalid, EXISTS (SELECT 1 FROM pg_constraint k
WHERE k.conindid = c.oid AND k.contype IN ('p', 'u'))
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass(%s) ORDER BY c.relname"""


@dataclass(frozen=True, slots=True)
class Found:
    """`key`: a constraint owns the index, and has its name."""

    valid: bool
    key: bool


def indexes_of(session: DsqlSession, table: TableName) -> dict[str, Found]:
    rows = session.ask(_INDEXES, [qualified(table)])
    return {str(name): Found(valid, key) for name, valid, key in rows}


def mark_of(old: TableName) -> str:
    """What is put behind the names of an old table's indexes."""
    return "__instar_o" + old.name.rsplit(OLD, 1)[-1]


def set_aside(session: DsqlSession, old: TableName, failpoint: Callable[[str], None]) -> None:
    """The old table's indexes and keys give their names free."""
    names = {n: fitted(n, mark_of(old)) for n in indexes_of(session, old) if not MARK.search(n)}
    take_names(session, old, names, failpoint)


def take_back(
    session: DsqlSession,
    table: TableName,
    known: Sequence[str],
    failpoint: Callable[[str], None],
) -> None:
    """A table that was old once has the plain names again; `known` are those that the other one had."""
    names = {n: unmarked(n, known) for n in indexes_of(session, table) if MARK.search(n)}
    take_names(session, table, names, failpoint)


def take_names(
    session: DsqlSession,
    table: TableName,
    names: Mapping[str, str],
    failpoint: Callable[[str], None],
) -> None:
    """Indexes and keys of a table that still have the one name take the other."""
    for name, found in indexes_of(session, table).items():
        if (wish := names.get(name)) is None or wish == name:
            continue
        to = f"{quote_double(name)} TO {quote_double(wish)}"
        if found.key:
            session.ddl(f"ALTER TABLE {qualified(table)} RENAME CONSTRAINT {to}")
        else:
            place = quote_double(table.schema)
            session.ddl(f"ALTER INDEX {place}.{quote_double(name)} RENAME TO {quote_double(wish)}")
        failpoint("name taken")
