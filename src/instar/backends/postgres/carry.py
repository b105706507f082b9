"""What hangs on a table and must hang on its successor: read and moved inside the cut-over's transaction.

Definitions are asked of the catalog as text, with every name written in full, while the old table still has
its name; run after the swap, the same text means the new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from instar.backends.postgres.catalog import READERS
from instar.backends.postgres.names import TRIGGER, fitted
from instar.backends.postgres.session import Rows, Session
from instar.backends.sql import literal, qualified, quote_double
from instar.core.schema import TableName

_VIEWS = f"""WITH RECURSIVE reader AS NOT MATERIALIZED ({READERS}), dep(view, depth) AS (
  SELECT view, 1 FROM reader WHERE root = %s::regclass
  UNION SELECT reader.view, dep.depth + 1 FROM dep JOIN reader ON reader.root = dep.view)
SELECT v.oid, v.oid::regclass::text, pg_get_viewdef(v.oid), pg_get_userbyid(v.relowner),
obj_description(v.oid, 'pg_class'), array_to_string(v.reloptions, ', ')
FROM dep JOIN pg_class v ON v.oid = dep.view GROUP BY v.oid ORDER BY max(dep.depth)"""

_TRIGGERS = f"""SELECT tgname, pg_get_triggerdef(oid), tgenabled, obj_description(oid, 'pg_trigger')
FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal
AND tgname NOT LIKE '{TRIGGER.replace("_", chr(92) + "_")}%%' ORDER BY tgname"""

_KEYS = """SELECT conname, conrelid::regclass::text, confrelid::regclass::text,
pg_get_constraintdef(oid), convalidated, conrelid = %s::regclass,
obj_description(oid, 'pg_constraint') FROM pg_constraint
WHERE contype = 'f' AND conparentid = 0 AND (conrelid = %s::regclass OR confrelid = %s::regclass)
ORDER BY conname"""

_INDEXES = """SELECT c.relname, obj_description(c.oid, 'pg_class'),
(SELECT obj_description(k.oid, 'pg_constraint') FROM pg_constraint k
 WHERE k.conindid = c.oid AND k.contype IN ('p', 'u')),
EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = c.oid AND k.contype IN ('p', 'u'))
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = %s::regclass
ORDER BY c.relname"""

_CHECK_COMMENTS = """SELECT conname, obj_description(oid, 'pg_constraint') FROM pg_constraint
WHERE conrelid = %s::regclass AND contype = 'c' AND obj_description(oid, 'pg_constraint') IS NOT NULL"""

_GRANTS = """SELECT a.privilege_type, CASE WHEN a.grantee = 0 THEN 'PUBLIC'
ELSE quote_ident(pg_get_userbyid(a.grantee)) END, a.is_grantable, NULL::text
FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = %s::regclass
UNION ALL SELECT a.privilege_type, CASE WHEN a.grantee = 0 THEN 'PUBLIC'
ELSE quote_ident(pg_get_userbyid(a.grantee)) END, a.is_grantable, t.attname::text
FROM pg_attribute t, aclexplode(t.attacl) a
WHERE t.attrelid = %s::regclass AND NOT t.attisdropped AND t.attacl IS NOT NULL"""

_STATISTICS = """SELECT stxnamespace::regnamespace::text || '.' || quote_ident(stxname),
pg_get_statisticsobjdef(oid) FROM pg_statistic_ext WHERE stxrelid = %s::regclass"""

_HEAD = """SELECT relreplident, relacl IS NOT NULL, pg_get_userbyid(relowner),
array_to_string(reloptions, ', ') FROM pg_class WHERE oid = %s::regclass"""

_ENABLED = {"D": "DISABLE", "R": "ENABLE REPLICA", "A": "ENABLE ALWAYS"}
_IDENTITY = {"f": "FULL", "n": "NOTHING"}


@dataclass(slots=True)
class Carried:
    """Statements: `before` takes things off the old table, `after` hangs them on the new one."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    validate: list[str] = field(default_factory=list)


def linked_tables(session: Session, table: TableName) -> list[str]:
    """The other tables that a foreign key connects it with: the cut-over locks them too."""
    name = qualified(table)
    rows = session.ask(_KEYS, [name] * 3)
    return sorted({str(t) for row in rows for t in row[1:3]} - {_regclass(session, name)})


def _regclass(session: Session, name: str) -> str:
    return str(session.ask("SELECT %s::regclass::text", [name])[0][0])


def gather(session: Session, table: TableName, dropped: Sequence[str]) -> Carried:
    """Everything that is to be carried over from a table that still has its name."""
    name = qualified(table)
    found = Carried()
    _views(session, name, found)
    _foreign_keys(session, name, found)
    for trigger, definition, enabled, comment in session.ask(_TRIGGERS, [name]):
        found.after.append(definition)
        if enabled in _ENABLED:
            word = f"{_ENABLED[enabled]} TRIGGER {quote_double(trigger)}"
            found.after.append(f"ALTER TABLE {name} {word}")
        if comment:
            on = f"TRIGGER {quote_double(trigger)} ON {name}"
            found.after.append(f"COMMENT ON {on} IS {literal(comment)}")
    for statistics, definition in session.ask(_STATISTICS, [name]):
        found.before.append(f"DROP STATISTICS {statistics}")
        found.after.append(definition)
    found.after += _head(session, name)
    found.after += _grants(name, session.ask(_GRANTS, [name, name]), dropped)
    for constraint, comment in session.ask(_CHECK_COMMENTS, [name]):
        on = f"CONSTRAINT {quote_double(constraint)} ON {name}"
        found.after.append(f"COMMENT ON {on} IS {literal(comment)}")
    return found


def _head(session: Session, name: str) -> Iterator[str]:
    identity, granted, owner, options = session.ask(_HEAD, [name])[0]
    if identity in _IDENTITY:
        yield f"ALTER TABLE {name} REPLICA IDENTITY {_IDENTITY[identity]}"
    if options:
        yield f"ALTER TABLE {name} SET ({options})"
    if granted:
        yield f"REVOKE ALL ON TABLE {name} FROM {quote_double(owner)}"


def _grants(name: str, rows: Rows, dropped: Sequence[str]) -> Iterator[str]:
    for privilege, grantee, grantable, column in rows:
        if column in dropped:
            continue
        what = privilege if column is None else f"{privilege} ({quote_double(column)})"
        option = " WITH GRANT OPTION" if grantable else ""
        yield f"GRANT {what} ON TABLE {name} TO {grantee}{option}"


def _views(session: Session, name: str, found: Carried) -> None:
    rows = session.ask(_VIEWS, [name])
    found.before += [f"DROP VIEW {row[1]}" for row in reversed(rows)]
    for _, view, definition, owner, comment, options in rows:
        given = f" WITH ({options})" if options else ""
        found.after.append(f"CREATE VIEW {view}{given} AS {definition}")
        found.after.append(f"ALTER VIEW {view} OWNER TO {quote_double(owner)}")
        found.after += _grants(view, session.ask(_GRANTS, [view, view]), ())
        if comment:
            found.after.append(f"COMMENT ON VIEW {view} IS {literal(comment)}")


def _foreign_keys(session: Session, name: str, found: Carried) -> None:
    """Both directions: off the old table, on the new one without a look at rows, validated later.

    The rows are the same, so that the keys hold; validation afterwards needs no strong lock.
    """
    for key, child, _, definition, valid, own, comment in session.ask(_KEYS, [name] * 3):
        holder, quoted = name if own else child, quote_double(key)
        found.before.append(f"ALTER TABLE {holder} DROP CONSTRAINT {quoted}")
        later = definition if not valid else f"{definition} NOT VALID"
        found.after.append(f"ALTER TABLE {holder} ADD CONSTRAINT {quoted} {later}")
        if valid:
            found.validate.append(f"ALTER TABLE {holder} VALIDATE CONSTRAINT {quoted}")
        if comment:
            found.after.append(f"COMMENT ON CONSTRAINT {quoted} ON {holder} IS {literal(comment)}")


def names_aside(session: Session, table: TableName, mark: str) -> Iterator[str]:
    """Renames that free the names of the old table's indexes for those of the new one."""
    schema = quote_double(table.schema)
    for index, _, _, _ in session.ask(_INDEXES, [qualified(table)]):
        aside = quote_double(fitted(str(index), mark))
        yield f"ALTER INDEX {schema}.{quote_double(index)} RENAME TO {aside}"


def index_comments(session: Session, table: TableName) -> list[str]:
    """Comments on indexes and keys, under the names that the new ones will have."""
    found: list[str] = []
    for index, comment, said, constraint in session.ask(_INDEXES, [qualified(table)]):
        if comment and not constraint:
            place = f"{quote_double(table.schema)}.{quote_double(index)}"
            found.append(f"COMMENT ON INDEX {place} IS {literal(comment)}")
        if said:
            on = f"CONSTRAINT {quote_double(index)} ON {qualified(table)}"
            found.append(f"COMMENT ON {on} IS {literal(said)}")
    return found
