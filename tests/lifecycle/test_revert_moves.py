"""Others change what a revert was asked about: what hangs on the table moves as it is then, the rest is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import psycopg
import pytest

from backends.postgres.server import PostgresServer
from instar.apply import TableReport
from instar.errors import StateError
from lifecycle.world import World

TABLE = """table: t
primary_key: [id]
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: age, type: VARCHAR}
"""
NEW = TABLE.replace("{name: age, type: VARCHAR}", "{name: age, type: INTEGER}")
ROWS = ["1 | '36'", "2 | '41'"]
FUNCTION = "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"


def rewritten(world: World) -> World:
    """A table that was recreated, so that an old copy of it is there."""
    world.apply(TABLE)
    world.fill(ROWS)
    world.apply(NEW)
    return world


def reverted(world: World, meanwhile: Callable[[], object]) -> TableReport:
    """Another connection does something when the question is answered, before the lock is asked for."""

    def confirm(questions: Sequence[object]) -> bool:
        meanwhile()
        return bool(questions)

    return world.project.revert("t", confirm=confirm).report


def tables(world: World) -> list[object]:
    sql = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    return [row[0] for row in world.sql(sql)]


CARRIED = {
    "a view": (
        "CREATE VIEW ids AS SELECT id FROM t",
        "SELECT count(*), pg_get_viewdef('ids'::regclass) LIKE '%% t%%' FROM ids",
        [(2, True)],
    ),
    "a view of a view": (
        "CREATE VIEW ids AS SELECT id FROM t; CREATE VIEW more AS SELECT id FROM ids",
        "SELECT count(*) FROM more",
        [(2,)],
    ),
    "a trigger": (
        "CREATE TRIGGER fires BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
        "SELECT tgname::text FROM pg_trigger WHERE tgrelid = 't'::regclass",
        [("fires",)],
    ),
    "a foreign key": (
        "CREATE TABLE child (id BIGINT REFERENCES t); INSERT INTO child VALUES (1)",
        "SELECT confrelid = 't'::regclass, convalidated FROM pg_constraint WHERE contype = 'f'",
        [(True, True)],
    ),
    "privileges": (
        "GRANT SELECT ON t TO PUBLIC",
        "SELECT has_table_privilege('pg_monitor', 't', 'SELECT')",
        [(True,)],
    ),
    "an option": (
        "ALTER TABLE t SET (fillfactor = 70)",
        "SELECT reloptions FROM pg_class WHERE oid = 't'::regclass",
        [(["fillfactor=70"],)],
    ),
    "statistics": (
        "CREATE STATISTICS st ON id, age FROM t",
        "SELECT stxrelid = 't'::regclass FROM pg_statistic_ext",
        [(True,)],
    ),
}
"""By kind: what others do, a question to the table that is called t then, its answer."""


@pytest.mark.parametrize("kind", CARRIED)
def test_what_hangs_on_it_moves_as_it_is_then(on_postgres: World, kind: str) -> None:
    ddl, question, answer = CARRIED[kind]
    world = rewritten(on_postgres)
    world.sql(FUNCTION)
    report = reverted(world, lambda: world.sql(ddl))
    assert report.error is None
    assert world.rows() == ROWS
    assert world.sql(question.replace("%%", "%")) == answer


def test_what_is_gone_by_then_is_not_made_again(on_postgres: World) -> None:
    world = rewritten(on_postgres)
    world.sql("CREATE VIEW ids AS SELECT id FROM t; GRANT SELECT ON t TO PUBLIC")
    report = reverted(world, lambda: world.sql("DROP VIEW ids; REVOKE SELECT ON t FROM PUBLIC"))
    assert report.error is None
    assert world.sql("SELECT to_regclass('ids')") == [(None,)]
    assert world.sql("SELECT has_table_privilege('pg_monitor', 't', 'SELECT')") == [(False,)]


REFUSED = {
    "a new column": (
        "ALTER TABLE t ADD COLUMN extra int",
        "public.t was altered",
        "'extra' is new",
    ),
    "an index": ("CREATE INDEX by_age ON t (age)", "public.t was altered", "'by_age' is new"),
    "row security": ("ALTER TABLE t ENABLE ROW LEVEL SECURITY", "public.t was", "row security"),
    "a policy": ("CREATE POLICY p ON t USING (id > 0)", "public.t was", "row security"),
    "a rule": ("CREATE RULE r AS ON DELETE TO t DO INSTEAD NOTHING", "public.t", "rewrite rules"),
    "a materialized view": (
        "CREATE MATERIALIZED VIEW m AS SELECT id FROM t",
        "public.t was altered",
        "materialized view public.m reads it",
    ),
    "the old one": (
        "ALTER TABLE t__instar_old_1 ALTER age TYPE varchar(9)",
        "public.t__instar_old_1 was altered",
        "column 'age' was",
    ),
}
"""By kind: what others do, which table the error names, what it says of it."""


@pytest.mark.parametrize("kind", REFUSED)
def test_what_it_was_not_asked_about_is_refused(on_postgres: World, kind: str) -> None:
    ddl, table, words = REFUSED[kind]
    world = rewritten(on_postgres)
    report = reverted(world, lambda: world.sql(ddl))
    assert report.error is not None
    assert report.error.code == "E229"
    assert table in report.error.message
    assert words in report.error.message
    assert report.next is not None
    assert report.next.startswith("Nothing was changed.")
    assert tables(world) == ["t", "t__instar_old_1"]
    assert world.sql("SELECT id, age FROM t ORDER BY id") == [(1, 36), (2, 41)]


def test_asked_again_it_is_put_back(on_postgres: World) -> None:
    world = rewritten(on_postgres)
    assert not reverted(world, lambda: world.sql("CREATE INDEX by_age ON t (age)")).ok
    assert reverted(world, lambda: None).ok
    assert world.rows() == ROWS


def test_one_who_is_at_it_is_waited_for_and_seen(
    on_postgres: World, postgres: PostgresServer
) -> None:
    """A second transaction holds the table when the lock is asked for, and commits another column."""
    world = rewritten(on_postgres)
    with psycopg.connect(postgres.url()) as other:
        commit = threading.Thread(target=lambda: (time.sleep(0.5), other.commit()))

        def alter() -> None:
            other.execute("ALTER TABLE t ADD COLUMN extra int DEFAULT 7")
            commit.start()

        report = reverted(world, alter)
        commit.join()
    assert report.error is not None
    assert report.error.code == "E229"
    assert world.sql("SELECT * FROM t ORDER BY id") == [(1, 36, 7), (2, 41, 7)]


@pytest.mark.parametrize(
    "ddl",
    [
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
        "CREATE PUBLICATION p FOR TABLE t",
        "CREATE MATERIALIZED VIEW m AS SELECT id FROM t",
    ],
)
def test_what_cannot_change_hands_is_said_before_the_question(on_postgres: World, ddl: str) -> None:
    world = rewritten(on_postgres)
    world.sql(ddl)
    with pytest.raises(StateError) as caught:
        world.project.revert("t", confirm=world.yes)
    assert caught.value.code == "E445"
    assert tables(world) == ["t", "t__instar_old_1"]


def test_a_constraint_that_is_not_validated_stays_with_its_rows(on_postgres: World) -> None:
    world = rewritten(on_postgres)
    world.sql("ALTER TABLE t ADD CONSTRAINT few CHECK (age < 9) NOT VALID")
    assert reverted(world, lambda: None).ok
    assert world.rows() == ROWS


ON_DSQL = {
    "a new column": ("ALTER TABLE t ADD COLUMN extra int", "column 'extra' is new"),
    "privileges": ("GRANT SELECT ON t TO PUBLIC", "privileges"),
    "a view": ("CREATE VIEW ids AS SELECT id FROM t", "would go on reading the old table"),
}


@pytest.mark.parametrize("kind", ON_DSQL)
def test_dsql_refuses_all_of_it(on_dsql: World, kind: str) -> None:
    ddl, words = ON_DSQL[kind]
    world = rewritten(on_dsql)
    report = reverted(world, lambda: world.sql(ddl))
    assert report.error is not None
    assert report.error.code == "E229"
    assert words in report.error.message
    assert tables(world) == ["t", "t__instar_old_1"]
    assert world.sql("SELECT id, age FROM t ORDER BY id") == [(1, 36), (2, 41)]


def test_dsql_says_before_the_question_that_a_view_would_stay_behind(on_dsql: World) -> None:
    world = rewritten(on_dsql)
    world.sql("CREATE VIEW ids AS SELECT id FROM t")
    with pytest.raises(StateError) as caught:
        world.project.revert("t", confirm=world.yes)
    assert caught.value.code == "E445"
