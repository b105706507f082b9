"""The queries that read the catalog: each answers for any number of tables at once."""

from __future__ import annotations

NAMED = """SELECT c.oid, n.nspname, c.relname, c.relkind, c.relispartition
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(%s::text[], %s::text[]) AS wanted(s, t) ON wanted.s = n.nspname AND wanted.t = c.relname
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')"""

TABLES = """SELECT c.oid, pg_get_userbyid(c.relowner), obj_description(c.oid, 'pg_class'),
c.relpersistence = 'u', array_to_string(c.reloptions, ', '), NULL::text,
c.relrowsecurity OR c.relforcerowsecurity,
EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhparent = c.oid), c.reloftype <> 0, c.relreplident,
EXISTS (SELECT 1 FROM pg_inherits i WHERE i.inhrelid = c.oid),
EXISTS (SELECT 1 FROM pg_rewrite r WHERE r.ev_class = c.oid)
FROM pg_class c WHERE c.oid = ANY(%s::oid[])"""

COLUMNS = """SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
NOT a.attnotnull OR EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conrelid = a.attrelid
  AND k.contype = 'n' AND k.conkey = ARRAY[a.attnum] AND NOT k.convalidated),
pg_get_expr(d.adbin, d.adrelid), a.attgenerated, col_description(a.attrelid, a.attnum),
CASE WHEN a.attcollation <> t.typcollation
  THEN (SELECT quote_ident(nspname) || '.' || quote_ident(collname) FROM pg_collation o
        JOIN pg_namespace n ON n.oid = o.collnamespace WHERE o.oid = a.attcollation) END,
nullif(concat_ws(' ', CASE WHEN coalesce(a.attstattarget, -1) >= 0 THEN 'STATISTICS ' || a.attstattarget END,
  CASE WHEN a.attstorage <> t.typstorage THEN 'STORAGE ' || a.attstorage::text END,
  'COMPRESSION ' || nullif(a.attcompression::text, ''), array_to_string(a.attoptions, ', ')), '')
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = ANY(%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum"""

CONSTRAINTS = """SELECT k.conrelid, k.conname, k.contype, k.conkey,
CASE WHEN k.contype = 'c' THEN pg_get_expr(k.conbin, k.conrelid) END,
k.convalidated, k.condeferrable, k.confrelid, k.confkey, k.conrelid::regclass::text,
CASE WHEN k.confrelid <> 0 THEN k.confrelid::regclass::text END,
coalesce(to_jsonb(k) ->> 'conenforced', 'true') = 'true',
coalesce(to_jsonb(x) ->> 'indnullsnotdistinct', 'false') = 'true',
ARRAY(SELECT n FROM unnest(x.indkey::int2[]) WITH ORDINALITY AS u(n, place)
  WHERE u.place > x.indnkeyatts ORDER BY u.place),
array_to_string(o.reloptions, ', '),
k.contype IN ('p', 'u') AND coalesce(to_jsonb(k) ->> 'conperiod', 'false') = 'true'
FROM pg_constraint k
LEFT JOIN pg_index x ON x.indexrelid = k.conindid AND k.contype IN ('p', 'u')
LEFT JOIN pg_class o ON o.oid = x.indexrelid
WHERE (k.conrelid = ANY(%s::oid[]) OR k.confrelid = ANY(%s::oid[]))
AND (k.contype IN ('p', 'u', 'c', 'f', 'x') OR k.contype = 'n' AND NOT k.convalidated)
AND k.conparentid = 0
ORDER BY k.conrelid, k.conname"""

INDEXES = """SELECT i.indrelid, c.relname, pg_get_indexdef(i.indexrelid), i.indisunique, i.indisvalid,
i.indkey::int2[], i.indexprs IS NULL AND i.indpred IS NULL AND i.indimmediate,
ARRAY(SELECT DISTINCT d.refobjsubid::int2 FROM pg_depend d WHERE d.objid = i.indexrelid
  AND d.classid = 'pg_class'::regclass AND d.refobjid = i.indrelid AND d.refobjsubid > 0),
i.indnkeyatts, i.indisreplident
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = ANY(%s::oid[])
AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid
  AND k.contype IN ('p', 'u', 'x'))
ORDER BY i.indrelid, c.relname"""

READERS = """SELECT d.refobjid AS root, r.ev_class AS view FROM pg_depend d
JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
WHERE d.refclassid = 'pg_class'::regclass AND r.ev_class <> d.refobjid"""

VIEWS = f"""WITH RECURSIVE reader AS NOT MATERIALIZED ({READERS}), dep(root, view) AS (
  SELECT root, view FROM reader WHERE root = ANY(%s::oid[])
  UNION SELECT dep.root, reader.view FROM dep JOIN reader ON reader.root = dep.view)
SELECT dep.root, v.oid::regclass::text, v.relkind,
ARRAY(SELECT DISTINCT d.refobjsubid::int2 FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
  WHERE d.classid = 'pg_rewrite'::regclass AND r.ev_class = v.oid
  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = dep.root AND d.refobjsubid > 0),
CASE WHEN EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = v.oid AND NOT t.tgisinternal)
  THEN 'triggers' WHEN EXISTS (SELECT 1 FROM pg_rewrite r WHERE r.ev_class = v.oid
  AND r.rulename <> '_RETURN') THEN 'rules' ELSE '' END
FROM dep JOIN pg_class v ON v.oid = dep.view ORDER BY 2"""

SEQUENCES = """SELECT d.refobjid, d.refobjsubid, d.objid::regclass::text,
CASE WHEN d.deptype = 'i' THEN a.attidentity ELSE '' END,
format('START WITH %%s INCREMENT BY %%s MINVALUE %%s MAXVALUE %%s CACHE %%s%%s', s.seqstart,
  s.seqincrement, s.seqmin, s.seqmax, s.seqcache, CASE WHEN s.seqcycle THEN ' CYCLE' ELSE '' END),
format_type(s.seqtypid, NULL), d.deptype = 'i' OR EXISTS (SELECT 1 FROM pg_attrdef f
  WHERE f.adrelid = a.attrelid AND f.adnum = a.attnum AND pg_get_expr(f.adbin, f.adrelid)
    = format('nextval(%%L::regclass)', d.objid::regclass::text))
FROM pg_depend d JOIN pg_sequence s ON s.seqrelid = d.objid
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
AND d.refobjid = ANY(%s::oid[]) AND d.deptype IN ('a', 'i') ORDER BY 1, 2"""

_BOUND = f"""SELECT root, 'bound', CASE
  WHEN d.refclassid = 'pg_type'::regclass THEN what || ' uses ' || CASE WHEN rel = root
    THEN 'its row type' ELSE 'the row type of the view ' || rel::regclass END
  WHEN d.deptype = 'e' THEN CASE WHEN rel = root THEN 'it' ELSE 'the view ' || rel::regclass END
    || ' belongs to ' || what
  ELSE CASE WHEN d.classid = 'pg_proc'::regclass THEN 'the body of ' ELSE '' END || what
    || ' is bound to ' || CASE WHEN rel = root THEN 'it' ELSE 'the view ' || rel::regclass END END
FROM (WITH RECURSIVE reader AS NOT MATERIALIZED ({READERS}), dep(root, rel) AS (
  SELECT oid, oid FROM unnest(%s::oid[]) AS oid
  UNION SELECT dep.root, reader.view FROM dep JOIN reader ON reader.root = dep.rel)
  SELECT dep.root, v.oid AS rel, v.reltype, t.typarray FROM dep JOIN pg_class v ON v.oid = dep.rel
  JOIN pg_type t ON t.oid = v.reltype WHERE dep.rel = dep.root OR v.relkind = 'v') AS own,
LATERAL (SELECT d.*, pg_describe_object(d.classid, d.objid, d.objsubid) AS what FROM pg_depend d
  WHERE d.deptype IN ('n', 'a')
  AND (d.refclassid = 'pg_class'::regclass AND d.refobjid = own.rel AND d.classid NOT IN
    ('pg_rewrite'::regclass, 'pg_constraint'::regclass, 'pg_attrdef'::regclass, 'pg_class'::regclass,
    'pg_statistic_ext'::regclass, 'pg_publication_rel'::regclass)
  AND NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE d.classid = 'pg_trigger'::regclass
    AND g.oid = d.objid AND (g.tgrelid = own.rel OR g.tgisinternal))
  AND NOT EXISTS (SELECT 1 FROM pg_policy p WHERE d.classid = 'pg_policy'::regclass
    AND p.oid = d.objid AND p.polrelid = own.rel)
  OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (own.reltype, own.typarray)
  AND NOT EXISTS (SELECT 1 FROM pg_rewrite r WHERE d.classid = 'pg_rewrite'::regclass
    AND r.oid = d.objid AND r.ev_class = own.rel))
  UNION ALL SELECT d.*, pg_describe_object(d.refclassid, d.refobjid, 0) FROM pg_depend d
  WHERE d.classid = 'pg_class'::regclass AND d.objid = own.rel AND d.deptype = 'e') AS d"""
"""What depends on a table, or on a view that reads it, and would go on with the old one: all that no other
query knows. A view is dropped and made again, which what is bound to it does not allow."""

OTHERS = f"""SELECT p.prrelid, 'publication', b.pubname::text FROM pg_publication_rel p
JOIN pg_publication b ON b.oid = p.prpubid WHERE p.prrelid = ANY(%s::oid[])
UNION ALL SELECT c.oid, 'publication', b.pubname::text FROM pg_class c
JOIN pg_publication b ON b.puballtables OR EXISTS (SELECT 1 FROM pg_publication_namespace pn
  WHERE pn.pnpubid = b.oid AND pn.pnnspid = c.relnamespace) WHERE c.oid = ANY(%s::oid[])
UNION ALL SELECT r.srrelid, 'subscription', s.subname::text FROM pg_subscription_rel r
JOIN pg_subscription s ON s.oid = r.srsubid WHERE r.srrelid = ANY(%s::oid[])
UNION ALL SELECT DISTINCT i.indrelid, 'ordered elsewhere', c.relname::text FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_opclass o ON o.oid = ANY(i.indclass::oid[])
WHERE i.indisunique AND o.opcnamespace <> 'pg_catalog'::regnamespace AND i.indrelid = ANY(%s::oid[])
UNION ALL SELECT DISTINCT k.conrelid, 'groups', CASE WHEN r.oid IS NULL
  THEN pg_describe_object(d.classid, d.objid, 0) ELSE 'the view ' || r.ev_class::regclass END
FROM pg_constraint k JOIN pg_depend d ON d.refclassid = 'pg_constraint'::regclass AND d.refobjid = k.oid
LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
WHERE k.contype = 'p' AND d.deptype = 'n' AND d.classid IN ('pg_rewrite'::regclass, 'pg_proc'::regclass)
AND k.conrelid = ANY(%s::oid[])
UNION ALL SELECT polrelid, 'policy', polname::text FROM pg_policy WHERE polrelid = ANY(%s::oid[])
UNION ALL SELECT DISTINCT d.refobjid, 'holds',
  json_build_array(a.attname, pg_describe_object(d.classid, d.objid, 0))::text
FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY(%s::oid[]) AND d.deptype = 'n'
AND d.refobjsubid > 0 AND d.classid IN ('pg_trigger'::regclass, 'pg_policy'::regclass,
  'pg_publication_rel'::regclass, 'pg_proc'::regclass)
UNION ALL SELECT i.indrelid, 'uncarried', 'the tablespace of the index ' || c.relname
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.reltablespace <> 0 AND i.indrelid = ANY(%s::oid[])
UNION ALL SELECT DISTINCT i.indrelid, 'uncarried', 'the statistics target of the index ' || c.relname
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_attribute a ON a.attrelid = c.oid
WHERE coalesce(a.attstattarget, -1) >= 0 AND i.indrelid = ANY(%s::oid[])
UNION ALL SELECT i.indrelid, 'whole row', c.relname::text
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE concat(i.indexprs, i.indpred) LIKE '%%:varattno 0 %%' AND i.indrelid = ANY(%s::oid[])
UNION ALL SELECT conrelid, 'uncarried', 'NO INHERIT of the constraint ' || conname
FROM pg_constraint WHERE contype IN ('c', 'n') AND connoinherit AND conrelid = ANY(%s::oid[])
UNION ALL SELECT DISTINCT objoid, 'uncarried', 'its security labels' FROM pg_seclabel
WHERE classoid = 'pg_class'::regclass AND objoid = ANY(%s::oid[])
UNION ALL SELECT own.refobjid, 'numbers', pg_describe_object(d.classid, d.objid, 0)
FROM pg_depend own JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass
  AND d.refobjid = own.objid AND d.deptype = 'n'
WHERE own.classid = 'pg_class'::regclass AND own.refclassid = 'pg_class'::regclass
AND own.deptype = 'i' AND own.refobjid = ANY(%s::oid[]) AND d.classid IN
  ('pg_attrdef'::regclass, 'pg_rewrite'::regclass, 'pg_proc'::regclass)
UNION ALL SELECT k.confrelid, 'bound', 'the partitioned table ' || k.conrelid::regclass
  || ' refers to it, which PostgreSQL before 18 connects again only under a lock on all of its rows'
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid AND c.relkind = 'p'
WHERE k.contype = 'f' AND k.conparentid = 0 AND k.confrelid = ANY(%s::oid[])
AND current_setting('server_version_num')::int < 180000
UNION ALL {_BOUND}
ORDER BY 1, 2, 3"""

LIST = """SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relkind = 'r' AND NOT c.relispartition ORDER BY c.relname"""

SIZES = """SELECT n.nspname, c.relname, c.reltuples::bigint, pg_table_size(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(%s::text[], %s::text[]) AS wanted(s, t) ON wanted.s = n.nspname AND wanted.t = c.relname
WHERE c.relkind = 'r'"""
