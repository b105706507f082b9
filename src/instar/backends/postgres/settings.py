"""How a table and its columns are stored and measured: settings that no schema shows, on the copy from the start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from instar.backends.postgres.names import fitted
from instar.backends.postgres.session import Session
from instar.backends.sql import block, literal, qualified, quote_double
from instar.core.schema import TableName

_COLUMNS = """SELECT a.attname, a.atttypid, to_jsonb(a) ->> 'attstattarget', a.attstorage, t.typstorage,
a.attcompression, array_to_string(a.attoptions, ', ')
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped"""
_PLACE = """SELECT quote_ident(a.amname), quote_ident(s.spcname) FROM pg_class c
JOIN pg_am a ON a.oid = c.relam JOIN pg_database b ON b.datname = current_database()
JOIN pg_tablespace s ON s.oid = CASE c.reltablespace WHEN 0 THEN b.dattablespace ELSE c.reltablespace END
WHERE c.oid = %s::regclass"""
_TAKEN = "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass"
_STORAGE = {"p": "PLAIN", "e": "EXTERNAL", "m": "MAIN", "x": "EXTENDED"}
_COMPRESSION = {"p": "pglz", "l": "lz4"}
_REQUIRED = """SELECT a.attname, k.conname FROM pg_constraint k
JOIN pg_attribute a ON a.attrelid = k.conrelid AND k.conkey = ARRAY[a.attnum]
WHERE k.conrelid = %s::regclass AND k.contype = 'n'"""

UNCLEANED = "WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false)"
"""An autovacuum holds a lock that the swap needs, and lets go of it only after deadlock_timeout."""
CLEANED = "RESET (autovacuum_enabled, toast.autovacuum_enabled)"


def stored(session: Session, table: str) -> tuple[str, str]:
    """Its access method and tablespace, said in full: a role may have other defaults."""
    method, space = session.ask(_PLACE, [table])[0]
    return f"USING {method}", f"TABLESPACE {space}"


def column_settings(
    session: Session, old: str, new: str, renames: Mapping[str, str], dropped: Sequence[str]
) -> Iterator[str]:
    """Statements for the columns of a new table that come from an old one; both are there."""
    types = {row[0]: row[1] for row in session.ask(_COLUMNS, [new])}
    for name, type_, target, storage, usual, compression, options in session.ask(_COLUMNS, [old]):
        wish = renames.get(name, name)
        if name in dropped or wish not in types:
            continue
        alter = f"ALTER TABLE {new} ALTER COLUMN {quote_double(wish)} SET"
        if target not in (None, "-1"):
            yield f"{alter} STATISTICS {target}"
        if options:
            yield f"{alter} ({options})"
        if type_ == types[wish] and storage != usual:
            yield f"{alter} STORAGE {_STORAGE[storage]}"
        if type_ == types[wish] and compression in _COMPRESSION:
            yield f"{alter} COMPRESSION {_COMPRESSION[compression]}"


def required_names(session: Session, table: str) -> Mapping[str, str]:
    """The names that NOT NULL constraints have, by column: PostgreSQL 18 has some."""
    return dict(session.ask(_REQUIRED, [table]))


def required_sql(table: str, names: Mapping[str, str]) -> Iterator[str]:
    """One statement that gives the NOT NULL constraints of a table these names."""
    if not names:
        return
    rename = f"ALTER TABLE {table.replace('%', '%%')} RENAME CONSTRAINT %I TO %I"
    wishes = ", ".join(f"({literal(column)}, {literal(name)})" for column, name in names.items())
    yield block(
        "DECLARE r record; BEGIN FOR r IN SELECT k.conname AS now, w.name AS wish "
        f"FROM (VALUES {wishes}) AS w(col, name) "
        f"JOIN pg_attribute a ON a.attrelid = {literal(table)}::regclass AND a.attname = w.col "
        "JOIN pg_constraint k ON k.conrelid = a.attrelid AND k.contype = 'n' "
        "AND k.conkey = ARRAY[a.attnum] WHERE k.conname <> w.name LOOP "
        f"EXECUTE format({literal(rename)}, r.now, r.wish); END LOOP; END"
    )


def named_after(session: Session, table: TableName, carried: frozenset[str]) -> Iterator[str]:
    """Columns that became required on the copy: their constraints have its name, and take the table's."""
    name = qualified(table)
    taken = {str(row[0]) for row in session.ask(_TAKEN, [name])}
    for column, now in required_names(session, name).items():
        if column in carried:
            continue
        stem = f"{table.name}_{column}"
        numbers = ("", *map(str, range(1, len(taken) + 1)))
        wish = next(w for n in numbers if (w := fitted(stem, f"_not_null{n}")) not in taken)
        taken.add(wish)
        yield f"ALTER TABLE {name} RENAME CONSTRAINT {quote_double(now)} TO {quote_double(wish)}"
