-- The layer in the database: run by a superuser; clients log in as a role that is none.
-- Counters of a transaction are settings that end with it.
CREATE SCHEMA bed;
CREATE SCHEMA sys;

CREATE FUNCTION bed.refuse(code text, words text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING ERRCODE = code, MESSAGE = words; END $$;

CREATE FUNCTION bed.get(key text) RETURNS bigint LANGUAGE sql AS $$
SELECT coalesce(nullif(current_setting('bed.' || key, true), ''), '0')::bigint $$;

CREATE FUNCTION bed.bump(key text, by bigint) RETURNS bigint LANGUAGE sql AS $$
SELECT set_config('bed.' || key, (bed.get(key) + by)::text, true)::bigint $$;

-- Limits, as settings of the database so that a test may lower them.
CREATE TABLE bed.limits (rows bigint NOT NULL, bytes bigint NOT NULL, age interval NOT NULL);
INSERT INTO bed.limits VALUES (3000, 10 * 1024 * 1024, '5 minutes');

-- Conflicts on demand: the next commits that wrote rows, or the next DDL, fail. Sequences are not rolled back.
CREATE SEQUENCE bed.commits_seen MINVALUE 0 START 0;
CREATE SEQUENCE bed.ddl_seen MINVALUE 0 START 0;
SELECT nextval('bed.commits_seen'), nextval('bed.ddl_seen');
CREATE TABLE bed.faults (commits bigint NOT NULL, ddl bigint NOT NULL);
INSERT INTO bed.faults VALUES (0, 0);
CREATE TABLE bed.written (transaction bigint);

CREATE FUNCTION bed.at_commit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF (SELECT last_value FROM bed.commits_seen) < (SELECT commits FROM bed.faults) THEN
    PERFORM nextval('bed.commits_seen');
    PERFORM bed.refuse('40001', 'change conflicts with another transaction (OC000)');
  END IF;
  DELETE FROM bed.written WHERE transaction = NEW.transaction;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON bed.written DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION bed.at_commit();

-- Rows.
CREATE FUNCTION bed.before_rows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF bed.get('ddl') > 0 THEN
    PERFORM bed.refuse('0A000', 'ddl and dml are not supported in the same transaction');
  END IF;
  IF clock_timestamp() - now() > (SELECT age FROM bed.limits) THEN
    PERFORM bed.refuse('54000', 'transaction age limit exceeded');
  END IF;
  IF bed.bump('dml', 1) = 1 THEN INSERT INTO bed.written VALUES (txid_current()); END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION bed.after_rows() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE found record;
BEGIN
  SELECT count(*) AS rows, coalesce(sum(octet_length(touched::text)), 0) AS bytes,
    coalesce(max(octet_length(touched::text)), 0) AS widest INTO found FROM touched;
  IF found.widest > 2 * 1024 * 1024 THEN
    PERFORM bed.refuse('54000', 'maximum row size exceeded');
  END IF;
  IF bed.bump('rows', found.rows) > (SELECT rows FROM bed.limits) THEN
    PERFORM bed.refuse('54000', 'transaction row limit exceeded');
  END IF;
  IF bed.bump('bytes', found.bytes) > (SELECT bytes FROM bed.limits) THEN
    PERFORM bed.refuse('54000', 'transaction size limit 10mb exceeded');
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION bed.watch(relation text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('bed.inner', '1', true);
  EXECUTE format('CREATE TRIGGER bed_before BEFORE INSERT OR UPDATE OR DELETE ON %s
    FOR EACH STATEMENT EXECUTE FUNCTION bed.before_rows()', relation);
  EXECUTE format('CREATE TRIGGER bed_insert AFTER INSERT ON %s REFERENCING NEW TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION bed.after_rows()', relation);
  EXECUTE format('CREATE TRIGGER bed_update AFTER UPDATE ON %s REFERENCING NEW TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION bed.after_rows()', relation);
  EXECUTE format('CREATE TRIGGER bed_delete AFTER DELETE ON %s REFERENCING OLD TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION bed.after_rows()', relation);
  PERFORM set_config('bed.inner', '0', true);
END $$;

-- Types of columns.
CREATE FUNCTION bed.check_type(type oid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF type NOT IN (SELECT t.oid FROM pg_type t WHERE t.typtype = 'd' OR (t.typnamespace = 11
    AND t.typname IN ('int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'bpchar', 'varchar',
    'text', 'date', 'time', 'timetz', 'timestamp', 'timestamptz', 'interval', 'bool', 'bytea',
    'uuid', 'json', 'jsonb'))) THEN
    PERFORM bed.refuse('0A000', format('datatype %s not supported', format_type(type, NULL)));
  END IF;
END $$;

CREATE FUNCTION bed.check_table(relation oid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE found record;
BEGIN
  IF (SELECT relispartition OR relkind = 'p' FROM pg_class WHERE oid = relation)
    OR EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = relation) THEN
    PERFORM bed.refuse('0A000', 'partitions and inheritance not supported');
  END IF;
  IF (SELECT count(*) FROM pg_attribute WHERE attrelid = relation AND attnum > 0) > 255 THEN
    PERFORM bed.refuse('54011', 'tables can have at most 255 columns');
  END IF;
  FOR found IN SELECT a.* FROM pg_attribute a
    WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped LOOP
    PERFORM bed.check_type(found.atttypid);
    IF found.attcollation NOT IN (0, 100) THEN
      PERFORM bed.refuse('0A000', 'COLLATE not supported for CREATE TABLE');
    END IF;
    IF found.attidentity <> '' THEN
      IF current_query() !~* '\ycache\y' OR (SELECT s.seqcache BETWEEN 2 AND 65535
        FROM pg_sequence s JOIN pg_depend d ON d.objid = s.seqrelid AND d.deptype = 'i'
        WHERE d.refobjid = relation AND d.refobjsubid = found.attnum) THEN
        PERFORM bed.refuse('0A000', 'identity column is not supported without an explicit cache size');
      END IF;
      IF found.atttypid <> 'int8'::regtype THEN
        PERFORM bed.refuse('0A000', format('datatype %s not supported, identity column type must be bigint',
          format_type(found.atttypid, NULL)));
      END IF;
    END IF;
  END LOOP;
END $$;

-- DDL: what was there before an ALTER TABLE is compared with what is there behind it.
CREATE FUNCTION bed.picture() RETURNS jsonb LANGUAGE sql AS $$
SELECT jsonb_build_object(
  'columns', (SELECT coalesce(jsonb_object_agg(attrelid || '.' || attnum,
      jsonb_build_array(atttypid, atttypmod, attnotnull)), '{}')
    FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid AND c.relkind = 'r'
    WHERE c.relnamespace > 16383 OR c.relnamespace = 2200 AND attnum > 0 AND NOT attisdropped),
  'constraints', (SELECT coalesce(jsonb_object_agg(oid, convalidated), '{}')
    FROM pg_constraint WHERE conrelid > 16383),
  'indexes', (SELECT coalesce(jsonb_object_agg(indexrelid, true), '{}') FROM pg_index
    WHERE indrelid > 16383),
  'keys', (SELECT coalesce(jsonb_object_agg(indrelid || '.' || k, true), '{}')
    FROM pg_index, unnest(indkey) AS k WHERE indisprimary)) $$;

CREATE FUNCTION bed.ddl_begins() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF session_user <> 'admin' OR bed.get('inner') = 1 THEN RETURN; END IF;
  IF tg_tag IN ('CREATE TYPE', 'ALTER TYPE', 'DROP TYPE', 'CREATE MATERIALIZED VIEW',
    'CREATE TABLE AS', 'SELECT INTO', 'CREATE RULE', 'CREATE PROCEDURE', 'CREATE PUBLICATION',
    'CREATE AGGREGATE', 'CREATE POLICY', 'CREATE TRIGGER') THEN
    PERFORM bed.refuse('0A000', 'unsupported statement: ' || tg_tag);
  END IF;
  IF bed.get('dml') > 0 THEN
    PERFORM bed.refuse('0A000', 'ddl and dml are not supported in the same transaction');
  END IF;
  IF bed.bump('ddl', 1) > 1 THEN
    PERFORM bed.refuse('0A000', 'multiple ddl statements not supported in a transaction');
  END IF;
  IF (SELECT last_value FROM bed.ddl_seen) < (SELECT ddl FROM bed.faults) THEN
    PERFORM nextval('bed.ddl_seen');
    PERFORM bed.refuse('40001', 'schema has been updated by another transaction (OC001)');
  END IF;
  IF tg_tag = 'ALTER TABLE' THEN
    PERFORM set_config('bed.before', bed.picture()::text, true);
  END IF;
END $$;

CREATE FUNCTION bed.check_alter(relation oid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  before jsonb := current_setting('bed.before')::jsonb;
  found record; was jsonb; added boolean := false; gone boolean;
BEGIN
  FOR found IN SELECT * FROM pg_attribute
    WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped LOOP
    was := before->'columns'->(relation || '.' || found.attnum);
    IF was IS NULL THEN
      added := true;
      PERFORM bed.check_type(found.atttypid);
      IF found.attnotnull OR found.atthasdef OR found.attidentity <> '' THEN
        PERFORM bed.refuse('0A000', 'ALTER TABLE ADD COLUMN with constraint not supported');
      END IF;
    ELSIF (was->>0)::oid <> found.atttypid OR (was->>1)::int <> found.atttypmod THEN
      PERFORM bed.refuse('0A000', 'unsupported ALTER TABLE ALTER COLUMN ... SET DATA TYPE statement');
    ELSIF found.attnotnull AND NOT (was->>2)::boolean THEN
      PERFORM bed.refuse('0A000', 'unsupported ALTER TABLE ALTER COLUMN ... SET NOT NULL statement');
    END IF;
  END LOOP;
  gone := EXISTS (SELECT 1 FROM pg_attribute a WHERE attrelid = relation AND attisdropped
    AND before->'columns' ? (relation || '.' || attnum));
  FOR found IN SELECT attnum FROM pg_attribute WHERE attrelid = relation AND attisdropped
    AND before->'keys' ? (relation || '.' || attnum) LOOP
    PERFORM bed.refuse('0A000', 'cannot drop primary key column');
  END LOOP;
  FOR found IN SELECT * FROM pg_constraint WHERE conrelid = relation LOOP
    was := before->'constraints'->(found.oid::text);
    IF was IS NULL AND added THEN
      PERFORM bed.refuse('0A000', 'ALTER TABLE ADD COLUMN with constraint not supported');
    ELSIF was IS NULL AND (found.contype = 'x' OR (found.contype IN ('c', 'f') AND found.convalidated)
      OR (found.contype IN ('p', 'u') AND NOT before->'indexes' ? found.conindid::text)) THEN
      PERFORM bed.refuse('0A000', 'unsupported ALTER TABLE ADD CONSTRAINT statement');
    ELSIF was = 'false' AND found.convalidated THEN
      PERFORM bed.refuse('0A000', 'unsupported ALTER TABLE VALIDATE CONSTRAINT statement');
    END IF;
  END LOOP;
  IF NOT gone AND (SELECT count(*) FROM jsonb_object_keys(before->'constraints') k
    WHERE NOT EXISTS (SELECT 1 FROM pg_constraint WHERE oid = k::oid)) > 0 THEN
    PERFORM bed.refuse('0A000', 'unsupported ALTER TABLE DROP CONSTRAINT statement');
  END IF;
END $$;

CREATE FUNCTION bed.ddl_ends() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE command record;
BEGIN
  IF session_user <> 'admin' OR bed.get('inner') = 1 THEN RETURN; END IF;
  FOR command IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
    IF command.command_tag = 'CREATE TABLE' AND command.object_type = 'table' THEN
      PERFORM bed.check_table(command.objid);
      PERFORM bed.watch(command.object_identity);
    ELSIF tg_tag = 'ALTER TABLE' AND command.object_type = 'table' THEN
      PERFORM bed.check_alter(command.objid);
    ELSIF command.command_tag = 'COMMENT' AND command.object_type = 'table column' THEN
      PERFORM bed.refuse('0A000', 'unsupported object in COMMENT statement');
    ELSIF command.command_tag = 'CREATE FUNCTION' AND (SELECT l.lanname FROM pg_language l
      JOIN pg_proc p ON p.prolang = l.oid WHERE p.oid = command.objid) <> 'sql' THEN
      PERFORM bed.refuse('0A000', 'CREATE FUNCTION with that language not supported');
    ELSIF command.command_tag = 'CREATE SEQUENCE' AND tg_tag = 'CREATE SEQUENCE'
      AND (current_query() !~* '\ycache\y' OR (SELECT seqcache BETWEEN 2 AND 65535
        FROM pg_sequence WHERE seqrelid = command.objid)) THEN
      PERFORM bed.refuse('0A000', 'CREATE SEQUENCE is not supported without an explicit cache size');
    END IF;
    IF command.object_type = 'index' AND (SELECT indnkeyatts FROM pg_index
      WHERE indexrelid = command.objid) > 8 THEN
      PERFORM bed.refuse('54011', 'more than 8 column keys in an index are not supported');
    END IF;
  END LOOP;
END $$;

-- Jobs. Each look at sys.jobs moves every job on by one: submitted, processing, then its end.
CREATE TABLE bed.job (job_id text PRIMARY KEY, status text, details text, job_type text,
  object_id oid, statement text, fails text, start_time timestamptz DEFAULT now(),
  update_time timestamptz DEFAULT now());

CREATE FUNCTION bed.job_id() RETURNS text LANGUAGE sql VOLATILE AS $$
SELECT substr(translate(encode(sha256(gen_random_uuid()::text::bytea), 'hex'), '01', 'gh'), 1, 26) $$;

-- The index is there at once and becomes valid with the end of its job; it stays invalid if rows share a key.
CREATE FUNCTION bed.build(statement text, harmless text) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER AS $$
DECLARE id text := bed.job_id(); why text; made oid;
  before oid[] := ARRAY(SELECT indexrelid FROM pg_index);
BEGIN
  BEGIN
    EXECUTE statement;
  EXCEPTION WHEN unique_violation THEN
    why := SQLERRM;
    EXECUTE harmless;
  END;
  SELECT indexrelid INTO made FROM pg_index WHERE NOT indexrelid = ANY(before);
  IF made IS NULL THEN RETURN NULL; END IF;
  UPDATE pg_index SET indisvalid = false WHERE indexrelid = made;
  INSERT INTO bed.job (job_id, status, job_type, object_id, fails)
  VALUES (id, 'submitted', 'INDEX_BUILD', made, why);
  RETURN id;
END $$;

CREATE FUNCTION bed.later(statement text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE id text := bed.job_id();
BEGIN
  IF bed.get('dml') > 0 THEN
    PERFORM bed.refuse('0A000', 'ddl and dml are not supported in the same transaction');
  END IF;
  IF bed.bump('ddl', 1) > 1 THEN
    PERFORM bed.refuse('0A000', 'multiple ddl statements not supported in a transaction');
  END IF;
  INSERT INTO bed.job (job_id, status, job_type, statement)
  VALUES (id, 'submitted', 'VALIDATE_CONSTRAINT', statement);
  RETURN id;
END $$;

CREATE FUNCTION bed.move_on() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE one bed.job; why text;
BEGIN
  FOR one IN SELECT * FROM bed.job WHERE status IN ('submitted', 'processing') LOOP
    IF one.status = 'submitted' THEN
      UPDATE bed.job SET status = 'processing', update_time = now() WHERE job_id = one.job_id;
      CONTINUE;
    END IF;
    why := one.fails;
    IF one.statement IS NOT NULL THEN
      PERFORM set_config('bed.inner', '1', true);
      BEGIN
        EXECUTE one.statement;
      EXCEPTION WHEN OTHERS THEN why := SQLERRM;
      END;
      PERFORM set_config('bed.inner', '0', true);
    ELSIF why IS NULL THEN
      UPDATE pg_index SET indisvalid = true WHERE indexrelid = one.object_id;
    END IF;
    UPDATE bed.job SET status = CASE WHEN why IS NULL THEN 'completed' ELSE 'failed' END,
      details = why, update_time = now() WHERE job_id = one.job_id;
  END LOOP;
END $$;

CREATE FUNCTION bed.jobs() RETURNS SETOF bed.job LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN PERFORM bed.move_on(); RETURN QUERY SELECT * FROM bed.job; END $$;

CREATE VIEW sys.jobs AS SELECT job_id, status, details, job_type, 1259::oid AS class_id, object_id,
  NULL::text AS object_name, start_time, update_time FROM bed.jobs();

CREATE EVENT TRIGGER bed_begins ON ddl_command_start EXECUTE FUNCTION bed.ddl_begins();
CREATE EVENT TRIGGER bed_ends ON ddl_command_end EXECUTE FUNCTION bed.ddl_ends();

CREATE ROLE admin LOGIN;
GRANT USAGE ON SCHEMA bed, sys TO admin;
GRANT SELECT ON sys.jobs TO admin;
