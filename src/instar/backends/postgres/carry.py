"""What hangs on a table and must hang on its successor: read and moved inside the cut-over's transaction.

Definitions are asked of the catalog as text, with every name written in full, while the old table still has
its name; run after the swap, the same text means the new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from instar.backends.postgres.catalog import READERS
from instar.backends.postgres.names import TRIGGER, fitted
from instar.backends.postgres.privileges import carried_grants
from instar.backends.postgres.session import Session
from instar.backends.postgres.settings import required_names, required_sql
from instar.backends.sql import block, literal, qualified, quote_double
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
obj_description(oid, 'pg_constraint'), (SELECT array_agg(attname::text) FROM pg_attribute
  WHERE attrelid = conrelid AND attnum = ANY(conkey)) FROM pg_constraint
WHERE contype = 'f' AND conparentid = 0 AND (conrelid = %s::regclass OR confrelid = %s::regclass)
ORDER BY conname"""

_INDEXES = """SELECT c.relname, obj_description(c.oid, 'pg_class'),
(SELECT obj_description(k.oid, 'pg_constraint') FROM pg_constraint k
 WHERE k.conindid = c.oid AND k.contype IN ('p', 'u')),
EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = c.oid AND k.contype IN ('p', 'u'))
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = %s::regclass
ORDER BY c.relname"""

_CHECK_COMMENTS = """SELECT conname, obj_description(oid, 'pg_constraint') FROM pg_constraint
WHERE conrelid = %s::regclass AND contype IN ('c', 'n') AND obj_description(oid, 'pg_constraint') IS NOT NULL"""

_STATISTICS = """SELECT stxnamespace::regnamespace::text || '.' || quote_ident(stxname),
pg_get_statisticsobjdef(oid), pg_get_userbyid(stxowner), to_jsonb(s) ->> 'stxstattarget',
obj_description(oid, 'pg_statistic_ext') FROM pg_statistic_ext s WHERE stxrelid = %s::regclass
AND NOT EXISTS (SELECT 1 FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid
  AND a.attnum = d.refobjsubid WHERE d.classid = 'pg_statistic_ext'::regclass AND d.objid = s.oid
  AND d.refclassid = 'pg_class'::regclass AND a.attname = ANY(%s::name[]))"""

_HEAD = """SELECT c.relreplident, array_to_string(c.reloptions, ', '),
(SELECT string_agg('toast.' || o, ', ') FROM pg_class t, unnest(t.reloptions) AS o
 WHERE t.oid = c.reltoastrelid),
(SELECT x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
 WHERE i.indrelid = c.oid AND i.indisclustered), c.relnamespace::regnamespace::text
FROM pg_class c WHERE c.oid = %s::regclass"""

_VIEW_COLUMNS = """SELECT a.attname, pg_get_expr(d.adbin, d.adrelid), col_description(a.attrelid, a.attnum)
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s::regclass AND a.attnum > 0"""

_ENABLED = {"D": "DISABLE", "R": "ENABLE REPLICA", "A": "ENABLE ALWAYS"}
_IDENTITY = {"f": "FULL", "n": "NOTHING"}


@dataclass(slots=True)
class Carried:
    """Statements: `before` takes things off the old table, `after` hangs them on the new one."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    validate: list[str] = field(default_factory=list)
    required: frozenset[str] = frozenset()
    """Columns whose NOT NULL keeps its name."""


def linked_tables(session: Session, table: TableName) -> list[str]:
    """The other tables that a foreign key connects it with: the cut-over locks them too."""
    name = qualified(table)
    rows = session.ask(_KEYS, [name] * 3)
    return sorted({str(t) for row in rows for t in row[1:3]} - {_regclass(session, name)})


def hung(session: Session, table: TableName) -> bool:
    """Whether views, foreign keys or triggers hang on it: what they say may not fit another table."""
    name = qualified(table)
    asked = ((_VIEWS, [name]), (_KEYS, [name] * 3), (_TRIGGERS, [name]))
    return any(session.ask(sql, values) for sql, values in asked)


def _regclass(session: Session, name: str) -> str:
    return str(session.ask("SELECT %s::regclass::text", [name])[0][0])


def gather(
    session: Session, table: TableName, dropped: Sequence[str], going: Sequence[str] = ()
) -> Carried:
    """Everything that is to be carried over from a table that still has its name.

    `dropped` are columns that the other table has not; foreign keys and statistics of `going` go with them.
    """
    name = qualified(table)
    found = Carried()
    _views(session, name, found)
    _foreign_keys(session, name, found, going)
    for trigger, definition, enabled, comment in session.ask(_TRIGGERS, [name]):
        found.after.append(definition)
        if enabled in _ENABLED:
            word = f"{_ENABLED[enabled]} TRIGGER {quote_double(trigger)}"
            found.after.append(f"ALTER TABLE {name} {word}")
        if comment:
            on = f"TRIGGER {quote_double(trigger)} ON {name}"
            found.after.append(f"COMMENT ON {on} IS {literal(comment)}")
    _statistics(session, name, found, going)
    found.after += _head(session, name)
    names = required_names(session, name)
    found.after += required_sql(name, names)
    found.required = frozenset(names)
    found.after += carried_grants(session, name, name, dropped)
    for constraint, comment in session.ask(_CHECK_COMMENTS, [name]):
        found.after.append(_said(constraint, name, comment))
    return found


def _said(constraint: str, table: str, comment: str) -> str:
    """A comment on a constraint, if that is still there."""
    of = f"conrelid = {literal(table)}::regclass AND conname = {literal(constraint)}"
    say = f"COMMENT ON CONSTRAINT {quote_double(constraint)} ON {table} IS {literal(comment)}"
    there = f"EXISTS (SELECT 1 FROM pg_constraint WHERE {of})"
    return block(f"BEGIN IF {there} THEN EXECUTE {literal(say)}; END IF; END")


def _statistics(session: Session, name: str, found: Carried, going: Sequence[str]) -> None:
    rows = session.ask(_STATISTICS, [name, list(going)])
    for statistics, definition, owner, target, comment in rows:
        found.before.append(f"DROP STATISTICS {statistics}")
        found.after.append(definition)
        found.after.append(f"ALTER STATISTICS {statistics} OWNER TO {quote_double(owner)}")
        if target not in (None, "-1"):
            found.after.append(f"ALTER STATISTICS {statistics} SET STATISTICS {target}")
        if comment:
            found.after.append(f"COMMENT ON STATISTICS {statistics} IS {literal(comment)}")


def _head(session: Session, name: str) -> Iterator[str]:
    identity, options, toast, clustered, schema = session.ask(_HEAD, [name])[0]
    if identity in _IDENTITY:
        yield f"ALTER TABLE {name} REPLICA IDENTITY {_IDENTITY[identity]}"
    if options:
        yield f"ALTER TABLE {name} SET ({options})"
    if toast:
        yield f"ALTER TABLE {name} SET ({toast})"
    if clustered:
        index = quote_double(clustered)
        place = literal(f"{schema}.{index}")
        yield block(
            f"BEGIN IF to_regclass({place}) IS NOT NULL THEN "
            f"ALTER TABLE {name} CLUSTER ON {index}; END IF; END"
        )


def _views(session: Session, name: str, found: Carried) -> None:
    rows = session.ask(_VIEWS, [name])
    found.before += [f"DROP VIEW {row[1]}" for row in reversed(rows)]
    for _, view, definition, owner, comment, options in rows:
        given = f" WITH ({options})" if options else ""
        found.after.append(f"CREATE VIEW {view}{given} AS {definition}")
        found.after.append(f"ALTER VIEW {view} OWNER TO {quote_double(owner)}")
        found.after += carried_grants(session, view, view)
        if comment:
            found.after.append(f"COMMENT ON VIEW {view} IS {literal(comment)}")
        found.after += _view_columns(session, view)


def _view_columns(session: Session, view: str) -> Iterator[str]:
    for column, default, comment in session.ask(_VIEW_COLUMNS, [view]):
        quoted = quote_double(column)
        if default is not None:
            yield f"ALTER VIEW {view} ALTER COLUMN {quoted} SET DEFAULT {default}"
        if comment:
            yield f"COMMENT ON COLUMN {view}.{quoted} IS {literal(comment)}"


def _foreign_keys(session: Session, name: str, found: Carried, going: Sequence[str]) -> None:
    """Both directions: off the old table, on the new one without a look at rows, validated later.

    The rows are the same, so that the keys hold; validation afterwards needs no strong lock.
    """
    for key, child, _, definition, valid, own, comment, columns in session.ask(_KEYS, [name] * 3):
        holder, quoted = name if own else child, quote_double(key)
        found.before.append(f"ALTER TABLE {holder} DROP CONSTRAINT {quoted}")
        if own and not set(columns).isdisjoint(going):
            continue
        later = definition if not valid else f"{definition} NOT VALID"
        found.after.append(f"ALTER TABLE {holder} ADD CONSTRAINT {quoted} {later}")
        if valid:
            found.validate.append(f"ALTER TABLE {holder} VALIDATE CONSTRAINT {quoted}")
        if comment:
            found.after.append(_said(key, holder, comment))


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
            say = literal(f"COMMENT ON INDEX {place} IS {literal(comment)}")
            there = f"to_regclass({literal(place)}) IS NOT NULL"
            found.append(block(f"BEGIN IF {there} THEN EXECUTE {say}; END IF; END"))
        if said:
            found.append(_said(index, qualified(table), said))
    return found
