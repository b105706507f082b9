"""Each cell of what DuckDB can do, executed: the rung, the rows, the schema, and an empty second plan."""

from __future__ import annotations

import pytest

from backends.duckdb.world import EVERYTHING, REORDER, World, rung, want
from instar.core.plan import Rung, Status
from instar.core.policy import Policy
from instar.core.schema import Check, Hint, Unique
from instar.core.types import (
    Column,
    Date,
    Decimal,
    Float,
    Integer,
    String,
    Timestamp,
    array,
    map_of,
    struct,
)
from instar.errors import EngineError

INT, BIG, TEXT = Integer(32), Integer(64), String()
ID = Column("id", INT)
NOTE = Column("note", TEXT)


def filled(world: World, ddl: str, *rows: str) -> None:
    world.sql(f"CREATE TABLE t ({ddl})")
    if rows:
        world.sql(f"INSERT INTO t VALUES {', '.join(rows)}")


def rows(world: World) -> list[tuple[object, ...]]:
    return world.sql("SELECT * FROM t ORDER BY 1")


# --- columns come ---


def test_add_nullable(world: World) -> None:
    filled(world, "id INT", "(1)")
    plan = world.apply(want(ID, NOTE))
    assert rung(plan) is Rung.METADATA
    assert plan.steps[0].id == "main.t/1"
    assert plan.steps[0].title == "add column note"
    assert rows(world) == [(1, None)]


def test_add_with_a_lasting_default(world: World) -> None:
    filled(world, "id INT", "(1)")
    world.apply(want(ID, Column("n", INT, default="7")))
    world.sql("INSERT INTO t (id) VALUES (2)")
    assert rows(world) == [(1, 7), (2, 7)]


def test_add_required_with_a_helper_leaves_no_default(world: World) -> None:
    filled(world, "id INT", "(1)", "(2)")
    hints = {("n",): Hint(default="5")}
    plan = world.apply(want(ID, Column("n", BIG, nullable=False), hints=hints))
    assert rung(plan) is Rung.STEPS
    assert len(plan.steps) == 1
    assert rows(world) == [(1, 5), (2, 5)]
    assert world.sql("SELECT column_default FROM duckdb_columns() WHERE column_name = 'n'") == [
        (None,)
    ]


def test_add_computed_from_the_old_row(world: World) -> None:
    filled(world, "id INT, s STRUCT(x INT)", "(1, {'x': 10})", "(2, NULL)")
    hints = {("n",): Hint(using="id + s.x -- the sum"), ("m",): Hint(using="id * 2")}
    world.apply(
        want(
            ID,
            Column("s", struct(Column("x", INT))),
            Column("n", BIG),
            Column("m", INT, nullable=False),
            hints=hints,
        )
    )
    assert rows(world) == [(1, {"x": 10}, 11, 2), (2, None, None, 4)]


def test_an_expression_that_would_round_is_caught(world: World) -> None:
    filled(world, "id INT", "(1)", "(2)")
    plan = world.plan(want(ID, Column("n", INT), hints={("n",): Hint(using="id / 2")}))
    finding = plan.findings[0]
    assert (finding.code, finding.count) == ("F202", 1)
    assert finding.witnesses == ({"rowid": "0", "id": "1", "n": "0.5"},)


def test_add_required_without_a_value_needs_an_empty_table(world: World) -> None:
    filled(world, "id INT")
    wanted = want(ID, Column("n", INT, nullable=False))
    world.apply(wanted)
    world.sql("DROP TABLE t")
    filled(world, "id INT", "(1)", "(2)")
    plan = world.plan(wanted)
    assert plan.status is Status.BLOCKED
    assert plan.findings[0].message == (
        "[main.t] cannot add NOT NULL column 'n' without a default value on a non-empty table."
    )
    assert plan.findings[0].count == 2


def test_add_in_the_middle_goes_last_unless_the_order_is_asked_for(world: World) -> None:
    filled(world, "id INT, note VARCHAR", "(1, 'a')")
    wanted = want(ID, Column("mid", INT), NOTE)
    assert rung(world.plan(wanted)) is Rung.METADATA
    plan = world.apply(wanted, REORDER)
    assert rung(plan) is Rung.REWRITE
    assert rows(world) == [(1, None, "a")]


def test_a_volatile_lasting_default_gives_each_row_its_own(world: World) -> None:
    filled(world, "id INT", "(1)", "(2)")
    world.apply(want(ID, Column("u", TEXT, default="CAST(uuid() AS VARCHAR)")))
    assert world.sql("SELECT count(DISTINCT u) FROM t") == [(2,)]


# --- columns go ---


def test_drop(world: World) -> None:
    filled(world, "id INT, note VARCHAR", "(1, 'a')")
    plan = world.apply(want(ID))
    step = plan.steps[0]
    assert (step.rung, step.destructive, step.reversible) == (Rung.METADATA, True, False)
    assert step.confirm == "drops note of main.t: the values are lost"
    assert rows(world) == [(1,)]


def test_drop_is_not_done_unless_asked_for(world: World) -> None:
    filled(world, "id INT, note VARCHAR", "(1, 'a')")
    plan = world.plan(want(ID), Policy())
    assert plan.steps == ()
    assert [f.code for f in plan.findings] == ["F102"]


def test_drop_of_an_indexed_column_takes_its_index_along_and_says_so(world: World) -> None:
    filled(world, "id INT, a INT, b INT", "(1, 2, 3)")
    world.sql("CREATE INDEX on_a ON t (a); CREATE UNIQUE INDEX on_b ON t (b)")
    plan = world.apply(want(ID, Column("b", INT)))
    assert rung(plan) is Rung.REWRITE
    assert "the index on_a goes with 'a'" in " ".join(f.message for f in plan.findings)
    assert world.sql("SELECT index_name, is_unique FROM duckdb_indexes()") == [("on_b", True)]


@pytest.mark.parametrize(
    ("ddl", "rest"),
    [
        ("id INT, a INT, PRIMARY KEY (id, a)", {"primary_key": ("id",)}),
        ("id INT, a INT UNIQUE", {}),
        ("id INT, a INT, CHECK (id < a)", {}),
    ],
)
def test_drop_of_a_column_that_a_rule_names_is_a_rewrite(
    world: World, ddl: str, rest: dict[str, tuple[str, ...]]
) -> None:
    filled(world, ddl, "(1, 2)")
    plan = world.apply(want(Column("id", INT, nullable=not rest), **rest))
    assert rung(plan) is Rung.REWRITE
    assert rows(world) == [(1,)]


def test_drop_of_a_column_takes_its_own_check_along_natively(world: World) -> None:
    filled(world, "id INT, a INT, CHECK (a > 0)", "(1, 2)")
    plan = world.apply(want(ID))
    assert rung(plan) is Rung.METADATA


# --- names ---


def test_rename_keeps_index_check_and_generated_column(world: World) -> None:
    filled(world, "id INT, a INT CHECK (a > 0), g INT GENERATED ALWAYS AS (a + 1)")
    world.sql("CREATE INDEX i ON t (a); INSERT INTO t VALUES (1, 2)")
    plan = world.apply(
        want(
            ID,
            Column("order", INT),
            Column("g", INT),
            hints={("order",): Hint(renamed_from="a")},
            constraints=(Check("positive", '"order" > 0'),),
        )
    )
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, 2, 3)]
    assert world.sql("SELECT expressions FROM duckdb_indexes()") == [("['\"order\"']",)]


def test_swap_and_chain_of_names(world: World) -> None:
    filled(world, "id INT, a INT, b INT, c INT", "(1, 2, 3, 4)")
    swap = {("a",): Hint(renamed_from="b"), ("b",): Hint(renamed_from="a")}
    wanted = want(ID, Column("b", INT), Column("a", INT), Column("c", INT), hints=swap)
    world.apply(wanted)
    assert world.sql("SELECT a, b, c FROM t") == [(3, 2, 4)]
    chain = {("d",): Hint(renamed_from="c"), ("c",): Hint(renamed_from="a")}
    world.apply(want(ID, Column("b", INT), Column("c", INT), Column("d", INT), hints=chain))
    assert world.sql("SELECT b, c, d FROM t") == [(2, 3, 4)]


def test_a_new_column_may_take_the_name_that_a_rename_sets_free(world: World) -> None:
    filled(world, "id INT, a INT", "(1, 2)")
    hints = {("b",): Hint(renamed_from="a"), ("a",): Hint(using="a * 10")}
    world.apply(want(ID, Column("b", INT), Column("a", BIG), hints=hints))
    assert world.sql("SELECT a, b FROM t") == [(20, 2)]


def test_rename_that_changes_only_the_case(world: World) -> None:
    filled(world, "id INT, s STRUCT(x INT)", "(1, {'x': 2})")
    hints = {("S",): Hint(renamed_from="s"), ("S", "X"): Hint(renamed_from="x")}
    world.apply(want(ID, Column("S", struct(Column("X", INT))), hints=hints))
    live = world.live()
    assert live is not None
    assert live.columns[1] == Column("S", struct(Column("X", INT)))
    assert world.sql("SELECT s FROM t") == [({"X": 2},)]


def test_another_case_without_a_declared_rename_is_no_change(world: World) -> None:
    filled(world, "id INT PRIMARY KEY, Note VARCHAR, CHECK (Note <> ''), UNIQUE (note)")
    plan = world.plan(
        want(
            Column("ID", INT, nullable=False),
            Column("NOTE", TEXT),
            primary_key=("ID",),
            constraints=(Check("c", "NOTE <> ''"), Unique("u", ("NOTE",))),
        )
    )
    assert plan.steps == ()


# --- types ---


@pytest.mark.parametrize(
    ("old", "value", "new", "expected"),
    [
        ("INT", "5", BIG, 5),
        ("BIGINT", "5", INT, 5),
        ("VARCHAR", "' 12 '", INT, 12),
        ("INT", "5", TEXT, "5"),
        ("DOUBLE", "0.5", Float(32), 0.5),
        ("DECIMAL(10,2)", "1.50", Decimal(10, 1), 1.5),
        ("TIMESTAMP", "TIMESTAMP '2020-01-01'", Date(), None),
        ("DATE", "DATE '2020-01-01'", Timestamp(zone=False), None),
        ("VARCHAR", "'2020-01-01T10:00:00+02'", Timestamp(zone=True), None),
    ],
)
def test_type_change_at_the_top(
    world: World, old: str, value: str, new: object, expected: object
) -> None:
    filled(world, f"id INT, c {old}", f"(1, {value})", "(2, NULL)")
    plan = world.apply(want(ID, Column("c", new)))  # type: ignore[arg-type]
    assert rung(plan) is Rung.STEPS
    found = rows(world)
    assert found[1] == (2, None)
    assert expected is None or found[0][1] == pytest.approx(expected)


def test_narrowing_that_would_lose_is_blocked_with_the_rows(world: World) -> None:
    filled(world, "id INT PRIMARY KEY, c VARCHAR", "(1, '1.9')", "(2, '007')", "(3, 'x')")
    plan = world.plan(
        want(Column("id", INT, nullable=False), Column("c", INT), primary_key=("id",))
    )
    (finding,) = plan.findings
    assert (plan.status, finding.code, finding.count) == (Status.BLOCKED, "F201", 2)
    assert finding.witnesses == ({"id": "1", "c": "1.9"}, {"id": "3", "c": "x"})


def test_type_change_with_using_reads_other_columns(world: World) -> None:
    filled(world, "id INT, a VARCHAR, b VARCHAR", "(1, 'x', '7')")
    hints = {("a",): Hint(using="length(b) + id")}
    plan = world.apply(want(ID, Column("a", BIG), Column("b", TEXT), hints=hints))
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, 2, "7")]


def test_values_of_deleted_rows_do_not_matter(world: World) -> None:
    filled(world, "id INT, c VARCHAR", "(1, 'x')", "(2, '2')", "(3, 'y')")
    world.sql("DELETE FROM t WHERE id = 3; UPDATE t SET c = '1' WHERE id = 1")
    plan = world.apply(want(ID, Column("c", INT)))
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, 1), (2, 2)]


def test_a_row_that_comes_after_the_plan_is_never_lost(world: World) -> None:
    filled(world, "id INT, c VARCHAR", "(1, '1')")
    plan = world.plan(want(ID, Column("c", INT)))
    world.sql("INSERT INTO t VALUES (2, 'x')")
    with pytest.raises(EngineError, match="would be lost") as caught:
        world.run(plan)
    assert caught.value.code == "E227"
    assert rows(world) == [(1, "1"), (2, "x")]


def test_a_widening_that_a_value_does_not_fit_fails_whole(world: World) -> None:
    filled(world, "id INT, c DATE", "(1, DATE '5000000-01-01')")
    plan = world.plan(want(ID, Column("c", Timestamp(zone=False))))
    with pytest.raises(EngineError):
        world.run(plan)
    assert world.sql("SELECT c::VARCHAR FROM t") == [("5000000-01-01",)]


def test_expressions_that_read_each_other_need_a_rewrite(world: World) -> None:
    filled(world, "id INT, a VARCHAR, b VARCHAR", "(1, 'xyz', 'q')")
    hints = {("a",): Hint(using="length(b)"), ("b",): Hint(using="length(a)")}
    plan = world.apply(want(ID, Column("a", BIG), Column("b", BIG), hints=hints))
    assert rung(plan) is Rung.REWRITE
    assert rows(world) == [(1, 1, 3)]


@pytest.mark.parametrize(
    ("ddl", "rest"),
    [
        ("id INT, c INT, PRIMARY KEY (c)", {"primary_key": ("c",)}),
        ("id INT, c INT UNIQUE", {"constraints": (Unique("u", ("c",)),)}),
        ("id INT, c INT CHECK (c > 0)", {"constraints": (Check("k", "c > 0"),)}),
    ],
)
def test_type_change_under_a_key_or_check_is_a_rewrite_that_keeps_it(
    world: World, ddl: str, rest: dict[str, object]
) -> None:
    filled(world, ddl, "(1, 2)")
    required = "primary_key" in rest
    plan = world.apply(want(ID, Column("c", BIG, nullable=not required), **rest))
    assert rung(plan) is Rung.REWRITE
    assert plan.steps[0].why_not_cheaper
    with pytest.raises(Exception, match=r"(?i)constraint"):
        world.sql("INSERT INTO t VALUES (3, 2), (4, 2), (5, -1)")


def test_type_change_of_an_indexed_column_is_a_rewrite_and_of_another_is_not(world: World) -> None:
    filled(world, "id INT, a INT, b INT", "(1, 2, 3)")
    world.sql("CREATE INDEX i ON t (a, (b + 1))")
    columns = (Column("a", INT), Column("b", INT))
    assert rung(world.apply(want(Column("id", BIG), *columns))) is Rung.STEPS
    assert rung(world.apply(want(Column("id", BIG), Column("a", BIG), columns[1]))) is Rung.REWRITE
    assert "(b + 1)" in world.sql("SELECT expressions FROM duckdb_indexes()")[0][0]


def test_a_unique_index_is_carried_by_a_rewrite(world: World) -> None:
    filled(world, "id INT, a INT", "(1, 2)")
    world.sql("CREATE UNIQUE INDEX i ON t (a)")
    light = want(ID, Column("a", INT), Column("n", BIG), hints={("n",): Hint(default="7")})
    assert rung(world.apply(light)) is Rung.STEPS
    assert (
        rung(world.apply(want(Column("id", BIG), Column("a", INT), Column("n", BIG))))
        is Rung.REWRITE
    )
    with pytest.raises(Exception, match="Duplicate key"):
        world.sql("INSERT INTO t VALUES (9, 2, 3)")
    assert rows(world) == [(1, 2, 7)]


def test_type_change_keeps_default_comment_and_not_null(world: World) -> None:
    filled(world, "id INT, c INT NOT NULL DEFAULT 5", "(1, 2)")
    world.sql("COMMENT ON COLUMN t.c IS 'why'")
    world.apply(want(ID, Column("c", BIG, nullable=False, default="5", comment="why")))
    live = world.live()
    assert live is not None
    assert live.columns[1] == Column("c", BIG, nullable=False, default="5", comment="why")


def test_a_generated_column_is_carried_through_a_rewrite(world: World) -> None:
    filled(world, "id INT, a INT, g INT GENERATED ALWAYS AS (a + 1)", "(1, 2)")
    plan = world.apply(want(ID, Column("a", BIG), Column("g", INT)))
    assert rung(plan) is Rung.REWRITE
    world.sql("INSERT INTO t VALUES (2, 9)")
    assert rows(world) == [(1, 2, 3), (2, 9, 10)]


def test_a_collation_is_carried_through_a_rewrite(world: World) -> None:
    filled(world, "id INT, c VARCHAR COLLATE NOCASE", "(1, 'A')")
    plan = world.apply(want(NOTE, ID, Column("c", TEXT)), REORDER)
    assert rung(plan) is Rung.REWRITE
    assert world.sql("SELECT id FROM t WHERE c = 'a'") == [(1,)]


def test_a_collated_column_is_filled_by_a_rewrite_and_may_become_a_number(world: World) -> None:
    filled(world, "id INT, c VARCHAR COLLATE NOCASE", "(1, 'A')", "(2, NULL)")
    hints = {("c",): Hint(default="'7'")}
    plan = world.apply(want(ID, Column("c", TEXT, nullable=False), hints=hints))
    assert rung(plan) is Rung.REWRITE
    assert world.sql("SELECT id FROM t WHERE c = 'a'") == [(1,)]
    world.sql("DELETE FROM t WHERE id = 1")
    assert rung(world.apply(want(ID, Column("c", INT, nullable=False)))) is Rung.STEPS
    assert rows(world) == [(2, 7)]


# --- inside structs, lists and maps ---

NESTED = (
    "id INT, s STRUCT(x INT, y VARCHAR), l STRUCT(x INT)[], m MAP(VARCHAR, STRUCT(x INT))",
    "(1, {'x': 1, 'y': 'q'}, [{'x': 2}, NULL], MAP {'k': {'x': 3}})",
    "(2, NULL, NULL, NULL)",
    "(3, {'x': NULL, 'y': NULL}, [], MAP {})",
)


def nested(
    s: tuple[Column, ...] = (Column("x", INT), Column("y", TEXT)),
    l: tuple[Column, ...] = (Column("x", INT),),  # noqa: E741
    m: tuple[Column, ...] = (Column("x", INT),),
    **rest: object,
) -> object:
    columns = (
        ID,
        Column("s", struct(*s)),
        Column("l", array(struct(*l))),
        Column("m", map_of(TEXT, struct(*m))),
    )
    return want(*columns, **rest)  # type: ignore[arg-type]


def test_nested_add_rename_drop_and_widen_at_every_depth(world: World) -> None:
    filled(world, *NESTED)
    hints = {
        ("s", "z"): Hint(renamed_from="y"),
        ("l", "element", "xx"): Hint(renamed_from="x"),
        ("s", "n"): Hint(default="9"),
    }
    plan = world.apply(
        nested(
            (Column("x", BIG), Column("z", TEXT), Column("n", INT)),
            (Column("xx", BIG), Column("new", TEXT)),
            (Column("x", Float(64)), Column("y", INT)),
            hints=hints,
        )  # type: ignore[arg-type]
    )
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [
        (
            1,
            {"x": 1, "z": "q", "n": 9},
            [{"xx": 2, "new": None}, None],
            {"k": {"x": 3.0, "y": None}},
        ),
        (2, None, None, None),
        (3, {"x": None, "z": None, "n": 9}, [], {}),
    ]


def test_nested_drop(world: World) -> None:
    filled(world, *NESTED)
    plan = world.apply(nested((Column("y", TEXT),)))  # type: ignore[arg-type]
    assert plan.steps[0].destructive
    assert world.sql("SELECT s FROM t ORDER BY id") == [({"y": "q"},), (None,), ({"y": None},)]


def test_nested_order_follows_the_manifest_when_asked(world: World) -> None:
    filled(world, *NESTED)
    plan = world.apply(nested((Column("y", TEXT), Column("x", INT))), REORDER)  # type: ignore[arg-type]
    assert rung(plan) is Rung.STEPS
    assert world.sql("SELECT s FROM t WHERE id = 1") == [({"y": "q", "x": 1},)]


def test_element_key_and_value_change_their_type(world: World) -> None:
    filled(world, "id INT, l INT[], m MAP(INT, INT)", "(1, [1, NULL], MAP {1: 2, 3: NULL})")
    plan = world.apply(want(ID, Column("l", array(BIG)), Column("m", map_of(TEXT, BIG))))
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, [1, None], {"1": 2, "3": None})]


def test_nested_narrowing_is_proven_inside_lists_and_maps(world: World) -> None:
    filled(world, "id INT, l BIGINT[], m MAP(VARCHAR, BIGINT)")
    world.sql(
        "INSERT INTO t VALUES (1, [1, 3000000000], MAP {'a': 1}), (2, [2], MAP {'b': 1099511627776})"
    )
    plan = world.plan(want(ID, Column("l", array(INT)), Column("m", map_of(TEXT, INT))))
    assert sorted((f.path, f.count) for f in plan.findings) == [
        (("l", "element"), 1),
        (("m", "value"), 1),
    ]
    world.sql("UPDATE t SET l = [7], m = MAP {'c': 8}")
    world.apply(want(ID, Column("l", array(INT)), Column("m", map_of(TEXT, INT))))
    assert rows(world) == [(1, [7], {"c": 8}), (2, [7], {"c": 8})]


def test_map_keys_that_become_one_block(world: World) -> None:
    filled(world, "id INT, m MAP(VARCHAR, INT)", "(1, MAP {'1': 1, '01': 2})", "(2, MAP {'1': 1})")
    wanted = want(ID, Column("m", map_of(INT, INT)))
    plan = world.plan(wanted)
    assert [(f.code, f.path, f.count) for f in plan.findings] == [("F201", ("m", "key"), 1)]
    world.sql("DELETE FROM t WHERE id = 1")
    plan = world.plan(wanted)
    world.sql("INSERT INTO t VALUES (3, MAP {'7': 1, '007': 2})")
    with pytest.raises(EngineError):
        world.run(plan)
    assert world.sql("SELECT m FROM t WHERE id = 3") == [({"7": 1, "007": 2},)]


# --- rules ---


def test_nullability_both_ways(world: World) -> None:
    filled(world, "id INT, c INT", "(1, 2)", "(2, NULL)")
    required = want(ID, Column("c", INT, nullable=False))
    plan = world.plan(required)
    assert [(f.code, f.count) for f in plan.findings] == [("F203", 1)]
    hints = {("c",): Hint(default="id * 100")}
    plan = world.apply(want(ID, Column("c", INT, nullable=False), hints=hints))
    assert rung(plan) is Rung.STEPS
    assert rows(world) == [(1, 2), (2, 200)]
    assert rung(world.apply(want(ID, Column("c", INT)))) is Rung.METADATA


def test_required_right_after_an_update_by_someone_else(world: World) -> None:
    filled(world, "id INT, c INT", "(1, NULL)")
    world.sql("UPDATE t SET c = 5")
    world.apply(want(ID, Column("c", INT, nullable=False)))


def test_defaults_and_comments(world: World) -> None:
    filled(world, "id INT, c INT DEFAULT 3")
    world.sql("CREATE INDEX i ON t (c)")
    plan = world.apply(want(ID, Column("c", INT, default="4", comment="it's"), comment="a table"))
    assert rung(plan) is Rung.METADATA
    live = world.live()
    assert live is not None
    assert (live.comment, live.columns[1].comment) == ("a table", "it's")
    world.apply(want(ID, Column("c", INT, comment=""), comment=""))
    live = world.live()
    assert live is not None
    assert (live.comment, live.columns[1]) == (None, Column("c", INT))


def test_primary_key_comes_natively_and_changes_by_rewrite(world: World) -> None:
    filled(world, "id INT, c INT", "(1, 2)", "(2, 2)")
    plan = world.apply(
        want(Column("id", INT, nullable=False), Column("c", INT), primary_key=("id",))
    )
    assert rung(plan) is Rung.STEPS
    both = want(
        Column("id", INT, nullable=False),
        Column("c", INT, nullable=False),
        primary_key=("id", "c"),
    )
    assert rung(world.apply(both)) is Rung.REWRITE
    assert rung(world.apply(want(ID, Column("c", INT)))) is Rung.REWRITE


@pytest.mark.parametrize("declared", ["id", "ID", "number"])
def test_an_undeclared_primary_key_that_stays_keeps_its_columns_required(
    world: World, declared: str
) -> None:
    filled(world, "id INT PRIMARY KEY, c INT", "(1, 2)")
    hints = {("number",): Hint(renamed_from="id")} if declared == "number" else None
    wanted = want(Column(declared, INT), Column("c", INT), NOTE, hints=hints)
    plan = world.apply(wanted, Policy())
    assert "F103" in [f.code for f in plan.findings]
    assert rung(plan) is Rung.METADATA
    live = world.live()
    assert live is not None
    assert len(live.primary_key) == 1
    assert [c.nullable for c in live.columns] == [False, True, True]
    done = plan.renames
    assert rung(world.apply(wanted, EVERYTHING, done)) is Rung.REWRITE
    live = world.live()
    assert live is not None
    assert live.primary_key == ()
    assert [c.nullable for c in live.columns] == [True, True, True]


def test_a_primary_key_over_duplicates_or_nulls_is_blocked(world: World) -> None:
    filled(world, "id INT, c INT", "(1, 1)", "(1, 2)", "(NULL, 3)", "(4, 4)")
    plan = world.plan(
        want(Column("id", INT, nullable=False), Column("c", INT), primary_key=("id",))
    )
    assert {f.code: f.count for f in plan.findings} == {"F203": 1, "F301": 2}


def test_check_and_unique_come_and_go_by_rewrite(world: World) -> None:
    filled(world, "id INT, c INT", "(1, 2)", "(2, NULL)")
    rules = (Check("positive", "c > 0"), Unique("one", ("id",)))
    plan = world.apply(want(ID, Column("c", INT), constraints=rules))
    assert rung(plan) is Rung.REWRITE
    with pytest.raises(Exception, match="CHECK"):
        world.sql("INSERT INTO t VALUES (3, -1)")
    with pytest.raises(Exception, match="Duplicate key"):
        world.sql("INSERT INTO t VALUES (1, 1)")
    assert rung(world.apply(want(ID, Column("c", INT)))) is Rung.REWRITE
    world.sql("INSERT INTO t VALUES (1, -1)")


def test_a_check_that_rows_break_is_blocked_with_them(world: World) -> None:
    filled(world, "id INT, c INT", "(1, -2)", "(2, NULL)", "(3, 3)")
    plan = world.plan(want(ID, Column("c", INT), constraints=(Check("positive", "c > 0"),)))
    (finding,) = plan.findings
    assert (finding.code, finding.count) == ("F302", 1)
    assert finding.witnesses == ({"rowid": "0", "id": "1", "c": "-2"},)


def test_reorder_is_a_rewrite(world: World) -> None:
    filled(world, "id INT, a INT, b VARCHAR", "(1, 2, 'x')")
    plan = world.apply(want(Column("b", TEXT), ID, Column("a", INT)), REORDER)
    assert rung(plan) is Rung.REWRITE
    assert rows(world) == [("x", 1, 2)]


def test_a_rewrite_waits_for_permission(world: World) -> None:
    filled(world, "id INT, c INT")
    plan = world.plan(want(ID, Column("c", INT), constraints=(Check("k", "c > 0"),)), Policy())
    assert (plan.status, [f.code for f in plan.findings]) == (Status.BLOCKED, ["F501"])


# --- foreign keys ---


def test_a_table_that_others_refer_to_takes_only_what_duckdb_can_do(world: World) -> None:
    world.sql("CREATE TABLE t (id INT PRIMARY KEY, c INT)")
    world.sql("CREATE TABLE child (t_id INT REFERENCES t (id))")
    world.sql("INSERT INTO t VALUES (1, 2); INSERT INTO child VALUES (1)")
    key = Column("id", INT, nullable=False)
    added = want(
        key,
        Column("c", INT, default="3"),
        Column("n", INT),
        Column("filled", BIG),
        primary_key=("id",),
        hints={("filled",): Hint(default="8")},
    )
    world.apply(added)
    assert rows(world) == [(1, 2, None, 8)]
    for wanted in (
        want(key, Column("c", BIG), primary_key=("id",)),
        want(key, primary_key=("id",)),
        want(key, Column("d", INT), primary_key=("id",), hints={("d",): Hint(renamed_from="c")}),
        want(key, Column("c", INT), primary_key=("id",), constraints=(Check("k", "c > 0"),)),
    ):
        plan = world.plan(wanted)
        assert plan.status is Status.BLOCKED
        assert "main.child" in next(f.message for f in plan.findings if f.code == "F601")


def test_a_table_with_a_foreign_key_is_never_rewritten(world: World) -> None:
    world.sql("CREATE TABLE parent (id INT PRIMARY KEY)")
    world.sql("CREATE TABLE t (id INT, p INT REFERENCES parent (id), c INT)")
    columns = (ID, Column("p", INT))
    assert rung(world.apply(want(*columns, Column("c", BIG)))) is Rung.STEPS
    for wanted in (
        want(*columns, Column("c", BIG), constraints=(Check("k", "c > 0"),)),
        want(ID, Column("p", BIG), Column("c", BIG)),
    ):
        plan = world.plan(wanted, EVERYTHING)
        assert plan.status is Status.BLOCKED
        assert "foreign key" in next(f.message for f in plan.findings if f.code == "F601")
