"""Recreation on DSQL: within the limits, resumable at every point, and never over what somebody wrote."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from backends.dsql.bed import DsqlBed
from backends.dsql.world import World
from backends.world import BIG, INT, TEXT, rung
from instar.backends.base import Outcome, RunContext
from instar.backends.postgres.session import Patience
from instar.core.plan import Rung, TablePlan
from instar.core.schema import Check, Hint, Unique, Wanted
from instar.core.types import Column
from instar.errors import EngineError, InstarError, OutcomeUnknown, VerificationFailed

ID = Column("id", INT, nullable=False)
WIDER = (ID, Column("n", BIG))


def wider(world: World) -> Wanted:
    return world.want(*WIDER, primary_key=("id",))


def made(world: World, rows: int = 250) -> TablePlan:
    """A table whose column `n` is to become wider."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    for first in range(1, rows + 1, 3000):
        last = min(rows, first + 2999)
        world.sql(f"INSERT INTO t SELECT i, i * 2 FROM generate_series({first}, {last}) AS i")
    return world.plan(wider(world))


def fails_at(point: str, nth: int = 1) -> Callable[[str], None]:
    """A failpoint that ends the work there, as a lost process would."""
    seen: list[str] = []

    def reached(name: str) -> None:
        seen.append(name)
        if name == point and seen.count(name) == nth:
            raise KeyboardInterrupt

    return reached


def test_more_rows_than_a_transaction_takes(world: World) -> None:
    patient = World(world.bed, Patience(batch=2999))
    patient.enter(world.schema)
    plan = made(patient, 7000)
    assert rung(plan) is Rung.REWRITE
    assert plan.steps[0].title.endswith("[writers must stop]")
    assert plan.steps[0].confirm is not None
    assert "WRITERS MUST STOP" in plan.steps[0].confirm
    copied: list[int] = []
    context = RunContext(
        {}, lambda what, done, _: copied.append(done) if "copy" in what else None, lambda _: None
    )
    patient.backend.run(plan.steps[0], context)
    assert copied == [2999, 5998, 7000]
    assert patient.sql("SELECT count(*), sum(n), pg_typeof(min(n))::text FROM t") == [
        (7000, 7000 * 7001, "bigint")
    ]
    assert patient.relations() == ["t", "t__instar_old_1"]
    assert context.memo["kept"] == "t__instar_old_1"
    patient.close()


def test_rows_that_weigh_more_than_a_transaction_takes(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int, v text)")
    for first in range(1, 61, 20):
        world.sql(
            "INSERT INTO t SELECT i, i, repeat(chr(64 + i % 26), 10000 + i) "
            f"FROM generate_series({first}, {first + 19}) AS i"
        )
    plan = world.plan(world.want(*WIDER, Column("v", TEXT), primary_key=("id",)))
    world.bed.limit(size=100_000)
    world.run(plan)
    assert world.sql("SELECT count(*), sum(length(v)) FROM t") == [(60, 60 * 10000 + 30 * 61)]


def test_a_key_that_changes_with_the_copy(world: World) -> None:
    """The key is of two columns, one of which becomes a number: '10' stands before '9' in the old one."""
    world.sql("CREATE TABLE t (a text, b int, v text, PRIMARY KEY (a, b))")
    world.sql("INSERT INTO t SELECT i::text, i % 3, 'v' || i FROM generate_series(1, 450) AS i")
    columns = (
        Column("a", INT, nullable=False),
        Column("b", INT, nullable=False),
        Column("v", TEXT),
    )
    world.apply(world.want(*columns, primary_key=("b", "a")))
    assert world.sql("SELECT count(*), sum(a), min(v) FROM t") == [(450, 450 * 451 // 2, "v1")]
    assert world.sql(
        "SELECT attname FROM pg_attribute WHERE attrelid = 't'::regclass "
        "AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    ) == [("a",), ("b",), ("v",)]


def test_a_key_of_values_at_the_edge(world: World) -> None:
    world.sql(
        "CREATE TABLE t (a numeric(20, 2), b timestamptz, c uuid, d text, n int, PRIMARY KEY (a, b, c, d))"
    )
    world.sql(
        "INSERT INTO t SELECT a, b, c, d, row_number() OVER () "
        "FROM unnest('{NaN,-1.5,0,99}'::numeric[]) AS a, "
        "unnest('{infinity,-infinity,0044-03-15 BC}'::timestamptz[]) AS b, "
        "unnest('{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}'::uuid[]) AS c, "
        "unnest(ARRAY['', '''', 'Ä', '\\', '%s', 'null']) AS d"
    )
    before = world.sql("SELECT a::text, b::text, c, d, n FROM t ORDER BY n")
    live = world.live()
    assert live is not None
    columns = (*live.columns[:-1], Column("n", BIG))
    world.apply(world.want(*columns, primary_key=("d", "c", "b", "a")))
    assert world.sql("SELECT a::text, b::text, c, d, n FROM t ORDER BY n") == before
    assert len(before) == 144
    assert world.indexes() == ["t_pkey"]


def test_what_hangs_on_it(world: World) -> None:
    """Keys, indexes, defaults, CHECKs, the comment and privileges; names stay, those of the old one are marked."""
    world.sql(
        "CREATE TABLE t (id int, n int DEFAULT 7, mail text CONSTRAINT one_mail UNIQUE, "
        "CONSTRAINT the_key PRIMARY KEY (id) INCLUDE (mail), CONSTRAINT few CHECK (n < 1000))"
    )
    world.job("CREATE INDEX ASYNC by_n ON {schema}.t (n NULLS FIRST) WHERE n > 1")
    world.job("CREATE UNIQUE INDEX ASYNC by_low ON {schema}.t ((lower(mail)), id) INCLUDE (n)")
    world.sql("COMMENT ON TABLE t IS 'the table'")
    world.sql("GRANT SELECT ON t TO PUBLIC")
    world.sql("GRANT UPDATE (mail) ON t TO PUBLIC")
    world.sql("INSERT INTO t SELECT i, i, 'm' || i FROM generate_series(1, 200) AS i")
    defined = (
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 't'::regclass ORDER BY 1"
    )
    before = world.sql(defined)
    wanted = world.want(
        ID,
        Column("n", BIG, default="7"),
        Column("mail", TEXT),
        primary_key=("id",),
        comment="the table",
        constraints=(Unique("one_mail", ("mail",)), Check("few", "n < 1000")),
    )
    world.apply(wanted)
    assert world.sql(defined) == before
    assert world.sql(
        "SELECT has_table_privilege('pg_monitor', 't', 'SELECT'), "
        "has_column_privilege('pg_monitor', 't', 'mail', 'UPDATE')"
    ) == [(True, True)]
    assert world.sql("INSERT INTO t (id) VALUES (0) RETURNING n") == [(7,)]
    assert world.indexes("t__instar_old_1") == [
        "by_low__instar_o1",
        "by_n__instar_o1",
        "one_mail__instar_o1",
        "the_key__instar_o1",
    ]


@pytest.mark.parametrize(
    ("point", "code"), [("recreate verify", "E256"), ("recreate swap", "E259")]
)
def test_what_somebody_writes_meanwhile_is_not_lost(world: World, point: str, code: str) -> None:
    plan = made(world)

    def write(reached: str) -> None:
        if reached == point:
            world.sql("UPDATE t SET n = -1 WHERE id = 17")
            world.sql("INSERT INTO t VALUES (9999, 5)")

    with pytest.raises(VerificationFailed) as caught:
        world.run(plan, write)
    assert caught.value.code == code
    assert world.sql("SELECT n FROM t WHERE id IN (17, 9999) ORDER BY id") == [(-1,), (5,)]
    assert world.relations() == ["t"]
    world.apply(wider(world))
    assert world.sql("SELECT count(*) FROM t") == [(251,)]


def test_between_the_renames_nobody_can_write(world: World) -> None:
    plan = made(world)

    def write(reached: str) -> None:
        if reached == "recreate renamed aside":
            with pytest.raises(psycopg.errors.UndefinedTable):
                world.sql("INSERT INTO t VALUES (9999, 5)")

    world.run(plan, write)
    assert world.sql("SELECT count(*) FROM t") == [(250,)]


LATE = {
    "a row": (
        "INSERT INTO {old} VALUES (9999, 5)",
        "it had 250 rows when it was compared, 251 now",
    ),
    "a value": ("UPDATE {old} SET n = -1 WHERE id = 17", "had 250 rows when it was compared, 250"),
    "a row that went": ("DELETE FROM {old} WHERE id = 17", "250 rows when it was compared, 249"),
    "a column": ("ALTER TABLE {old} ADD COLUMN extra int", "column 'extra' is new: integer"),
}
"""What others do to the old table by the name under which it is kept, and what the error says of it."""


@pytest.mark.parametrize("point", ["recreate looked again", "recreate renamed in"])
@pytest.mark.parametrize("kind", LATE)
def test_what_came_between_the_last_look_and_the_swap_is_said(
    world: World, kind: str, point: str
) -> None:
    statement, words = LATE[kind]
    plan, old = made(world), "t__instar_old_1"
    memo: dict[str, str] = {}

    def write(reached: str) -> None:
        if reached == point:
            world.sql(statement.format(old=old))

    with pytest.raises(OutcomeUnknown) as caught:
        world.backend.run(plan.steps[0], RunContext(memo, lambda *_: None, write))
    assert caught.value.code == "E262"
    assert words in caught.value.message
    kept = world.sql(f"SELECT * FROM {old} ORDER BY id")
    assert world.backend.outcome(plan.steps[0], None, memo) is Outcome.NOT_DONE
    world.backend.run(plan.steps[0], RunContext(memo, lambda *_: None, lambda _: None))
    assert world.backend.outcome(plan.steps[0], None, memo) is Outcome.DONE
    assert world.sql(f"SELECT * FROM {old} ORDER BY id") == kept, "it is still there"
    assert world.sql("SELECT count(*), sum(n) FROM t") == [(250, 62750)]
    assert world.relations() == ["t", old]
    assert world.indexes() == ["t_pkey"]


def test_killed_behind_the_swap_the_next_run_looks_back(world: World) -> None:
    plan = made(world)
    with pytest.raises(KeyboardInterrupt):
        world.run(plan, fails_at("recreate renamed in"))
    world.backend.session.rollback()
    world.sql("INSERT INTO t__instar_old_1 VALUES (9999, 5)")
    world.sql("INSERT INTO t VALUES (8888, 5)")
    with pytest.raises(OutcomeUnknown) as caught:
        world.run(plan)
    assert caught.value.code == "E262"
    world.run(plan)
    assert world.sql("SELECT count(*) FROM t") == [(251,)], "the new table's own rows are there"


def test_conflicts_are_tried_again(world: World, bed: DsqlBed) -> None:
    plan = made(world)
    bed.conflict(commits=4, ddl=3)
    world.run(plan)
    assert bed.conflicts_left() == (0, 0)
    assert world.sql("SELECT count(*), sum(n) FROM t") == [(250, 250 * 251)]


def test_a_plan_that_meets_a_conflict_is_made_all_the_same(world: World, bed: DsqlBed) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    bed.conflict(ddl=2)
    check = Check("few", "n IN (1, 2)")
    plan = world.plan(world.want(ID, Column("n", INT), primary_key=("id",), constraints=(check,)))
    assert bed.conflicts_left() == (0, 0)
    assert not plan.blocked
    assert "ANY (ARRAY[1, 2])" in plan.steps[0].sql[0]


def test_too_many_conflicts_end_it_and_the_next_run_goes_on(world: World, bed: DsqlBed) -> None:
    plan = made(world)
    memo: dict[str, str] = {}

    def conflicts(reached: str) -> None:
        if reached == "recreate batch done":
            bed.conflict(commits=99)

    with pytest.raises(EngineError) as caught:
        world.backend.run(plan.steps[0], RunContext(memo, lambda *_: None, conflicts))
    assert caught.value.code == "E253"
    bed.conflict()
    copied: list[int] = []
    world.backend.run(
        plan.steps[0],
        RunContext(
            memo,
            lambda what, done, _: copied.append(done) if "copy" in what else None,
            lambda _: None,
        ),
    )
    assert copied == [200, 250], "the first batch is there once"
    assert world.sql("SELECT count(*), sum(n) FROM t") == [(250, 250 * 251)]


def test_an_unfinished_recreation_to_something_else_is_undone(world: World) -> None:
    plan = made(world)
    with pytest.raises(KeyboardInterrupt):
        world.run(plan, fails_at("recreate renamed aside"))
    world.backend.session.rollback()
    assert "t" not in world.relations()
    world.backend.session.ddl(f"ALTER TABLE {world.schema}.t__instar_old_1 RENAME TO t")
    other = world.want(ID, Column("n", TEXT), primary_key=("id",))
    world.apply(other)
    assert world.sql("SELECT count(*), max(length(n)) FROM t") == [(250, 3)]
    assert world.relations() == ["t", "t__instar_old_1"]


def test_a_swap_to_something_else_is_finished_first(world: World) -> None:
    plan = made(world)
    with pytest.raises(KeyboardInterrupt):
        world.run(plan, fails_at("recreate renamed in"))
    assert world.indexes() == ["t__instar_b1"]
    other = world.want(ID, Column("n", TEXT), primary_key=("id",))
    memo: dict[str, str] = {}
    with pytest.raises(VerificationFailed, match="key 't__instar_b1' is gone") as caught:
        world.backend.run(
            world.plan(other).steps[0], RunContext(memo, lambda *_: None, lambda _: None)
        )
    assert caught.value.code == "E229"
    assert memo == {}, "the step that was asked for has kept nothing"
    assert world.indexes() == ["t_pkey"]
    assert world.relations() == ["t", "t__instar_old_1"]
    memo = world.run(world.plan(other))
    assert memo["kept"] == "t__instar_old_2"
    assert world.indexes() == ["t_pkey"]
    assert world.relations() == ["t", "t__instar_old_1", "t__instar_old_2"]
    assert world.sql("SELECT count(*), max(length(n)) FROM t") == [(250, 3)]


UNFIT = {
    "a function": "CREATE INDEX ASYNC by_a ON {schema}.t ((lower(a)), id)",
    "a condition": "CREATE INDEX ASYNC by_a ON {schema}.t (id) WHERE a <> ''",
    "an operator": "CREATE INDEX ASYNC by_a ON {schema}.t ((a || id))",
}


@pytest.mark.parametrize("case", UNFIT)
def test_an_index_that_does_not_fit_the_new_type_blocks_the_plan(world: World, case: str) -> None:
    """Its job would fail behind the copy."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, a text)")
    world.sql("INSERT INTO t VALUES (1, '1')")
    world.job(UNFIT[case])
    wanted = world.want(ID, Column("a", INT), primary_key=("id",))
    (finding,) = (f for f in world.plan(wanted).findings if f.code == "F601")
    assert "the index by_a does not fit the new type of 'a': " in finding.message
    world.sql("DROP INDEX by_a")
    world.job(
        "CREATE INDEX ASYNC by_a ON {schema}.t (a DESC NULLS LAST, (abs(id))) INCLUDE (id)"
        " WHERE a IS NOT NULL"
    )
    world.apply(wanted)
    assert world.indexes() == ["by_a", "t_pkey"]


def test_a_table_that_only_looks_like_a_copy_is_left_alone(world: World) -> None:
    plan = made(world)
    world.sql("CREATE TABLE t__instar_new (mine int)")
    with pytest.raises(InstarError) as caught:
        world.run(plan)
    assert caught.value.code == "E443"
    assert world.relations() == ["t", "t__instar_new"]


@pytest.mark.parametrize(
    ("hanging", "words"),
    [
        ("CREATE VIEW seen AS SELECT id FROM t", "would go on reading the old table"),
        ("CREATE TABLE child (id int REFERENCES t (id))", "refers to it by a foreign key"),
        (
            "CREATE FUNCTION every() RETURNS SETOF t LANGUAGE sql AS 'SELECT * FROM t'",
            "every() uses its row type",
        ),
        ("ALTER TABLE t ALTER COLUMN n SET DEFAULT 1", ""),
    ],
)
def test_what_cannot_be_handed_over_blocks(world: World, hanging: str, words: str) -> None:
    made(world)
    world.sql(hanging)
    plan = world.plan(world.want(ID, Column("n", BIG, default="1"), primary_key=("id",)))
    said = [f.message for f in plan.findings if f.code == "F601"]
    assert bool(said) == bool(words)
    assert all(words in message for message in said)


@pytest.mark.parametrize(
    ("ddl", "words"),
    [
        ("CREATE TABLE t (id int, n int)", "no primary key"),
        ("CREATE TABLE t (id int UNIQUE, n int)", "no primary key"),
        (
            "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY, n int)",
            "numbers 'id'",
        ),
    ],
)
def test_a_table_that_cannot_be_walked_or_numbered_blocks(
    world: World, ddl: str, words: str
) -> None:
    world.sql(ddl)
    live = world.live()
    assert live is not None
    columns = tuple(Column(c.name, BIG, c.nullable) for c in live.columns)
    plan = world.plan(world.want(*columns, primary_key=live.primary_key))
    said = [f.message for f in plan.findings if f.code == "F601"]
    assert said
    assert all(words in message for message in said)
    assert plan.steps == ()


def test_interrupted_at_every_point_it_ends_the_same(world: World) -> None:
    """As the kill suite does it, without processes: the memo is all that is left."""
    ring = {
        ("a",): Hint(renamed_from="c"),
        ("b",): Hint(renamed_from="a"),
        ("c",): Hint(renamed_from="b"),
    }
    names = ("a", "b", "c")
    wanted = world.want(
        ID,
        *(Column(n, TEXT) for n in names),
        Column("d", INT, default="5"),
        hints=ring,
        primary_key=("id",),
    )
    count = 0
    while True:
        count += 1
        world.sql("DROP TABLE IF EXISTS t")
        world.sql("CREATE TABLE t (id int PRIMARY KEY, a text, b text, c text, gone int)")
        world.sql("INSERT INTO t SELECT i, 'a', 'b', 'c', i FROM generate_series(1, 120) AS i")
        plan = world.plan(wanted)
        finished = _interrupted(world, plan, count)
        assert world.sql("SELECT DISTINCT a, b, c, d FROM t") == [("c", "a", "b", 5)]
        assert world.sql("SELECT count(*) FROM t") == [(120,)]
        if finished:
            break
    assert count > 15


def _interrupted(world: World, plan: TablePlan, nth: int) -> bool:
    """Run with an interruption at the nth failpoint; true if there are not so many."""
    reached: list[str] = []

    def point(name: str) -> None:
        reached.append(name)
        if len(reached) == nth:
            raise KeyboardInterrupt

    for step in plan.steps:
        memo: dict[str, str] = {}
        try:
            world.backend.run(step, RunContext(memo, lambda *_: None, point))
        except KeyboardInterrupt:
            world.backend.session.rollback()
            world.backend.run(step, RunContext(memo, lambda *_: None, point))
    return len(reached) < nth


def test_rows_that_came_after_the_plan(world: World) -> None:
    """A job of the service finds them: nothing half-built is left but a CHECK that waits for its validation."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    unique = world.plan(
        world.want(ID, Column("n", INT), primary_key=("id",), constraints=(Unique("u", ("n",)),))
    )
    check = world.plan(
        world.want(ID, Column("n", INT), primary_key=("id",), constraints=(Check("k", "n > 5"),))
    )
    world.sql("INSERT INTO t VALUES (1, 5), (2, 5)")
    for plan in (unique, check):
        with pytest.raises(InstarError) as caught:
            world.run(plan)
        assert caught.value.code == "E227"
    assert world.indexes() == ["t_pkey"]
    world.sql("UPDATE t SET n = 10 + id")
    world.apply(
        world.want(ID, Column("n", INT), primary_key=("id",), constraints=(Check("k", "n > 5"),))
    )


def test_long_names(world: World) -> None:
    """Names at the limit of 63 bytes, in which every helper must still find its place."""
    from instar.core.schema import Table, TableName

    name, column = "ä" * 31 + "t", "c" * 63
    world.sql(f'CREATE TABLE "{name}" (id int CONSTRAINT "{"k" * 63}" PRIMARY KEY, "{column}" int)')
    world.sql(f'INSERT INTO "{name}" VALUES (1, 2)')
    world.job(f'CREATE INDEX ASYNC "{"i" * 63}" ON {{schema}}."{name}" ("{column}")')
    place = TableName(world.schema, name)
    world.apply(Wanted(Table(place, (ID, Column(column, BIG)), primary_key=("id",))))
    assert world.sql(f'SELECT * FROM "{name}"') == [(1, 2)]
    assert world.indexes(f'"{name}"') == ["i" * 63, "k" * 63]


def test_new_columns_come_in_their_order_though_one_is_filled_by_rows(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, a text)")
    world.sql("INSERT INTO t VALUES (1, 'x')")
    hints = {("c",): Hint(using="a || '!'")}
    new = [Column(name, TEXT) for name in "abcd"]
    plan = world.apply(world.want(ID, *new, primary_key=("id",), hints=hints))
    assert rung(plan) is Rung.STEPS
    assert world.sql("SELECT * FROM t") == [(1, "x", None, "x!", None)]
