"""Recreation: every row is there, whatever happens meanwhile; a failure leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World, keyed, relations, widening
from backends.world import BIG, INT, REORDER, TEXT, at, rung
from instar.backends.base import RunContext
from instar.core.plan import Rung
from instar.core.policy import Policy
from instar.core.schema import Table, TableName, Unique, Wanted
from instar.core.types import Column, Date, Timestamp
from instar.errors import EngineError, OutcomeUnknown, VerificationFailed

Connection = psycopg.Connection[tuple[object, ...]]


def test_a_type_changes_and_the_old_table_is_kept(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    world.sql("INSERT INTO t SELECT i, i * 2 FROM generate_series(-500, 500) AS i")
    plan = world.apply(world.want(Column("id", INT), Column("n", BIG), primary_key=("id",)))
    assert rung(plan) is Rung.REWRITE
    assert "ACCESS EXCLUSIVE for a moment; waits 0.5s" in plan.steps[0].title
    assert world.sql("SELECT count(*), sum(n), min(id) FROM t") == [(1001, 0, -500)]
    assert world.sql("SELECT pg_typeof(n)::text FROM t LIMIT 1") == [("bigint",)]
    assert relations(world) == ["t", "t__instar_old_1"]
    assert [n.name for n in world.backend.list_tables(world.schema)] == ["t"]
    assert world.backend.keeper().own(world.schema) == ["t__instar_old_1"]


KEY_TYPES = {
    "smallint": ["-32768", "0", "32767"],
    "bigint": ["-9223372036854775808", "-1", "0", "9223372036854775807"],
    "numeric(20,4)": ["-1.5", "0", "2.0001"],
    "double precision": ["-1e300", "0", "0.1", "1e300", "Infinity", "NaN"],
    "text": ["", "'", '"', "%s", "ä", "b", "\\", "Z"],
    "character varying(5)": ["a", "b"],
    "character(3)": ["a", "b"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "date": ["0044-03-15 BC", "2020-01-01", "infinity"],
    "timestamp with time zone": ["2020-01-01 00:00:00.000001+00", "-infinity"],
    "bytea": ["\\x", "\\x00ff", "\\x27"],
    "boolean": ["true", "false"],
    "inet": ["10.0.0.1", "::1"],
    "interval": ["1 day", "-1 year"],
    "jsonb": ['{"a": 1}', "null"],
    "integer[]": ["{}", "{1,2}"],
}


@pytest.mark.parametrize("type_", KEY_TYPES)
def test_keys_of_every_type(world: World, type_: str) -> None:
    world.backend.session.patience = type(world.backend.session.patience)(0.5, 3, batch=1)
    world.sql(f"CREATE TABLE t (k {type_} PRIMARY KEY, n int)")
    for number, value in enumerate(KEY_TYPES[type_]):
        world.sql(f"INSERT INTO t VALUES (CAST(%s AS {type_}), %s)", [value, number])
    before = world.sql("SELECT k::text, n FROM t ORDER BY n")
    live = world.live()
    assert live is not None
    world.apply(world.want(live.columns[0], Column("n", BIG), primary_key=("k",)))
    assert world.sql("SELECT k::text, n FROM t ORDER BY n") == before


FOLDED = """CREATE TYPE folded;
CREATE FUNCTION fin(cstring) RETURNS folded LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION fout(folded) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE folded (INPUT = fin, OUTPUT = fout, LIKE = text, COLLATABLE = true);
CREATE CAST (folded AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fcmp(folded, folded) RETURNS int LANGUAGE sql IMMUTABLE
AS 'SELECT bttextcmp(lower($1::text), lower($2::text))';
CREATE FUNCTION feq(folded, folded) RETURNS bool LANGUAGE sql IMMUTABLE
AS 'SELECT lower($1::text) = lower($2::text)';
CREATE OPERATOR = (LEFTARG = folded, RIGHTARG = folded, FUNCTION = feq);
CREATE OPERATOR CLASS fops DEFAULT FOR TYPE folded USING btree AS OPERATOR 3 =, FUNCTION 1 fcmp(folded, folded);
CREATE DOMAIN mail AS folded"""
"""A type whose order is outside pg_catalog, as that of citext."""


@pytest.mark.parametrize("key", ["PRIMARY KEY", "NOT NULL UNIQUE"])
def test_a_key_in_an_order_of_its_own_is_not_walked(world: World, key: str) -> None:
    """Of 'Ann' that becomes 'ann' the log would tell one key, by which only one of the two is found."""
    world.sql(FOLDED)
    world.sql(f"CREATE TABLE t (k mail {key}, n int); CREATE UNIQUE INDEX i ON t (k)")
    world.sql("INSERT INTO t SELECT ('Ann' || i)::mail, i FROM generate_series(1, 300) AS i")
    live = world.live()
    assert live is not None
    wanted = replace(live, columns=(live.columns[0], Column("n", BIG)), extras={})
    plan = world.apply(Wanted(wanted, {}))
    assert "for want of a key" in plan.steps[0].title
    assert world.sql("SELECT count(*), count(DISTINCT k::text) FROM t") == [(300, 300)]


def test_a_composite_key(world: World) -> None:
    world.sql("CREATE TABLE t (a int, b text, n int, PRIMARY KEY (b, a))")
    world.sql("INSERT INTO t SELECT i % 7, 'x' || i / 7, i FROM generate_series(0, 999) AS i")
    columns = (Column("a", INT, nullable=False), Column("b", TEXT, nullable=False))
    world.apply(world.want(*columns, Column("n", TEXT), primary_key=("b", "a")))
    assert world.sql("SELECT count(*), sum(n::int) FROM t") == [(1000, 499500)]


def test_a_unique_key_without_nulls_serves_where_there_is_no_primary_one(world: World) -> None:
    world.sql("CREATE TABLE t (a int NOT NULL, n int); CREATE UNIQUE INDEX on_a ON t (a)")
    world.sql("INSERT INTO t SELECT i, i FROM generate_series(1, 300) AS i")
    plan = world.apply(world.want(Column("a", INT, nullable=False), Column("n", BIG)))
    assert "writers go on" in plan.steps[0].title
    assert world.sql("SELECT count(*) FROM t") == [(300,)]


def test_without_a_key_writers_wait_and_the_plan_says_so(world: World) -> None:
    world.sql("CREATE TABLE t (a int, n int)")
    world.sql("INSERT INTO t SELECT i % 10, i FROM generate_series(1, 300) AS i")
    plan = world.apply(world.want(Column("a", INT), Column("n", BIG)))
    assert "for want of a key" in plan.steps[0].title
    assert "writers wait for the whole copy" in str(plan.steps[0].confirm)
    assert world.sql("SELECT count(*) FROM t") == [(300,)]


def test_the_key_itself_changes(world: World) -> None:
    """The old key is dropped, another takes its place: rows are followed by hidden columns."""
    world.sql("CREATE TABLE t (id text PRIMARY KEY, code int NOT NULL, n int)")
    world.sql("INSERT INTO t SELECT 'k' || i, i, i FROM generate_series(1, 500) AS i")
    wanted = world.want(
        Column("code", INT, nullable=False), Column("n", BIG), primary_key=("code",)
    )
    world.apply(wanted)
    assert world.sql("SELECT count(*), sum(n) FROM t") == [(500, 125250)]
    rows = world.sql(
        "SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0 "
        "AND NOT attisdropped ORDER BY attnum"
    )
    assert rows == [("code",), ("n",)]


def test_another_key_is_followed_by_the_old_one(world: World) -> None:
    """No index of the new table begins with the old key: one of its own serves, and goes with the swap."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, tenant int NOT NULL, n int)")
    world.sql("INSERT INTO t SELECT i, i % 7, i FROM generate_series(1, 500) AS i")
    wanted = world.want(
        Column("id", INT, nullable=False),
        Column("tenant", INT, nullable=False),
        Column("n", BIG),
        primary_key=("tenant", "id"),
    )
    seen: list[str] = []

    def writes() -> None:
        seen.extend(
            i
            for (i,) in world.sql(
                "SELECT indexdef FROM pg_indexes WHERE indexname LIKE '%instar_h'"
            )
        )
        world.sql("UPDATE t SET id = -id WHERE id IN (1, 250); DELETE FROM t WHERE id = 500")
        world.sql("DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (2, 3, 2000)")
        world.sql("UPDATE t SET tenant = -1 WHERE id = 3; INSERT INTO t VALUES (0, 0, 0)")

    world.run(world.plan(wanted), at("recreate entered swap", writes))
    assert [s.rpartition(" ")[2] for s in seen] == ["(id)"]
    kept = "SELECT id, tenant, n FROM {} EXCEPT SELECT id, tenant, n FROM {}"
    assert world.sql(kept.format("t", "t__instar_old_1")) == []
    assert world.sql(kept.format("t__instar_old_1", "t")) == []
    names = world.sql("SELECT indexname FROM pg_indexes WHERE schemaname = %s", [world.schema])
    assert sorted(names) == [("t_pkey",), ("t_pkey__instar_o1",)]


def test_a_row_that_breaks_the_new_key_after_the_check(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, code int NOT NULL, n int)")
    world.sql("INSERT INTO t SELECT i, i, i FROM generate_series(1, 300) AS i")
    plan = world.plan(
        world.want(
            Column("id", INT, nullable=False),
            Column("code", INT, nullable=False),
            Column("n", BIG),
            primary_key=("code",),
        )
    )
    late = at("recreate cut-over", lambda: world.sql("INSERT INTO t VALUES (1000, 1, 1)"))
    with pytest.raises(VerificationFailed) as caught:
        world.run(plan, late)
    assert caught.value.code == "E227"
    assert "Key (code)=(1)" in caught.value.message
    assert relations(world) == ["t"]
    assert world.sql("SELECT count(*) FROM t") == [(301,)]


def test_columns_that_are_named_like_those_of_a_recreation(world: World) -> None:
    world.sql(
        "CREATE TABLE t (id text PRIMARY KEY, __instar_key_1 int, k1 int, live int, copied int)"
    )
    world.sql("INSERT INTO t SELECT i, i, i, i, i FROM generate_series(1, 300) AS i")
    names = ("__instar_key_1", "k1", "live", "copied")
    columns = (Column("id", INT, nullable=False), *(Column(name, INT) for name in names))
    wanted = world.want(*columns, primary_key=("id",))
    moves = at(
        "recreate verify", lambda: world.sql("UPDATE t SET id = '-7', k1 = 0 WHERE id = '7'")
    )
    world.run(world.plan(wanted), moves)
    assert world.sql("SELECT id, __instar_key_1, k1, live, copied FROM t ORDER BY id LIMIT 2") == [
        (-7, 7, 0, 7, 7),
        (1, 1, 1, 1, 1),
    ]


def test_text_keys_become_numbers(world: World) -> None:
    world.sql("CREATE TABLE t (id text PRIMARY KEY, at timestamp)")
    world.sql("INSERT INTO t SELECT i::text, '2020-01-01' FROM generate_series(1, 300) AS i")
    at = Column("at", Timestamp(zone=True))
    world.apply(world.want(Column("id", INT, nullable=False), at, primary_key=("id",)))
    assert world.sql("SELECT count(*), max(id) FROM t") == [(300, 300)]


def test_a_new_order(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, a int, b text)")
    world.sql("INSERT INTO t VALUES (1, 2, 'x')")
    columns = (Column("b", TEXT), Column("id", INT, nullable=False), Column("a", INT))
    world.apply(world.want(*columns, primary_key=("id",)), REORDER)
    assert world.sql("SELECT * FROM t") == [("x", 1, 2)]


def test_duplicates_that_arrive_after_the_check_stop_it_and_leave_nothing(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    world.sql("INSERT INTO t SELECT i, i FROM generate_series(1, 300) AS i")
    wanted = world.want(
        Column("id", INT, nullable=False),
        Column("n", BIG),
        primary_key=("id",),
        constraints=(Unique("one_n", ("n",)),),
    )
    plan = world.plan(wanted)
    assert not plan.blocked
    late = at("recreate entered build", lambda: world.sql("INSERT INTO t VALUES (1000, 1)"))
    with pytest.raises(VerificationFailed) as caught:
        world.run(plan, late)
    assert caught.value.code == "E227"
    assert "Key (n)=(1)" in caught.value.message
    assert relations(world) == ["t"]
    assert world.sql("SELECT count(*) FROM t") == [(301,)]
    assert world.sql("SELECT 1 FROM pg_trigger WHERE tgrelid = 't'::regclass") == []


def test_a_value_that_no_longer_fits_stops_it(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n text)")
    world.sql("INSERT INTO t VALUES (1, '1')")
    plan = world.plan(keyed(world, "n", INT))
    assert not any("CASE" in sql for sql in plan.steps[0].sql), "the cast itself refuses it"
    late = at("recreate cut-over", lambda: world.sql("INSERT INTO t VALUES (2, 'two')"))
    with pytest.raises(VerificationFailed, match=r'does not fit .*: "two"') as caught:
        world.run(plan, late)
    assert "\n  row: (id)=(2)" in caught.value.message
    assert relations(world) == ["t"]


@pytest.mark.parametrize("point", ["recreate prepared", "recreate cut-over"])
def test_the_row_that_does_not_fit_is_named_by_its_key(world: World, point: str) -> None:
    """Among many, in a batch and among those that wait in the log; without the cast that makes it fail."""
    world.sql("CREATE TABLE t (a int, b text, d text, PRIMARY KEY (a, b))")
    world.sql("INSERT INTO t SELECT i, 'b' || i, '2024-01-01' FROM generate_series(1, 1000) AS i")
    columns = (Column("a", INT, nullable=False), Column("b", TEXT, nullable=False))
    plan = world.plan(world.want(*columns, Column("d", Date()), primary_key=("a", "b")))
    change = "UPDATE t SET d = '2024-02-30' WHERE a = 777; UPDATE t SET d = '2024-02-03' WHERE a > 700 AND a <> 777"
    with pytest.raises(VerificationFailed) as caught:
        world.run(plan, at(point, lambda: world.sql(change)))
    said, *_, row = caught.value.message.splitlines()
    assert said == "a row does not fit (22P02): a value of STRING does not fit DATE: 2024-02-30"
    assert row == "  row: (a, b)=(777, b777)"
    assert relations(world) == ["t"]


def leftovers(world: World) -> list[object]:
    capture = world.sql(
        "SELECT tgname FROM pg_trigger WHERE tgrelid = 't'::regclass AND NOT tgisinternal"
    )
    return [*capture, *(name for name in relations(world) if "__instar_" in name)]


UNFIT = {
    "an operator class": "CREATE INDEX by_a ON t (a text_pattern_ops)",
    "a function": "CREATE INDEX by_a ON t (lower(a), id)",
    "a condition": "CREATE INDEX by_a ON t (id) WHERE a <> ''",
    "a method of access": "CREATE INDEX by_a ON t USING gin (to_tsvector('english', a))",
}


@pytest.mark.parametrize("case", UNFIT)
def test_an_index_that_does_not_fit_the_new_type_blocks_the_plan(world: World, case: str) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, a text); INSERT INTO t VALUES (1, '1')")
    world.sql(UNFIT[case])
    wanted = keyed(world, "a", INT)
    (finding,) = (f for f in world.plan(wanted).findings if f.code == "F601")
    assert "the index by_a does not fit the new type of 'a': " in finding.message
    world.sql("DROP INDEX by_a; CREATE INDEX by_a ON t (a, id)")
    world.apply(wanted)


def test_an_index_that_may_go_with_its_column_fails_before_the_copy(world: World) -> None:
    """The plan does not try it: whether it stays is for the policy to say. The copy is not begun."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, a text, undeclared int)")
    world.sql("INSERT INTO t VALUES (1, '1'); CREATE INDEX i ON t (a text_pattern_ops, undeclared)")
    wanted = keyed(world, "a", INT)
    plan = world.plan(wanted, Policy(allow_rewrite=True))
    points: list[str] = []
    with pytest.raises(EngineError, match="text_pattern_ops") as caught:
        world.run(plan, points.append)
    assert caught.value.code == "E254"
    assert "recreate batch" not in points
    assert leftovers(world) == []


def test_a_failure_behind_the_copy_takes_everything_away(world: World) -> None:
    plan = widening(world, 1)
    drop = "ALTER TABLE t__instar_new DROP COLUMN id"
    spoil = at("recreate entered build", lambda: world.sql(drop))
    with pytest.raises(EngineError) as caught:
        world.run(plan, spoil)
    assert caught.value.code == "E254"
    assert leftovers(world) == []


def test_a_lock_that_nobody_grants_keeps_the_copy_for_the_next_try(
    world: World, other: Connection
) -> None:
    """The step says so and stays open; what is written meanwhile is followed."""
    plan = widening(world, 1)
    hold = at("recreate entered swap", lambda: other.execute("BEGIN; SELECT * FROM t"))
    with pytest.raises(OutcomeUnknown) as caught:
        world.run(plan, hold)
    assert caught.value.code == "E253"
    assert "Its copy is ready and is kept" in str(caught.value.hint)
    assert world.backend.unfinished([world.t]) == {world.t}
    other.execute("ROLLBACK")
    world.sql("INSERT INTO t VALUES (2, 3)")
    points: list[str] = []
    world.run(plan, points.append)
    assert "recreate batch" not in points
    assert world.sql("SELECT pg_typeof(n)::text, n FROM t") == [("bigint", 1), ("bigint", 3)]
    assert leftovers(world) == ["t__instar_old_1"]


def test_no_way_back_leaves_the_step_open(world: World, other: Connection) -> None:
    """The copy does not fit, and the triggers cannot be taken away while somebody reads."""
    plan = widening(world, 1)

    def spoil() -> None:
        world.sql("ALTER TABLE t__instar_new DROP COLUMN id")
        other.execute("BEGIN; SELECT * FROM t")

    with pytest.raises(OutcomeUnknown) as caught:
        world.run(plan, at("recreate entered build", spoil))
    assert "could not be removed yet" in str(caught.value.hint)
    other.execute("ROLLBACK")
    world.backend.session.rollback()
    assert world.backend.unfinished([world.t]) == {world.t}


def test_a_copy_that_was_tampered_with_is_found_by_its_key(world: World) -> None:
    plan = widening(world, 3000)
    harm = (
        "UPDATE t__instar_new SET n = 0 WHERE id = 1234; DELETE FROM t__instar_new WHERE id = 2999"
    )
    spoil = at("recreate verify", lambda: world.sql(harm))
    with pytest.raises(VerificationFailed) as caught:
        world.run(plan, spoil)
    assert caught.value.code == "E256"
    assert "(1234), (2999)" in caught.value.message
    assert relations(world) == ["t"]


def test_what_differs_is_found_in_any_chunk(world: World) -> None:
    """Two rows of a later chunk trade their values: each column for itself adds up as before."""
    plan = widening(world, 160000)
    trade = "UPDATE t__instar_new SET n = 240003 - n WHERE id IN (120001, 120002)"
    with pytest.raises(VerificationFailed) as caught:
        world.run(plan, at("recreate verify", lambda: world.sql(trade)))
    assert "(120001)" in caught.value.message
    assert relations(world) == ["t"]


def test_copy_and_verification_say_how_much_of_how_much(world: World) -> None:
    plan = widening(world, 5000)
    said: list[tuple[str, int, int | None]] = []
    memo: dict[str, str] = {}
    context = RunContext(memo, lambda *what: said.append(what), lambda point: None)
    world.backend.run(plan.steps[0], context)
    for what in ("copy", "verify"):
        heard = [s for s in said if s[0] == f"{what} {plan.table}"]
        assert heard[-1][1:] == (5000, 5000)
    assert len([s for s in said if s[0].startswith("copy")]) > 1
    assert memo["verified"] == "5000"


def test_a_truncate_meanwhile_begins_anew(world: World) -> None:
    plan = widening(world, 500)
    empty = "TRUNCATE t; INSERT INTO t VALUES (7, 8)"
    world.run(plan, at("recreate entered verify", lambda: world.sql(empty)))
    assert world.sql("SELECT * FROM t") == [(7, 8)]


def test_long_names(world: World) -> None:
    """Names at the limit of 63 bytes, in which every helper must still find its place."""
    name, column = "ä" * 31 + "t", "c" * 63
    world.sql(f'CREATE TABLE "{name}" (id int CONSTRAINT "{"k" * 63}" PRIMARY KEY, "{column}" int)')
    world.sql(f'INSERT INTO "{name}" VALUES (1, 2)')
    world.sql(f'CREATE INDEX "{"i" * 63}" ON "{name}" ("{column}")')
    place = TableName(world.schema, name)
    columns = (Column("id", INT, nullable=False), Column(column, BIG))
    world.apply(Wanted(Table(place, columns, primary_key=("id",))))
    assert world.sql(f'SELECT * FROM "{name}"') == [(1, 2)]
    indexes = world.sql("SELECT indexname FROM pg_indexes WHERE tablename = %s ORDER BY 1", [name])
    assert indexes == [("i" * 63,), ("k" * 63,)]


def test_nobody_runs_twice_at_once(world: World, other: Connection) -> None:
    plan = widening(world, 1)
    key = f"instar {world.t}"
    other.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [key])
    with pytest.raises(EngineError) as caught:
        world.backend.run(plan.steps[0], RunContext({}, lambda *_: None, lambda _: None))
    assert caught.value.code == "E253"


@pytest.mark.parametrize("version", [16, 18])
def test_a_partitioned_table_that_refers_to_it(version: int) -> None:
    """Before 18 its foreign key cannot be NOT VALID first: that is told before the copy, not behind it."""
    server = PostgresServer(version=version)
    server.start()
    try:
        world = World(server.url())
        world.enter("s")
        world.sql("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 2)")
        world.sql("CREATE TABLE c (id int REFERENCES t) PARTITION BY LIST (id)")
        world.sql("CREATE TABLE c1 PARTITION OF c FOR VALUES IN (1); INSERT INTO c VALUES (1)")
        wanted = world.want(
            Column("id", INT, nullable=False), Column("n", BIG), primary_key=("id",)
        )
        if version < 18:
            finding = next(f for f in world.plan(wanted).findings if f.code == "F601")
            assert "the partitioned table s.c refers to it" in finding.message
        else:
            world.apply(wanted)
            with pytest.raises(Exception, match="c_id_fkey"):
                world.sql("DELETE FROM t")
        world.close()
    finally:
        server.stop()
