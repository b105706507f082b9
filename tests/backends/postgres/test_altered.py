"""Others alter a table while it is recreated: what they did is carried over, or the recreation is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backends.postgres.world import World
from backends.world import BIG, INT, TEXT
from instar.backends.base import RunContext
from instar.backends.postgres.definition import Parts, definition
from instar.core.plan import TablePlan
from instar.core.schema import TableName, Wanted
from instar.core.types import Column
from instar.errors import VerificationFailed

ID, W = Column("id", INT, nullable=False), Column("w", TEXT)
WIDER = (ID, Column("n", BIG), W)

MOMENTS = {
    "before it begins": "recreate prepare",
    "during the copy": "recreate batch done",
    "between a kill and the resume": "",
    "right before the cut-over": "recreate cut-over",
}


def wider(world: World, *more: Column) -> Wanted:
    return world.want(*WIDER, *more, primary_key=("id",))


def made(world: World) -> TablePlan:
    """A table whose column `n` is to become wider."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int, w text); CREATE INDEX by_n ON t (n)")
    world.sql("INSERT INTO t SELECT i, i * 2, 'w' || i FROM generate_series(1, 250) AS i")
    for role in ("reader", "keeper"):
        if not world.sql("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]):
            world.sql(f"CREATE ROLE {role}")
    world.sql(f"GRANT ALL ON SCHEMA {world.schema} TO keeper")
    world.sql("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
    return world.plan(wider(world))


def recreate(world: World, plan: TablePlan, moment: str, meanwhile: Callable[[], None]) -> None:
    """Run the plan; another connection does something at the moment, once."""
    point, reached = MOMENTS[moment], list[str]()

    def others(name: str) -> None:
        reached.append(name)
        if name == point and reached.count(name) == 1:
            meanwhile()

    if not point:
        killed_in_the_copy(world, plan)
        meanwhile()
    world.backend.run(plan.steps[0], RunContext({}, lambda *_: None, others))


def killed_in_the_copy(world: World, plan: TablePlan) -> None:
    def kill(name: str) -> None:
        if name == "recreate batch done":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.backend.run(plan.steps[0], RunContext({}, lambda *_: None, kill))
    world.backend.session.rollback()
    assert "t__instar_new" in helpers(world)


def helpers(world: World) -> list[object]:
    """What a recreation has put beside the table and on it."""
    rows = world.sql(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r' "
        "AND relname LIKE '%%\\_\\_instar\\_%%' UNION ALL SELECT tgname FROM pg_trigger t "
        "JOIN pg_class c ON c.oid = t.tgrelid WHERE relnamespace = %s::regnamespace "
        "AND tgname LIKE '%%\\_\\_instar\\_%%' UNION ALL SELECT proname FROM pg_proc "
        "WHERE pronamespace = %s::regnamespace AND proname LIKE '%%\\_\\_instar\\_%%' ORDER BY 1",
        [world.schema] * 3,
    )
    return [row[0] for row in rows]


REFUSED = {
    "a new column": ("ADD COLUMN extra int DEFAULT 7", "column 'extra' is new: integer DEFAULT 7"),
    "a dropped column": ("DROP COLUMN w", "column 'w' is gone"),
    "a renamed column": ("RENAME COLUMN w TO ww", "column 'w' is gone; column 'ww' is new"),
    "a renamed key column": ("RENAME COLUMN id TO no", "column 'id' is gone"),
    "a column made again": ("DROP COLUMN w, ADD COLUMN w text", "column 'w' was text NUMBER 3"),
    "a type": (
        "ALTER w TYPE varchar(50)",
        "column 'w' was text NUMBER 3, is character varying(50)",
    ),
    "the type that changes": ("ALTER n TYPE bigint", "column 'n' was integer"),
    "a collation": ('ALTER w TYPE text COLLATE "C"', 'COLLATE pg_catalog."C"'),
    "a default": ("ALTER w SET DEFAULT 'x'", "DEFAULT 'x'"),
    "NOT NULL": ("ALTER w SET NOT NULL", "NOT NULL"),
    "an identity": ("ALTER id ADD GENERATED ALWAYS AS IDENTITY", "sequence of 'id' is new"),
    "a statistics target": ("ALTER w SET STATISTICS 7", "SET STATISTICS 7"),
    "a storage": ("ALTER w SET STORAGE EXTERNAL", "SET STORAGE e"),
    "a compression": ("ALTER w SET COMPRESSION pglz", "SET COMPRESSION p"),
    "an option of a column": ("ALTER w SET (n_distinct = 5)", "SET n_distinct=5"),
    "a CHECK": ("ADD CONSTRAINT c CHECK (id <> 0)", "CHECK 'c' is new"),
    "a CHECK that is not validated": ("ADD CHECK (id <> 0) NOT VALID", "is not validated"),
    "a UNIQUE key": ("ADD CONSTRAINT u UNIQUE (w)", "key 'u' is new"),
    "another primary key": ("DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (n)", "key 't_pkey' was"),
    "an exclusion": ("ADD EXCLUDE USING btree (n WITH =)", "exclusion constraint"),
    "a foreign key to itself": ("ADD FOREIGN KEY (n) REFERENCES t (id) NOT VALID", "not validated"),
    "an owner": ("OWNER TO keeper", "is keeper"),
    "no log": ("SET UNLOGGED", "it is UNLOGGED"),
    "row security": ("ENABLE ROW LEVEL SECURITY", "it has row security"),
    "forced row security": ("FORCE ROW LEVEL SECURITY", "it has row security"),
    "a replica identity by index": ("REPLICA IDENTITY USING INDEX t_pkey", "replica identity"),
    "another name": ("RENAME TO t9", "there is no"),
    "a policy": ("CREATE POLICY p ON t USING (id > 0)", "it has row security"),
    "a publication": ("CREATE PUBLICATION {s}_p FOR TABLE t", "published by {s}_p"),
    "a publication of the schema": (
        "CREATE PUBLICATION {s}_p FOR TABLES IN SCHEMA {s}",
        "published by {s}_p",
    ),
    "an index": ("CREATE INDEX by_w ON t (w)", "index 'by_w' is new: USING btree (w)"),
    "an index dropped": ("DROP INDEX by_n", "index 'by_n' is gone"),
    "an index under another name": ("ALTER INDEX by_n RENAME TO b", "index 'b' is new"),
    "an index made otherwise": (
        "DROP INDEX by_n; CREATE UNIQUE INDEX by_n ON t (n)",
        "is UNIQUE USING btree (n)",
    ),
    "a comment": ("COMMENT ON TABLE t IS 'hello'", "comment is new: hello"),
    "a comment on a column": ("COMMENT ON COLUMN t.w IS 'hello'", "COMMENT hello"),
    "a rule": ("CREATE RULE r AS ON DELETE TO t DO INSTEAD NOTHING", "rewrite rules"),
    "a child": ("CREATE TABLE c () INHERITS (t)", "inherit"),
    "a parent": ("CREATE TABLE p (w text); ALTER TABLE t INHERIT p", "inherit"),
    "its row type elsewhere": ("CREATE TABLE c (x t)", "row type"),
    "a materialized view": ("CREATE MATERIALIZED VIEW m AS SELECT n FROM t", "materialized view"),
    "a function's body": (
        "CREATE FUNCTION g() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM t; END",
        "the body of",
    ),
}
"""By kind: what others do (after ALTER TABLE t, unless it is a statement), what the error says of it."""


def defined(world: World, name: TableName) -> Parts:
    live = world.live(name)
    assert live is not None
    return definition(live)


def statement(ddl: str, world: World) -> str:
    whole = ddl.startswith(("CREATE", "COMMENT", "DROP INDEX", "ALTER INDEX"))
    return (ddl if whole else f"ALTER TABLE t {ddl}").replace("{s}", world.schema)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_would_be_left_behind_is_refused(world: World, kind: str, moment: str) -> None:
    ddl, words = REFUSED[kind]
    plan = made(world)
    seen: list[object] = []
    name = TableName(world.schema, "t9") if "RENAME TO t9" in ddl else world.t

    def alter() -> None:
        world.sql(statement(ddl, world))
        seen.extend([defined(world, name), world.sql(f"SELECT * FROM {name.name} ORDER BY 1")])

    with pytest.raises(VerificationFailed) as caught:
        recreate(world, plan, moment, alter)
    assert caught.value.code == "E229"
    assert words.replace("{s}", world.schema) in caught.value.message
    assert helpers(world) == []
    rows = world.sql(f"SELECT * FROM {name.name} ORDER BY 1")
    assert [defined(world, name), rows] == seen, "the table is as the others left it"
    assert len(rows) == 250


def test_planned_again_the_new_column_is_there(world: World) -> None:
    plan = made(world)

    def alter() -> None:
        world.sql("ALTER TABLE t ADD COLUMN extra int DEFAULT 7")

    with pytest.raises(VerificationFailed):
        recreate(world, plan, "during the copy", alter)
    world.sql("UPDATE t SET extra = id WHERE id <= 10")
    world.apply(wider(world, Column("extra", INT, default="7")))
    assert world.sql("SELECT count(*), sum(n), sum(extra) FROM t") == [(250, 62750, 1735)]


def test_a_table_without_a_key_is_looked_at_under_its_lock(world: World) -> None:
    world.sql("CREATE TABLE t (a int, n int); INSERT INTO t VALUES (1, 2)")
    plan = world.plan(world.want(Column("a", INT), Column("n", BIG)))

    def alter(point: str) -> None:
        if point == "recreate locked":
            world.sql("ALTER TABLE t ADD COLUMN extra int DEFAULT 7")

    with pytest.raises(VerificationFailed, match="column 'extra' is new") as caught:
        world.run(plan, alter)
    assert caught.value.code == "E229"
    assert helpers(world) == []
    assert world.sql("SELECT * FROM t") == [(1, 2, 7)]


CARRIED = {
    "a view": (
        "CREATE VIEW v AS SELECT id, w FROM t",
        "SELECT pg_get_viewdef('v'::regclass), (SELECT count(*) FROM v)",
    ),
    "a trigger": (
        "CREATE TRIGGER g BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f();"
        "ALTER TABLE t DISABLE TRIGGER g",
        "SELECT tgname, tgenabled, pg_get_triggerdef(oid) FROM pg_trigger "
        "WHERE tgrelid = 't'::regclass AND tgname = 'g'",
    ),
    "a foreign key from another table": (
        "CREATE TABLE child (t_id int CONSTRAINT fk REFERENCES t); INSERT INTO child VALUES (1)",
        "SELECT pg_get_constraintdef(oid), confrelid = 't'::regclass, convalidated "
        "FROM pg_constraint WHERE conrelid = 'child'::regclass AND conname = 'fk'",
    ),
    "a foreign key to another table": (
        "CREATE TABLE parent (w text PRIMARY KEY); INSERT INTO parent SELECT w FROM t;"
        "ALTER TABLE t ADD CONSTRAINT fk FOREIGN KEY (w) REFERENCES parent",
        "SELECT pg_get_constraintdef(oid), convalidated FROM pg_constraint "
        "WHERE conrelid = 't'::regclass AND conname = 'fk'",
    ),
    "privileges": (
        "GRANT SELECT ON t TO reader; GRANT UPDATE (w) ON t TO reader",
        "SELECT has_table_privilege('reader', 't', 'SELECT'), "
        "has_column_privilege('reader', 't', 'w', 'UPDATE'), "
        "has_column_privilege('reader', 't', 'n', 'UPDATE')",
    ),
    "a replica identity": (
        "ALTER TABLE t REPLICA IDENTITY FULL",
        "SELECT relreplident FROM pg_class WHERE oid = 't'::regclass",
    ),
    "options": (
        "ALTER TABLE t SET (fillfactor = 70, toast.autovacuum_enabled = false)",
        "SELECT c.reloptions, o.reloptions FROM pg_class c JOIN pg_class o "
        "ON o.oid = c.reltoastrelid WHERE c.oid = 't'::regclass",
    ),
    "statistics": (
        "CREATE STATISTICS st ON n, w FROM t",
        "SELECT stxrelid = 't'::regclass FROM pg_statistic_ext WHERE stxname = 'st' "
        "AND stxnamespace = current_schema()::regnamespace",
    ),
    "a comment on an index": (
        "COMMENT ON INDEX by_n IS 'hello'",
        "SELECT obj_description('by_n'::regclass), indrelid = 't'::regclass FROM pg_index "
        "WHERE indexrelid = 'by_n'::regclass",
    ),
    "an order": (
        "ALTER TABLE t CLUSTER ON by_n",
        "SELECT indisclustered FROM pg_index WHERE indrelid = 't'::regclass "
        "AND indexrelid = 'by_n'::regclass",
    ),
}


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("kind", CARRIED)
def test_what_hangs_on_it_is_carried_over(world: World, kind: str, moment: str) -> None:
    ddl, question = CARRIED[kind]
    plan = made(world)
    seen: list[tuple[object, ...]] = []

    def alter() -> None:
        world.sql(ddl)
        seen.extend(world.sql(question))

    recreate(world, plan, moment, alter)
    assert seen
    assert world.sql(question) == seen
    assert world.sql("SELECT count(*), sum(n), pg_typeof(min(n))::text FROM t") == [
        (250, 62750, "bigint")
    ]
    assert helpers(world) == ["t__instar_old_1"]


ANEW = {
    "values changed beside the triggers": "ALTER TABLE t ALTER w TYPE text USING upper(w)",
    "all of it written to another file": "VACUUM FULL t",
    "triggers switched off for a while": "ALTER TABLE t DISABLE TRIGGER ALL;"
    "UPDATE t SET w = 'unseen' WHERE id < 9; DELETE FROM t WHERE id > 240;"
    "ALTER TABLE t ENABLE TRIGGER ALL",
    "another table under its name": "ALTER TABLE t RENAME TO t9; ALTER INDEX by_n RENAME TO b9;"
    "ALTER INDEX t_pkey RENAME TO p9; CREATE TABLE t (id int PRIMARY KEY, n int, w text);"
    "CREATE INDEX by_n ON t (n); INSERT INTO t SELECT id, n, 'other' FROM t9",
    "emptied": "TRUNCATE t; INSERT INTO t VALUES (1, 2, 'w')",
}


@pytest.mark.parametrize("moment", [m for m in MOMENTS if m != "before it begins"])
@pytest.mark.parametrize("kind", ANEW)
def test_what_no_trigger_tells_begins_the_copy_anew(world: World, kind: str, moment: str) -> None:
    plan = made(world)
    seen: list[tuple[object, ...]] = []

    def alter() -> None:
        for sql in [ANEW[kind]] if "VACUUM" in ANEW[kind] else ANEW[kind].split(";"):
            world.sql(sql)
        seen.extend(world.sql("SELECT * FROM t ORDER BY id"))

    recreate(world, plan, moment, alter)
    assert world.sql("SELECT * FROM t ORDER BY id") == seen
    assert world.sql("SELECT pg_typeof(n)::text FROM t LIMIT 1") == [("bigint",)]
    assert helpers(world) == ["t__instar_old_1"]
