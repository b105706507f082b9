"""Delta's rules without an engine: expressions, moves, what it cannot keep, what it never does."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from backends.spark.helpers import FREE, column, columns, hinted
from instar.backends.registry import rules_for
from instar.backends.spark.delta_inspect import check_expression, check_sql
from instar.backends.spark.delta_moves import level_moves, rename_order
from instar.backends.spark.delta_rules import DeltaRules
from instar.backends.spark.delta_sql import not_null_name, parse_path
from instar.backends.spark.expressions import (
    canonical,
    changing,
    references,
    renamed,
)
from instar.core.changes import FIRST
from instar.core.findings import Finding, Severity
from instar.core.plan import Rung
from instar.core.planner import Draft, draft
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Check, Hint, Table, TableName, Wanted
from instar.core.types import Column, path_text, struct
from instar.expressions import BadExpression

RULES = DeltaRules()
NAME = TableName("s", "t")
DROP = Policy(ColumnConflict.DROP)
MODERN = {
    "delta.columnMapping.mode": "name",
    "delta.enableTypeWidening": "true",
    "features": "clustering",
}


def _errors(sketch: Draft) -> list[Finding]:
    return [f for f in sketch.findings if f.severity is Severity.ERROR]


@pytest.mark.parametrize(
    "text",
    ["a, b", "a; DROP TABLE x", "a AS b", "(SELECT 1)", "a FROM t", "a WHERE b", "", "1 +", "*"],
)
def test_only_one_expression_is_an_expression(text: str) -> None:
    with pytest.raises(BadExpression):
        canonical(text)


def test_an_expression_has_one_spelling_and_says_what_it_reads() -> None:
    assert canonical("((a>=0))") == canonical("( a >= 0 )") == "a >= 0"
    assert references("a.b.c + size(transform(xs, x -> x.z + w))") == (
        ("a", "b", "c"),
        ("xs",),
        ("w",),
    )
    assert renamed("a > 0 AND s.a > 1", lambda p: ("b", *p[1:]) if p[0] == "a" else p) == (
        "b > 0 AND s.a > 1"
    )
    assert renamed("a.b.c.d.e.f > 0", lambda p: (*p[:-1], "g")) == "a.b.c.d.e.g > 0"
    assert [changing(s) for s in ("uuid()", "rand() + 1", "a + 1")] == ["uuid", "rand", None]


@pytest.mark.parametrize("name", [TableName("s", "my orders"), TableName("Größe", "t")])
def test_a_name_that_the_catalog_refuses_blocks_the_plan(name: TableName) -> None:
    table = Table(name, columns(a="int"), "delta")
    assert [f.code for f in _errors(draft(Wanted(table), None, RULES, FREE))] == ["F601"]
    there = draft(Wanted(table), replace(table, extras=MODERN), RULES, FREE)
    assert not there.findings, "another catalog took it"


@pytest.mark.parametrize("there", ["partition_by", "cluster_by"])
def test_a_layout_that_is_not_declared_and_stays_leaves_no_room_for_another(there: str) -> None:
    live = Table(NAME, columns(a="int", b="int"), "delta", extras=MODERN)
    wished = "cluster_by" if there == "partition_by" else "partition_by"
    wanted = Wanted(replace(live, **{wished: ("b",)}))
    live = replace(live, **{there: ("a",)})
    (found,) = _errors(draft(wanted, live, RULES, Policy(allow_rewrite=True)))
    assert (found.code, found.key) == ("F601", wished)
    assert "partitioned by" in found.message
    assert not _errors(draft(wanted, live, RULES, FREE)), "it goes where that is allowed"


def test_expressions_follow_a_rename_however_they_spell_the_column() -> None:
    check = Check("deep", "S.AA > 1")
    live = Table(NAME, columns(qty="int", s="struct<Aa: int>"), "delta", constraints=(check,))
    live = replace(live, extras=MODERN | {"delta.constraints.deep": "( S.AA > 1 ) IS NOT FALSE"})
    wish = columns(amount="int", qty="string", s="struct<b: int>")
    hints = {
        "amount": Hint(renamed_from="qty"),
        "qty": Hint(default="CAST(QTY AS STRING)"),
        "s__b": Hint(renamed_from="Aa"),
    }
    wanted = hinted(replace(live, columns=wish), **hints)
    text = "\n".join(
        sql for step in RULES.steps(draft(wanted, live, RULES, FREE).job) for sql in step.sql
    )
    assert "CAST(amount AS STRING)" in text
    assert "CAST(QTY" not in text
    assert "S.b > 1" in text


@pytest.mark.parametrize(
    "text", ["a >= 0", "a IS NOT FALSE", "NOT a", "a OR b", "s.a < 5 OR s.v LIKE 'a%'"]
)
def test_a_check_comes_back_as_it_was_said(text: str) -> None:
    # Delta puts blanks around every token of what it keeps.
    kept = check_sql(canonical(text)).replace("(", "( ").replace(")", " )").replace(".", " . ")
    assert check_expression(kept) == canonical(text)


def test_moves_reach_every_order_of_four_with_the_fewest_moves() -> None:
    for wish in itertools.permutations("abcd"):
        now = list("abcd")
        moves = level_moves(now, wish)
        for name, after in moves:
            now.remove(name)
            now.insert(0 if after == FIRST else now.index(after) + 1, name)
        assert tuple(now) == wish
        assert len(moves) <= 3
    assert level_moves("abcd", "dabc") == [("d", FIRST)]


@pytest.mark.parametrize(
    "renames",
    [{"a": "b", "b": "a"}, {"a": "A"}, {"a": "b", "b": "c", "c": "a"}, {"a": "b", "b": "d"}],
)
def test_renames_never_meet_a_taken_name(renames: dict[str, str]) -> None:
    origin = {name: name for name in "abc"}
    for old, new in rename_order(renames, "abc"):
        assert new.casefold() not in {n.casefold() for n in origin}
        origin[new] = origin.pop(old)
    assert {was: now for now, was in origin.items()} == {n: renames.get(n, n) for n in "abc"}


def test_paths_and_names_of_constraints_survive_odd_names() -> None:
    for path in (("a",), ("s", "b c"), ("x.y", "z`"), ("element",)):
        assert parse_path(path_text(path)) == path
    assert not_null_name(("a b",)) != not_null_name(("a_b",))
    assert not_null_name(("A",)) == not_null_name(("a",))


def test_what_delta_keeps_otherwise_is_said() -> None:
    table = Table(
        NAME,
        (
            column("id", "!int"),
            column("day", "interval day to second"),
            column("xs", "array<struct<a: int NOT NULL>>"),
        ),
        primary_key=("ID",),
        properties={"delta.columnMapping.mode": "name", "delta.enableChangeDataFeed": "true"},
    )
    wanted, findings = RULES.normalize(Wanted(table), None)
    assert [(f.code, f.severity) for f in findings] == [
        ("F601", Severity.ERROR),
        ("F604", Severity.WARNING),
        ("F603", Severity.WARNING),
    ]
    assert wanted.table.primary_key == ("id",)
    assert wanted.table.change_tracking is True
    assert dict(wanted.table.properties) == {}


def test_a_default_inside_a_struct_is_left_out_and_said() -> None:
    """Delta answers OK to `ALTER COLUMN s.x SET DEFAULT`, which then has no effect."""
    nested = Column("s", struct(column("x", "int", default="5")))
    wanted, findings = RULES.normalize(Wanted(Table(NAME, (nested,))), None)
    assert [(f.code, f.path) for f in findings] == [("F604", ("s", "x"))]
    kept = wanted.table.column(("s", "x"))
    assert kept is not None
    assert kept.default is None


def test_the_last_field_of_a_struct_goes_behind_the_new_one() -> None:
    """DELTA_DROP_COLUMN_ON_SINGLE_FIELD_SCHEMA otherwise; and a struct without fields is refused."""
    live = Table(NAME, columns(s="struct<a: int>"), extras=MODERN)
    sketch = draft(Wanted(Table(NAME, columns(s="struct<b: int>"))), live, RULES, FREE)
    assert [s.kind for s in RULES.steps(sketch.job)] == ["add", "drop"]
    _, findings = RULES.normalize(Wanted(Table(NAME, columns(s="struct<>"))), live)
    assert [(f.code, f.severity) for f in findings] == [("F601", Severity.ERROR)]


@pytest.mark.parametrize("format_", ["duckdb", "delta", "iceberg", "postgres", "snowflake"])
def test_every_engine_asks_in_the_same_words_before_a_column_goes(format_: str) -> None:
    on_spark = format_ in ("delta", "iceberg")
    rules = rules_for("spark" if on_spark else format_, format_)
    live, wanted = (Table(NAME, columns(**dict.fromkeys(names, "string"))) for names in ("AB", "A"))
    job = draft(Wanted(wanted), replace(live, extras=MODERN), rules, DROP).job
    (question,) = {step.confirm for step in rules.steps(job) if step.confirm}
    assert question == "drops B: the values are lost"


def test_a_column_of_the_clustering_is_released_before_it_goes() -> None:
    live = Table(NAME, columns(a="int", gone="int"), cluster_by=("a", "gone"), extras=MODERN)
    wish = Table(NAME, columns(a="int"), cluster_by=("a",))
    sketch = draft(Wanted(wish), live, RULES, FREE)
    made = RULES.steps(sketch.job)
    assert [s.kind for s in made] == ["cluster", "drop", "cluster"]
    assert made[0].sql == ("ALTER TABLE `spark_catalog`.`s`.`t` CLUSTER BY NONE",)


@pytest.mark.parametrize(
    "key",
    [
        "delta.rowTracking.materializedRowIdColumnName",
        "delta.rowTracking.materializedRowCommitVersionColumnName",
        "delta.inCommitTimestampEnablementVersion",
    ],
)
def test_what_belongs_to_one_table_alone_is_no_wish(key: str) -> None:
    table = Table(NAME, columns(a="int"), properties={key: "_x", "delta.enableRowTracking": "true"})
    wanted, findings = RULES.normalize(Wanted(table), None)
    assert [f.code for f in findings] == ["F604"]
    assert dict(wanted.table.properties) == {"delta.enableRowTracking": "true"}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (hinted(Table(NAME, columns(a="string")), a=Hint(using="uuid()")), "each time: uuid"),
        (hinted(Table(NAME, columns(a="int")), a=Hint(using="1; DROP TABLE t")), "cannot be read"),
        (
            Wanted(Table(NAME, columns(a="int"), constraints=(Check("c", "a > 0, 1"),))),
            "cannot be read",
        ),
        (
            Wanted(Table(NAME, columns(a="date"), constraints=(Check("c", "a < now()"),))),
            "each time: now",
        ),
        (Wanted(Table(NAME, columns(a="int"), cluster_by=("b",))), "not one of the columns"),
        (
            Wanted(Table(NAME, columns(a="int", b="int"), cluster_by=("a",), partition_by=("b",))),
            "never both",
        ),
    ],
)
def test_what_cannot_be_meant_blocks(wanted: Wanted, words: str) -> None:
    _, findings = RULES.normalize(wanted, None)
    assert any(words in f.message and f.severity is Severity.ERROR for f in findings)


ODD_BESIDE_LIMIT = [
    (None, "struct<`b c`: int, d: varchar(3)>", "b c"),
    (None, "array<struct<a: int, größe: struct<d: char(3)>>>", "größe"),
    (None, "map<varchar(3), struct<`1`: int>>", "1"),
    ("struct<`b c`: int>", "struct<`b c`: int, d: varchar(3)>", "b c"),
    ("struct<d: varchar(3)>", "struct<d: varchar(3), `b.c`: int>", "b.c"),
    ("struct<`b c`: int>", "struct<d: varchar(3)>", "b c"),
    (None, "struct<b_c: int, 1a: int, left: int, d: varchar(3)>", None),
    (None, "struct<`b c`: int, d: string>", None),
    ("struct<`b c`: int, d: varchar(3)>", "struct<`b c`: int, d: varchar(3)>", None),
    ("struct<`b c`: int, d: varchar(3)>", "struct<b_c: int, d: varchar(3)>", None),
]


@pytest.mark.parametrize(("live", "wanted", "name"), ODD_BESIDE_LIMIT)
def test_an_odd_name_beside_nested_text_with_a_limit_blocks(
    live: str | None, wanted: str, name: str | None
) -> None:
    """Spark writes such a type down without quotes and cannot read it back."""
    there = Table(NAME, columns(v=live), extras=MODERN) if live else None
    hints = {("v", "b_c"): Hint(renamed_from="b c")}
    sketch = draft(Wanted(Table(NAME, columns(v=wanted)), hints), there, RULES, FREE)
    said = [f.message for f in sketch.findings if f.code == "F601"]
    assert bool(said) == (name is not None)
    assert all(f"a field '{name}'" in words for words in said)


LIVE = Table(
    NAME,
    (
        *columns(
            id="!int",
            f="float",
            n="int",
            d="string",
            s="struct<v: varchar(3), a: int>",
            xs="array<struct<p: int>>",
        ),
        column("g", "int", generated="n + 1"),
    ),
    partition_by=("d",),
    extras=MODERN,
)
PLAIN = Table(
    NAME, tuple(c for c in LIVE.columns if c.name != "g"), extras=MODERN, partition_by=("d",)
)

CELLS = [
    ({"n": "bigint"}, PLAIN, Rung.METADATA),
    ({"n": "string"}, PLAIN, Rung.REWRITE),
    ({"f": "double"}, PLAIN, Rung.REWRITE),
    ({"n": None}, PLAIN, Rung.METADATA),
    ({"d": None}, PLAIN, Rung.REWRITE),
    ({"s": "struct<v: varchar(5), a: int>"}, PLAIN, Rung.REWRITE),
    ({"s": "struct<v: varchar(3), a: bigint>"}, PLAIN, Rung.METADATA),
    ({"s": "struct<v: varchar(3), a: int, b: int>"}, PLAIN, Rung.REWRITE),
    ({"xs": "array<struct<p: int, q: int>>"}, PLAIN, Rung.METADATA),
    ({"n": "!int"}, PLAIN, Rung.STEPS),
    ({"n": "bigint"}, LIVE, Rung.NEVER),
    ({"n": None}, LIVE, Rung.NEVER),
    ({"f": "double"}, LIVE, Rung.NEVER),
]


@pytest.mark.parametrize(("change", "live", "rung"), CELLS, ids=lambda v: str(v)[:40])
def test_the_rung_of_each_cell(change: dict[str, str | None], live: Table, rung: Rung) -> None:
    wish = tuple(
        column(c.name, str(change[c.name])) if change.get(c.name) else c
        for c in live.columns
        if change.get(c.name, "") is not None
    )
    parts = tuple(p for p in live.partition_by if p in {c.name for c in wish})
    sketch = draft(Wanted(Table(NAME, wish, partition_by=parts)), live, RULES, FREE)
    assert sketch.job.rung is rung
    assert sketch.job.why or rung is Rung.METADATA


def test_a_rewrite_switches_on_nothing_that_only_changes_in_place_need() -> None:
    """The table is written anew: what mapping and widening are for happens on the way."""
    live = Table(NAME, columns(a="int", b="int", gone="int"), "delta")
    widened = draft(Wanted(Table(NAME, columns(a="bigint", b="int"))), live, RULES, FREE)
    assert {n.partition(" is ")[0] for n in widened.irreversible} == {
        "type widening",
        "column mapping",
    }
    text = hinted(Table(NAME, columns(a="bigint", b="string")))
    rewritten = draft(text, live, RULES, FREE)
    assert (rewritten.job.rung, rewritten.irreversible) == (Rung.REWRITE, ())
    assert [s.kind for s in RULES.steps(rewritten.job)] == ["rewrite"]


@pytest.mark.parametrize("live", [None, Table(NAME, columns(a="array<struct<x: int>>"))])
def test_not_null_inside_an_array_is_said_whether_or_not_the_field_is_there(
    live: Table | None,
) -> None:
    wish = Table(NAME, columns(a="array<struct<x: int NOT NULL>>"))
    kept, findings = RULES.normalize(Wanted(wish), live)
    assert [(f.code, f.path) for f in findings] == [("F604", ("a", "element", "x"))]
    found = kept.table.column(("a", "element", "x"))
    assert found is not None
    assert found.nullable
