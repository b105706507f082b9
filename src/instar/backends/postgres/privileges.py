"""Who may do what with a table, a view or a sequence: given again as it was, and to nobody else.

A new object has what ALTER DEFAULT PRIVILEGES gives; an older one that it replaces may never have had it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from instar.backends.postgres.session import Rows, Session
from instar.backends.sql import block, literal, quote_double

_WHO = """CASE WHEN a.grantee = 0 THEN 'PUBLIC'
ELSE quote_ident(pg_get_userbyid(a.grantee)) END"""

_BY = "CASE WHEN a.grantor <> c.relowner THEN quote_ident(pg_get_userbyid(a.grantor)) END"

_GRANTS = f"""SELECT a.privilege_type, {_WHO}, a.is_grantable, NULL::text, {_BY}
FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = %s::regclass
UNION ALL SELECT a.privilege_type, {_WHO}, a.is_grantable, t.attname::text, {_BY}
FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a
WHERE c.oid = %s::regclass AND NOT t.attisdropped AND t.attacl IS NOT NULL"""

_STRANGERS = f"""SELECT DISTINCT {_WHO} FROM pg_class c, aclexplode(c.relacl) a
WHERE c.oid = %s::regclass AND a.grantee <> c.relowner"""

_KIND = {"TABLE": "r", "SEQUENCE": "s"}
_EXPLICIT = "SELECT relacl IS NOT NULL FROM pg_class WHERE oid = %s::regclass"


def private(name: str, kind: str = "TABLE") -> str:
    """One statement after which only the owner has privileges; before it nobody may have been given any."""
    return _emptied(name, kind, "a.grantee <> c.relowner", own=True)


def _emptied(name: str, kind: str, whose: str, *, own: bool) -> str:
    place = f"{literal(name)}::regclass"
    # An owner may have taken a right from itself: what it has by being the owner is looked at, too.
    given = f"coalesce(relacl, acldefault({literal(_KIND[kind])}, relowner))"
    both = (
        f"SELECT relowner, {given} AS acl FROM pg_class WHERE oid = {place} UNION ALL "
        f"SELECT relowner, attacl FROM pg_class JOIN pg_attribute ON attrelid = oid WHERE oid = {place}"
    )
    again = (
        f"IF (SELECT relacl IS NOT NULL FROM pg_class WHERE oid = {place}) THEN "
        f"EXECUTE (SELECT {literal(f'GRANT ALL ON {kind} {name} TO ')} || "
        f"quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = {place}); END IF; "
    )
    return block(
        f"DECLARE who text; BEGIN FOR who IN SELECT DISTINCT {_WHO} "
        f"FROM ({both}) c, aclexplode(c.acl) a WHERE {whose} LOOP "
        f"EXECUTE {literal(f'REVOKE ALL ON {kind} {name} FROM ')} || who || ' CASCADE'; END LOOP; "
        f"{again if own else ''}END"
    )


def carried_grants(
    session: Session, source: str, name: str, dropped: Sequence[str] = (), kind: str = "TABLE"
) -> Iterator[str]:
    """Statements that give an object exactly the privileges that another has now."""
    (explicit,) = session.ask(_EXPLICIT, [source])[0]
    yield _emptied(name, kind, "TRUE", own=False) if explicit else private(name, kind)
    yield from _given(name, session.ask(_GRANTS, [source, source]), dropped, kind)


def _given(name: str, rows: Rows, dropped: Sequence[str], kind: str) -> Iterator[str]:
    for privilege, grantee, grantable, column, by in _in_turn(rows):
        if column in dropped:
            continue
        what = privilege if column is None else f"{privilege} ({quote_double(column)})"
        option = " WITH GRANT OPTION" if grantable else ""
        grant = f"GRANT {what} ON {kind} {name} TO {grantee}{option}"
        # What a grantee has granted on goes when its own right is taken, and only then.
        yield grant if by is None else f"SET LOCAL ROLE {by}; {grant}; RESET ROLE"


def _in_turn(rows: Rows) -> Rows:
    """Who grants on must have been granted it before; of the owner's own grants no grantor is named."""
    found = [row for row in rows if row[4] is None]
    left = [row for row in rows if row[4] is not None]
    while left:
        ready = [row for row in left if any(_allows(given, row) for given in found)] or left
        found += ready
        left = [row for row in left if row not in ready]
    return found


def _allows(given: tuple[Any, ...], row: tuple[Any, ...]) -> bool:
    privilege, _, _, column, by = row
    return given[:3] == (privilege, by, True) and given[3] in (None, column)


def grants(
    session: Session, source: str, table: str, dropped: Sequence[str], renames: Mapping[str, str]
) -> list[str]:
    """What gives a new table the privileges of another, its columns under their new names."""
    rows = [
        (*row[:3], renames.get(row[3], row[3]), row[4])
        for row in session.ask(_GRANTS, [source, source])
        if row[3] not in dropped
    ]
    taken = [
        f"REVOKE ALL ON TABLE {table} FROM {who}" for (who,) in session.ask(_STRANGERS, [table])
    ]
    return [*taken, *_given(table, rows, (), "TABLE")]
