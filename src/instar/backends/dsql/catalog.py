"""The catalog as Aurora DSQL offers it: no rules, triggers, publications, policies or sizes to ask for."""

from __future__ import annotations

from collections.abc import Iterator

from instar.backends.postgres.facts import Facts
from instar.backends.postgres.inspect import Reader

_TABLES = """SELECT c.oid, pg_get_userbyid(c.relowner), obj_description(c.oid, 'pg_class'),
false, array_to_string(c.reloptions, ', '), concat_ws(' ', c.relacl::text,
  (SELECT string_agg(quote_ident(a.attname) || a.attacl::text, ' ' ORDER BY a.attnum)
   FROM pg_attribute a WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attacl IS NOT NULL)), false, false, false, 'd',
false, false FROM pg_class c WHERE c.oid = ANY(%s::oid[])"""

_READERS = """SELECT d.refobjid AS root, i.refobjid AS view FROM pg_depend d JOIN pg_depend i
ON i.classid = d.classid AND i.objid = d.objid AND i.deptype = 'i' AND i.refclassid = d.refclassid
WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
AND d.deptype = 'n' AND i.refobjid <> d.refobjid"""

_VIEWS = f"""WITH RECURSIVE reader AS NOT MATERIALIZED ({_READERS}), dep(root, view) AS (
  SELECT root, view FROM reader WHERE root = ANY(%s::oid[])
  UNION SELECT dep.root, reader.view FROM dep JOIN reader ON reader.root = dep.view)
SELECT dep.root, v.oid::regclass::text, v.relkind,
ARRAY(SELECT DISTINCT d.refobjsubid::int2 FROM pg_depend d JOIN pg_depend i
  ON i.classid = d.classid AND i.objid = d.objid AND i.deptype = 'i' AND i.refobjid = v.oid
  WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
  AND d.refobjid = dep.root AND d.refobjsubid > 0),
false FROM dep JOIN pg_class v ON v.oid = dep.view ORDER BY 2"""

_SEQUENCES = """SELECT d.refobjid, d.refobjsubid, d.objid::regclass::text, a.attidentity, '', '', true
FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
AND d.refobjid = ANY(%s::oid[]) AND d.deptype IN ('a', 'i') ORDER BY 1, 2"""

_OTHERS = """SELECT c.oid, 'bound', 'the function ' || d.objid::regprocedure || ' uses its row type'
FROM pg_class c JOIN pg_type t ON t.oid = c.reltype JOIN pg_depend d
ON d.refclassid = 'pg_type'::regclass AND d.refobjid IN (t.oid, t.typarray)
AND d.classid = 'pg_proc'::regclass WHERE c.oid = ANY(%s::oid[])
UNION SELECT c.oid, 'bound', '''' || pg_get_userbyid(a.grantor) || ''' granted privileges on it, which'
  || ' would become its owner''s' FROM pg_class c, LATERAL (SELECT grantor FROM aclexplode(c.relacl)
  UNION SELECT x.grantor FROM pg_attribute t, aclexplode(t.attacl) x
  WHERE t.attrelid = c.oid AND NOT t.attisdropped) AS a
WHERE a.grantor <> c.relowner AND c.oid = ANY(%s::oid[]) ORDER BY 3"""

SIZES = """SELECT n.nspname, c.relname, c.reltuples::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(%s::text[], %s::text[]) AS wanted(s, t) ON wanted.s = n.nspname AND wanted.t = c.relname
WHERE c.relkind = 'r'"""

NO_KEY = "it has no primary key (nor a unique key without NULLs) by which its rows could be copied in batches"


def has_key(facts: Facts, nullable: frozenset[str]) -> bool:
    """Whether the rows of the table can be walked."""
    keys = [k.columns for k in facts.keys if not k.deferrable]
    keys += [i.keys for i in facts.indexes if i.keys]
    return any(not nullable & set(columns) for columns in keys)


def bars(facts: Facts) -> Iterator[str]:
    """What one DDL a transaction cannot hand over from the old table to the new one."""
    for view in facts.views:
        yield f"the view {view.name} reads it and would go on reading the old table"
    for key in facts.outgoing:
        yield f"the foreign key {key.name} would stay with the old table"
    for key in facts.incoming:
        yield f"{key.table} refers to it by a foreign key, which would stay with the old table"
    for sequence in facts.sequences:
        yield f"the sequence {sequence.name} numbers '{sequence.column}' of the old table"


READER = Reader(
    format="dsql",
    tables=_TABLES,
    views=_VIEWS,
    sequences=_SEQUENCES,
    others=_OTHERS,
    bars=bars,
)
