"""Each cell of what PostgreSQL does natively, executed: the rung, the locks, the rows, an empty second plan."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal as PyDecimal
from pathlib import Path

import psycopg
import pytest

from backends.postgres.world import World
from backends.world import BIG, INT, TEXT, rung
from instar import Policy, Project
from instar.backends.base import RunContext
from instar.core.findings import Severity
from instar.core.plan import Rung, Status, TablePlan
from instar.core.schema import Check, Hint, Unique, Wanted
from instar.core.types import Binary, Boolean, Column, Decimal, String, Timestamp, array
from instar.errors import EngineError, InstarError, VerificationFailed

Connection = psycopg.Connection[tuple[object, ...]]
ID = Column("id", INT, nullable=False)
KEY = {"primary_key": ("id",)}


def filled(world: World, columns: str = "", *rows: str) -> None:
    world.sql(f"CREATE TABLE t (id int PRIMARY KEY{', ' if columns else ''}{columns})")
    if rows:
        world.sql(f"INSERT INTO t VALUES {', '.join(rows)}")


def file_of(world: World) -> object:
    """A table that is written anew gets another file."""
    return world.sql("SELECT pg_relation_filenode('t')")


IN_PLACE = {
    "a nullable column": ("", [Column("c", INT)]),
    "a constant default": ("", [Column("c", INT, default="7")]),
    "a required column with a default": ("", [Column("c", TEXT, nullable=False, default="'x'")]),
    "a default of now": ("", [Column("c", Timestamp(zone=True), default="now()")]),
    "a longer varchar": ("c varchar(5)", [Column("c", String(9))]),
    "varchar to text": ("c varchar(5)", [Column("c", TEXT)]),
    "more digits": ("c numeric(5,2)", [Column("c", Decimal(9, 2))]),
    "a finer timestamp": ("c timestamp(3)", [Column("c", Timestamp(zone=False))]),
    "timestamp with a zone": ("c timestamp", [Column("c", Timestamp(zone=True))]),
    "timestamp without a zone": ("c timestamptz", [Column("c", Timestamp(zone=False))]),
    "NULL allowed": ("c int NOT NULL", [Column("c", INT)]),
    "another default": ("c int DEFAULT 1", [Column("c", INT, default="2")]),
    "no default": ("c int DEFAULT 1", [Column("c", INT)]),
    "a comment": ("c int", [Column("c", INT, comment="it's")]),
    "a column less": ("c int, d int", [Column("c", INT)]),
}


@pytest.mark.parametrize("case", IN_PLACE)
def test_the_catalog_alone(world: World, case: str) -> None:
    columns, wanted = IN_PLACE[case]
    filled(world, columns)
    world.sql("INSERT INTO t SELECT 1") if "NOT NULL" not in columns else None
    before = file_of(world)
    plan = world.apply(world.want(ID, *wanted, **KEY))
    assert rung(plan) is Rung.METADATA
    assert len(plan.steps) == 1
    assert "[lock: ACCESS EXCLUSIVE; waits 0.5s]" in plan.steps[0].title
    assert file_of(world) == before


RECREATED = {
    "int to bigint": ("c int", Column("c", BIG)),
    "text to varchar(n)": ("c text", Column("c", String(5))),
    "a shorter varchar": ("c varchar(9)", Column("c", String(5))),
    "another scale": ("c numeric(9,2)", Column("c", Decimal(9, 4))),
    "text to int": ("c text", Column("c", INT)),
}


@pytest.mark.parametrize("case", RECREATED)
def test_what_postgres_would_do_by_shutting_everybody_out_is_recreated(
    world: World, case: str
) -> None:
    columns, wanted = RECREATED[case]
    filled(world, columns, "(1, '12')", "(2, NULL)")
    assert rung(world.apply(world.want(ID, wanted, **KEY))) is Rung.REWRITE
    assert [row[0] for row in world.sql("SELECT c IS NULL FROM t ORDER BY id")] == [False, True]


def test_a_view_that_reads_the_column_turns_a_cheap_change_into_a_recreation(world: World) -> None:
    filled(world, "c varchar(3)", "(1, 'abc')")
    world.sql("CREATE VIEW v AS SELECT c FROM t")
    assert rung(world.apply(world.want(ID, Column("c", String(9)), **KEY))) is Rung.REWRITE
    assert world.sql("SELECT * FROM v") == [("abc",)]
    plan = world.plan(world.want(ID, **KEY))
    assert plan.status is Status.BLOCKED
    assert "a view reads 'c'" in plan.findings[0].message


def test_fills_go_in_batches_by_key(world: World) -> None:
    filled(world, "a int")
    world.sql("INSERT INTO t SELECT i, i FROM generate_series(1, 950) AS i")
    wanted = world.want(
        ID,
        Column("a", INT),
        Column("b", INT, nullable=False),
        Column("u", TEXT, nullable=False, default="gen_random_uuid()::text"),
        hints={("b",): Hint(using="a * 2")},
        **KEY,
    )
    plan = world.apply(wanted)
    assert [s.kind for s in plan.steps] == ["alter", "fill", "require", "require"]
    assert "in batches by id" in plan.steps[1].title
    assert world.sql("SELECT count(*), sum(b), count(DISTINCT u) FROM t") == [(950, 903450, 950)]
    assert (
        world.sql("SELECT max(n) FROM (SELECT count(*) AS n FROM t GROUP BY xmin::text) AS x")[0][0]
        < 950
    )


def test_a_fill_goes_on_where_it_stopped(world: World) -> None:
    filled(world, "a int")
    world.sql("INSERT INTO t SELECT i, i FROM generate_series(1, 500) AS i")
    plan = world.plan(
        world.want(ID, Column("a", INT), Column("b", INT), hints={("b",): Hint(using="a")}, **KEY)
    )
    memo: dict[str, str] = {}
    seen: list[str] = []

    def stop(point: str) -> None:
        seen.append(point)
        if seen.count("fill batch") == 2:
            raise KeyboardInterrupt

    world.backend.run(plan.steps[0], RunContext(memo, lambda *_: None, lambda _: None))
    with pytest.raises(KeyboardInterrupt):
        world.backend.run(plan.steps[1], RunContext(memo, lambda *_: None, stop))
    assert memo["fill_place"] == '["100"]'
    world.backend.run(plan.steps[1], RunContext(memo, lambda *_: None, lambda _: None))
    assert world.sql("SELECT count(*) FROM t WHERE a IS DISTINCT FROM b") == [(0,)]


def test_names_trade_places(world: World) -> None:
    filled(world, "a int, b int", "(1, 10, 20)")
    hints = {("a",): Hint(renamed_from="b"), ("b",): Hint(renamed_from="a")}
    plan = world.apply(world.want(ID, Column("a", INT), Column("b", INT), hints=hints, **KEY))
    assert rung(plan) is Rung.METADATA
    assert world.sql("SELECT id, a, b FROM t") == [(1, 20, 10)]


# --- constraints while writers go on ---


def test_not_null_is_validated_under_a_weak_lock(world: World, other: Connection) -> None:
    filled(world, "a int", "(1, 1)")
    held: list[set[str]] = []
    plan = world.plan(world.want(ID, Column("a", INT, nullable=False), **KEY))
    assert [s.kind for s in plan.steps] == ["require"]
    assert "SHARE UPDATE EXCLUSIVE, writers go on" in plan.steps[0].title

    def look(name: str) -> None:
        if name == "statement 1":
            rows = other.execute(
                "SELECT mode FROM pg_locks WHERE relation = 't'::regclass AND granted "
                "AND pid <> pg_backend_pid()"
            ).fetchall()
            held.append({str(row[0]) for row in rows} - {"AccessShareLock"})

    world.run(plan, look)
    assert held == [
        {"AccessExclusiveLock"},
        {"ShareUpdateExclusiveLock"},
        {"AccessExclusiveLock"},
    ]
    assert (
        world.sql(
            "SELECT conname FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'c'"
        )
        == []
    )


def test_a_check_is_validated_under_a_weak_lock(world: World, other: Connection) -> None:
    filled(world, "a int", "(1, 1)")
    wanted = world.want(ID, Column("a", INT), constraints=(Check("low", "a < 5"),), **KEY)
    plan = world.plan(wanted)

    def write(name: str) -> None:
        if name == "part 2":
            other.execute("INSERT INTO t VALUES (2, 2)")

    world.run(plan, write)
    assert world.sql(
        "SELECT convalidated FROM pg_constraint WHERE conname = 'low' AND conrelid = 't'::regclass"
    ) == [(True,)]
    assert world.plan(wanted).steps == ()


@pytest.mark.parametrize(
    "check",
    [
        "a in (1, 2, 3)",
        "a between 1 and 5",
        "note like 'x%' or note is null",
        "NOT (a = 4) AND length(note) < 10",
        "a <> 7 OR note = 'it''s'",
        "coalesce(A, 0) >= 0",
        "case when a > 1 then note is not null else true end",
        "note ~ '^[a-z]*$'",
        "(a::numeric / 2) < 1.5e3",
    ],
)
def test_a_check_is_the_same_however_it_is_spelled(world: World, check: str) -> None:
    filled(world, "a int, note text", "(1, 1, 'x')")
    columns = (ID, Column("a", INT), Column("note", TEXT))
    wanted = world.want(*columns, constraints=(Check("c", check),), **KEY)
    world.apply(wanted)
    assert world.plan(wanted).steps == ()


def test_rows_that_come_between_leave_no_half_constraint(world: World, other: Connection) -> None:
    filled(world, "a int", "(1, 1)")
    plan = world.plan(world.want(ID, Column("a", INT, nullable=False), **KEY))
    other.execute("INSERT INTO t VALUES (2, NULL)")
    with pytest.raises(VerificationFailed) as caught:
        world.run(plan)
    assert caught.value.code == "E227"
    other.execute("INSERT INTO t VALUES (3, NULL)")


def test_an_invalid_index_that_a_crash_left_is_built_again(world: World) -> None:
    filled(world, "a int", "(1, 1)", "(2, 1)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        world.sql("CREATE UNIQUE INDEX CONCURRENTLY one_a__instar_key ON t (a)")
    world.sql("UPDATE t SET a = id")
    unique = (Unique("one_a", ("a",)),)
    plan = world.apply(world.want(ID, Column("a", INT), constraints=unique, **KEY))
    assert [s.kind for s in plan.steps] == ["key"]
    assert world.sql(
        "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
    ) == [
        ("one_a",),
        ("t_pkey",),
    ]


def test_another_primary_key_under_the_old_name(world: World) -> None:
    world.sql("CREATE TABLE t (id int CONSTRAINT my_key PRIMARY KEY, a int NOT NULL)")
    world.sql("INSERT INTO t VALUES (1, 1)")
    world.apply(world.want(ID, Column("a", INT, nullable=False), primary_key=("a", "id")))
    assert world.sql(
        "SELECT conname FROM pg_constraint WHERE contype = 'p' AND conrelid = 't'::regclass"
    ) == [("my_key",)]


def test_a_referenced_key_is_not_touched(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL)")
    world.sql("CREATE TABLE c (x int REFERENCES t)")
    plan = world.plan(world.want(ID, Column("a", INT, nullable=False), primary_key=("a",)))
    assert plan.status is Status.BLOCKED
    assert "refers to it by a foreign key" in plan.findings[0].message


# --- locks that are not granted ---


def test_a_lock_that_is_never_granted(world: World, other: Connection) -> None:
    filled(world, "", "(1)")
    plan = world.plan(world.want(ID, Column("c", INT), **KEY))
    with other.transaction():
        other.execute("SELECT * FROM t")
        with pytest.raises(EngineError) as caught:
            world.run(plan)
    assert caught.value.code == "E253"
    assert world.live() == plan.live
    world.run(plan)


def test_a_recreation_behind_a_reader_gives_up_and_goes_on_later(
    world: World, other: Connection
) -> None:
    filled(world, "c int", "(1, 1)")
    plan = world.plan(world.want(ID, Column("c", BIG), **KEY))
    with other.transaction():
        other.execute("SELECT * FROM t")
        with pytest.raises(EngineError) as caught:
            world.run(plan)
        assert caught.value.code == "E253"
    other.execute("INSERT INTO t VALUES (2, 2)")
    world.run(plan)
    assert world.sql("SELECT id, c FROM t ORDER BY 1") == [(1, 1), (2, 2)]


# --- expressions ---


@pytest.mark.parametrize(
    ("hint", "code"),
    [
        (Hint(using="missing + 1"), "F606"),
        (Hint(using="a; DROP TABLE t"), "F606"),
        (Hint(using="a, a"), "F606"),
        (Hint(using="(SELECT max(a) FROM t)"), "F606"),
        (Hint(using="no_such_function(a)"), "F606"),
        (Hint(using="sum(a) OVER ()"), "F606"),
        (Hint(using="every(a > 0)"), "F606"),
        (Hint(using="generate_series(1, a)"), "F606"),
        (Hint(using="random()"), "F607"),
        (Hint(using="extract(epoch FROM now())"), "F607"),
        (Hint(default="gen_random_uuid()"), "F607"),
        (Hint(using="a -- b"), "F606"),
    ],
)
def test_expressions_that_cannot_be_used(world: World, hint: Hint, code: str) -> None:
    filled(world, "a int", "(1, 1)")
    plan = world.plan(
        world.want(ID, Column("a", INT), Column("b", TEXT), hints={("b",): hint}, **KEY)
    )
    assert plan.status is Status.BLOCKED
    assert code in [f.code for f in plan.findings]
    assert plan.steps == ()


@pytest.mark.parametrize("using", ["n / (n - 1)", "'abc'", "current_setting('no.such')"])
def test_an_expression_that_fails_on_a_row_blocks_its_table_alone(
    tmp_path: Path, world: World, using: str
) -> None:
    """It is no row that came after the plan, and no reason to say nothing of the other tables."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)")
    (tmp_path / "tables").mkdir()
    (tmp_path / "instar.yml").write_text(
        f"name: shop\nenvironments:\n  dev: {{type: postgres, url: '{world.url}', schema: {world.schema}}}\n"
    )
    columns = f"{{name: id, type: INT}}, {{name: 'n', type: BIGINT, _using: \"{using}\"}}"
    (tmp_path / "tables/t.yml").write_text(f"table: t\nprimary_key: [id]\ncolumns: [{columns}]\n")
    (tmp_path / "tables/u.yml").write_text("table: u\ncolumns: [{name: id, type: INT}]\n")
    plan = Project.load(tmp_path).plan(policy=Policy(allow_rewrite=True))
    assert [(t.status, [f.code for f in t.findings]) for t in plan.tables] == [
        (Status.BLOCKED, ["F204"]),
        (Status.CREATE, []),
    ]


def test_new_columns_come_in_their_order_though_one_is_filled_by_rows(world: World) -> None:
    filled(world, "a text", "(1, 'x')")
    hints = {("b",): Hint(default="'y'"), ("c",): Hint(using="a || '!'")}
    new = [Column(name, TEXT) for name in "bcd"]
    plan = world.apply(world.want(ID, Column("a", TEXT), *new, hints=hints, **KEY))
    assert rung(plan) is Rung.STEPS
    assert world.sql("SELECT * FROM t") == [(1, "x", "y", "x!", None)]


def test_a_name_that_is_not_free_yet_beside_a_column_filled_by_rows(world: World) -> None:
    filled(world, "a text", "(1, 'x')")
    hints = {("z",): Hint(renamed_from="a"), ("c",): Hint(using="a || '!'")}
    new = [Column(name, TEXT) for name in "zac"]
    plan = world.apply(world.want(ID, *new, hints=hints, **KEY))
    assert rung(plan) is Rung.REWRITE
    assert world.sql("SELECT z, a, c FROM t") == [("x", None, "x!")]


ELEMENTS = {
    "smallint to boolean": ("smallint[]", "ARRAY[0, 1, NULL]", Boolean(), [False, True, None]),
    "boolean to bigint": ("boolean[]", "ARRAY[true, false]", BIG, [1, 0]),
    "text to bytes": ("text[]", "ARRAY['\\x41', 'é']", Binary(), [b"\\x41", "é".encode()]),
    "bytes to text": ("bytea[]", "ARRAY['\\x41'::bytea]", TEXT, ["A"]),
    "an empty array": ("text[]", "'{}'::text[]", Binary(), []),
    "no array": ("text[]", "NULL", Binary(), None),
    "double to decimal": (
        "double precision[]",
        "ARRAY[1234567890123.25]",
        Decimal(20, 2),
        [PyDecimal("1234567890123.25")],
    ),
}


@pytest.mark.parametrize("case", ELEMENTS)
def test_elements_change_as_a_column_of_them_would(world: World, case: str) -> None:
    old, value, new, expected = ELEMENTS[case]
    filled(world, f"a {old}", f"(1, {value})")
    world.apply(world.want(ID, Column("a", array(new)), **KEY))
    assert world.sql("SELECT a FROM t") == [(expected,)]


def test_two_columns_that_differ_in_case_are_told_apart(world: World) -> None:
    world.sql("""CREATE TABLE t (id int PRIMARY KEY, a int, "A" int)""")
    world.sql("INSERT INTO t VALUES (1, 10, 20)")
    world.apply(world.want(ID, Column("a", TEXT), **KEY))
    assert world.sql("SELECT * FROM t") == [(1, "10")]


PROMISES = {
    "volatile": ("CREATE FUNCTION {f}(x int) RETURNS int VOLATILE RETURN x * 2", ["F607"]),
    "immutable": ("CREATE FUNCTION {f}(x int) RETURNS int IMMUTABLE RETURN x * 2", []),
    "volatile beside an immutable one of that name": (
        "CREATE FUNCTION {f}(x int) RETURNS int VOLATILE RETURN x * 2;"
        " CREATE FUNCTION {f}(x text) RETURNS int IMMUTABLE RETURN 1",
        ["F607"],
    ),
    "immutable beside a volatile one of that name": (
        "CREATE FUNCTION {f}(x int) RETURNS int IMMUTABLE RETURN x * 2;"
        " CREATE FUNCTION {f}(x text) RETURNS int VOLATILE RETURN 1",
        [],
    ),
}
NAMES = {"plain": "twice", "in capitals": '"Twice It"', "of the server's": "lower"}


def _errors(plan: TablePlan) -> list[str]:
    return [f.code for f in plan.findings if f.severity is Severity.ERROR]


def _using(world: World, function: str) -> Wanted:
    hints = {("b",): Hint(using=f"1 + {function}(a)")}
    return world.want(ID, Column("a", INT), Column("b", INT), hints=hints, **KEY)


def _check(world: World, function: str) -> Wanted:
    few = Check("few", f"{function}(a) < 9")
    return world.want(ID, Column("a", INT), constraints=(few,), **KEY)


@pytest.mark.parametrize("calling", [_using, _check], ids=["a _using", "a check"])
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES.keys())
def test_a_function_may_be_called_that_promises_the_same_answer(
    world: World,
    promise: tuple[str, list[str]],
    name: str,
    calling: Callable[[World, str], Wanted],
) -> None:
    filled(world, "a int", "(1, 1)")
    function = f"{world.schema}.{name}"
    world.sql(promise[0].format(f=function))
    plan = world.plan(calling(world, function))
    assert _errors(plan) == promise[1]
    assert bool(plan.steps) is not bool(promise[1])


def test_a_check_that_the_table_has_is_not_judged(world: World) -> None:
    filled(world, "a int", "(1, 1)")
    function = f"{world.schema}.twice"
    world.sql(f"CREATE FUNCTION {function}(x int) RETURNS int VOLATILE RETURN x * 2")
    world.sql(f"ALTER TABLE t ADD CONSTRAINT few CHECK ({function}(a) < 9)")
    few = Check("few", f"{function}(A)<9")
    plan = world.plan(world.want(ID, Column("a", INT), constraints=(few,), **KEY))
    assert (plan.findings, plan.steps) == ((), ())


def test_a_default_that_does_not_fit_its_column(world: World) -> None:
    plan = world.plan(world.want(Column("a", INT, default="'x'")))
    assert [f.code for f in plan.findings] == ["F606"]


def test_a_value_that_would_be_rounded_is_a_witness(world: World) -> None:
    filled(world, "a numeric(5,2)", "(1, 1.50)", "(2, 2.00)")
    plan = world.plan(world.want(ID, Column("a", INT), **KEY))
    finding = next(f for f in plan.findings if f.code == "F201")
    assert finding.count == 1
    assert finding.witnesses == ({"id": "1", "a": "1.50"},)


def test_errors_are_instar_errors(world: World) -> None:
    with pytest.raises(InstarError) as caught:
        world.backend.session.ask("SELECT nothing FROM nowhere")
    assert caught.value.code == "E254"
    assert "42P01" in caught.value.message


def test_rows_that_would_be_lost_are_shown_by_key_in_its_order(world: World) -> None:
    filled(world, "a text", "(10, 'x')", "(2, 'y')", "(3, '7')")
    (finding,) = world.plan(world.want(ID, Column("a", INT), **KEY)).findings
    assert finding.witnesses == ({"id": "2", "a": "y"}, {"id": "10", "a": "x"})


def test_rows_without_a_key_are_shown_by_their_place(world: World) -> None:
    world.sql("CREATE TABLE t (id int, a text)")
    world.sql("INSERT INTO t VALUES (10, 'x'), (2, 'y')")
    (finding,) = world.plan(world.want(Column("id", INT), Column("a", INT))).findings
    assert [w["id"] for w in finding.witnesses] == ["10", "2"]
    assert finding.witnesses[0] == {"ctid": "(0,1)", "id": "10", "a": "x"}
