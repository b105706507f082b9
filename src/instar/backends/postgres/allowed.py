"""What the session's role may not do and a plan would need: asked of the server for many tables at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from instar.backends.postgres.catalog import READERS
from instar.backends.postgres.inspect import Ask
from instar.backends.sql import qualified, quote_double
from instar.core.changes import AddConstraint, ChangePrimaryKey
from instar.core.findings import Finding, Severity
from instar.core.plan import Job, Rung
from instar.core.schema import TableName, Unique

_RIGHTS = """SELECT w.s, w.t, current_user, current_database(), n.oid IS NOT NULL,
has_database_privilege(current_database(), 'CREATE'), has_schema_privilege(n.oid, 'USAGE'),
has_schema_privilege(n.oid, 'CREATE'), pg_get_userbyid(c.relowner), pg_has_role(c.relowner, 'USAGE'),
pg_has_role(c.relowner, 'SET'),
me.rolsuper OR c.relowner = me.oid OR has_schema_privilege(c.relowner, n.oid, 'CREATE'),
has_table_privilege(c.oid, 'SELECT'), has_database_privilege(current_database(), 'TEMPORARY')
FROM unnest(%s::text[], %s::text[]) AS w(s, t) JOIN pg_roles me ON me.rolname = current_user
LEFT JOIN pg_namespace n ON n.nspname = w.s
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.t AND c.relkind = 'r'"""
"""PostgreSQL lets a role alter what it has the rights of the owner of (USAGE), and give a new table to an
owner only where it could become that one (SET)."""

_AROUND = f"""WITH RECURSIVE asked AS (SELECT c.oid, w.s, w.t FROM unnest(%s::text[], %s::text[]) AS w(s, t)
  JOIN pg_namespace n ON n.nspname = w.s
  JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.t),
reader AS NOT MATERIALIZED ({READERS}), dep(root, view) AS (
  SELECT root, view FROM reader WHERE root IN (SELECT oid FROM asked)
  UNION SELECT dep.root, reader.view FROM dep JOIN reader ON reader.root = dep.view)
SELECT a.s, a.t, 'is no member of ''' || pg_get_userbyid(v.relowner) || ''', which owns the view '
  || v.oid::regclass || ' that reads it'
FROM asked a JOIN dep ON dep.root = a.oid JOIN pg_class v ON v.oid = dep.view
WHERE NOT pg_has_role(v.relowner, 'USAGE')
UNION SELECT a.s, a.t, 'is no member of ''' || pg_get_userbyid(o.relowner) || ''', which owns '
  || o.oid::regclass || ' that refers to it'
FROM asked a JOIN pg_constraint k ON k.confrelid = a.oid AND k.contype = 'f'
JOIN pg_class o ON o.oid = k.conrelid WHERE NOT pg_has_role(o.relowner, 'USAGE')
UNION SELECT a.s, a.t, 'has no ' || p.word || ' on ' || k.confrelid::regclass
  || ', which it refers to'
FROM asked a JOIN pg_constraint k ON k.conrelid = a.oid AND k.contype = 'f', LATERAL (VALUES
  ('REFERENCES', has_table_privilege(k.confrelid, 'REFERENCES')),
  ('UPDATE (which the lock of the cut-over takes)', has_table_privilege(k.confrelid,
    CASE WHEN current_setting('server_version_num')::int < 170000 THEN 'UPDATE, DELETE, TRUNCATE'
    ELSE 'UPDATE, DELETE, TRUNCATE, MAINTAIN' END))) AS p(word, allowed) WHERE NOT p.allowed
UNION SELECT a.s, a.t, p.word FROM asked a JOIN (SELECT oid AS root, oid FROM asked UNION SELECT * FROM dep
  UNION SELECT refobjid, objid FROM pg_depend WHERE classid = 'pg_class'::regclass
    AND refclassid = 'pg_class'::regclass AND deptype = 'i') AS own ON own.root = a.oid
JOIN pg_class c ON c.oid = own.oid, LATERAL (SELECT grantor FROM aclexplode(c.relacl)
  UNION SELECT x.grantor FROM pg_attribute t, aclexplode(t.attacl) x
  WHERE t.attrelid = c.oid AND NOT t.attisdropped) AS g, LATERAL (VALUES
  ('cannot act as ''' || pg_get_userbyid(g.grantor) || ''', who granted privileges on ' || c.oid::regclass,
    pg_has_role(g.grantor, 'SET')),
  ('cannot grant anew what ''' || pg_get_userbyid(g.grantor) || ''' granted on ' || c.oid::regclass
    || ', who has no USAGE on its schema', has_schema_privilege(g.grantor, c.relnamespace, 'USAGE'))
  ) AS p(word, allowed) WHERE g.grantor <> c.relowner AND NOT p.allowed
ORDER BY 1, 2, 3"""
"""What a cut-over takes off other tables and views, and hangs on again."""


@dataclass(frozen=True, slots=True)
class _Rights:
    role: str
    database: str
    schema_there: bool
    may_make_schema: bool
    may_use: bool
    may_create: bool
    owner: str | None
    owns: bool
    may_give: bool
    owner_may_create: bool
    may_read: bool
    may_make_temporary: bool


_Lack = tuple[str, str]
"""What the role lacks, and what would mend it."""


def denied(ask: Ask, jobs: Sequence[Job]) -> Mapping[TableName, tuple[Finding, ...]]:
    """By table: a finding for each right that is missing."""
    if not jobs:
        return {}
    rows = ask(_RIGHTS, _named(jobs))
    rights = {TableName(s, t): _Rights(*rest) for s, t, *rest in rows}
    around: dict[TableName, list[_Lack]] = {}
    if copied := [job for job in jobs if job.rung is Rung.REWRITE]:
        for s, t, words in ask(_AROUND, _named(copied)):
            hint = "Connect as a role that may change both."
            around.setdefault(TableName(s, t), []).append((words, hint))
    found: dict[TableName, tuple[Finding, ...]] = {}
    for job in jobs:
        name = job.target.name
        lacks = (*_lacks(job, rights[name]), *around.get(name, ()))
        found[name] = tuple(_finding(name, rights[name].role, *lack) for lack in lacks)
    return found


def _named(jobs: Sequence[Job]) -> list[list[str]]:
    return [[j.target.name.schema for j in jobs], [j.target.name.name for j in jobs]]


def _finding(name: TableName, role: str, words: str, hint: str) -> Finding:
    return Finding("F608", Severity.ERROR, f"[{name}] the role '{role}' {words}.", hint)


def _lacks(job: Job, has: _Rights) -> Iterator[_Lack]:
    name, schema = job.target.name, f"the schema '{job.target.name.schema}'"
    if not has.schema_there:
        if not has.may_make_schema:
            words = f"has no CREATE on the database '{has.database}', and there is no {schema[4:]}"
            yield words, "Have the schema made, with CREATE on it for the role."
        return
    if not has.may_use:
        yield f"has no USAGE on {schema}", _grant("USAGE", _schema(name), has)
    if not has.may_create and _creates(job):
        yield f"has no CREATE on {schema}", _grant("CREATE", _schema(name), has)
    if job.live is None:
        return
    if not has.owns:
        words = f"is no member of '{has.owner}', which owns the table"
        yield words, "Connect as the owner, or as a member of its role."
    if not has.may_read and job.rung is not Rung.METADATA:
        yield "has no SELECT on the table", _grant("SELECT", qualified(name), has)
    if job.rung is Rung.REWRITE and not has.may_make_temporary:
        database = f"DATABASE {quote_double(has.database)}"
        words = f"has no TEMPORARY on the database '{has.database}', where the keys of changed rows are gathered"
        yield words, _grant("TEMPORARY", database, has)
    if has.owns and job.rung is Rung.REWRITE:
        yield from _giving(has, schema)


def _schema(name: TableName) -> str:
    return f"SCHEMA {quote_double(name.schema)}"


def _grant(privilege: str, on: str, has: _Rights) -> str:
    return f"`GRANT {privilege} ON {on} TO {quote_double(has.role)}` gives it."


def _creates(job: Job) -> bool:
    """A table beside it, or an index for a key."""
    return job.live is None or job.rung is Rung.REWRITE or any(map(_adds_key, job.changes))


def _adds_key(change: object) -> bool:
    match change:
        case AddConstraint(Unique()):
            return True
        case ChangePrimaryKey(_, new):
            return bool(new)
        case _:
            return False


def _giving(has: _Rights, schema: str) -> Iterator[_Lack]:
    """The new table is made by the role and belongs to the owner of the old one."""
    if not has.may_give:
        words = f"cannot give a table to '{has.owner}', which owns this one (SET is not granted)"
        yield words, "Connect as the owner."
    if not has.owner_may_create:
        words = f"cannot give a table to '{has.owner}', which has no CREATE on {schema}"
        yield words, "Grant it to the owner."
