"""Parquet's rules without an engine: rungs, findings, and what files may be read as."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from backends.spark.lake import EVERYTHING, IN_ORDER, col
from instar.backends.spark.parquet_overlay import misread, reads_right
from instar.backends.spark.parquet_rules import ParquetRules
from instar.backends.spark.types import from_spark
from instar.core.plan import Rung
from instar.core.planner import Draft, draft
from instar.core.policy import Policy
from instar.core.schema import Check, Hint, Table, TableName, Wanted
from instar.core.types import Column

NAME = TableName("db", "t")
RULES = ParquetRules()


def table(*columns: Column, external: bool = True, exists: str = "", **more: object) -> Table:
    extras = MappingProxyType(
        {"external": "yes" if external else "no", "exists_defaults": exists, "location": "/w/t"}
    )
    return Table(NAME, columns, "parquet", extras=extras, **more)  # type: ignore[arg-type]


def sketch(
    live: Table,
    wanted: Table,
    hints: dict[tuple[str, ...], Hint] | None = None,
    policy: Policy = EVERYTHING,
) -> Draft:
    return draft(Wanted(wanted, hints or {}), live, RULES, policy)


CELLS = [
    ("int", "bigint", Rung.OVERLAY),
    ("tinyint", "decimal(10,0)", Rung.OVERLAY),
    ("int", "double", Rung.OVERLAY),
    ("int", "decimal(12,2)", Rung.OVERLAY),
    ("int", "decimal(9,0)", Rung.REWRITE),
    ("int", "smallint", Rung.REWRITE),
    ("int", "string", Rung.REWRITE),
    ("int", "float", Rung.REWRITE),
    ("bigint", "double", Rung.REWRITE),
    ("bigint", "decimal(19,0)", Rung.REWRITE),
    ("bigint", "decimal(22,2)", Rung.OVERLAY),
    ("float", "double", Rung.OVERLAY),
    ("decimal(10,2)", "decimal(14,4)", Rung.OVERLAY),
    ("decimal(10,2)", "decimal(10,4)", Rung.REWRITE),
    ("decimal(10,2)", "bigint", Rung.REWRITE),
    ("decimal(10,0)", "bigint", Rung.OVERLAY),
    ("date", "timestamp_ntz", Rung.OVERLAY),
    ("date", "timestamp", Rung.REWRITE),
    ("timestamp", "timestamp_ntz", Rung.REWRITE),
    ("string", "binary", Rung.OVERLAY),
    ("varchar(3)", "varchar(5)", Rung.OVERLAY),
    ("varchar(5)", "varchar(3)", Rung.REWRITE),
    ("struct<a:int>", "struct<a:int,b:string>", Rung.OVERLAY),
    ("struct<a:int,b:int>", "struct<a:int>", Rung.REWRITE),
    ("array<struct<a:int>>", "array<struct<a:bigint,b:int>>", Rung.OVERLAY),
    ("map<string,int>", "map<string,bigint>", Rung.OVERLAY),
    ("map<int,int>", "map<bigint,int>", Rung.REWRITE),
]


@pytest.mark.parametrize(("old", "new", "rung"), CELLS)
def test_each_cell_takes_the_cheapest_rung(old: str, new: str, rung: Rung) -> None:
    live, wanted = table(col("c", old)), table(col("c", new))
    assert sketch(live, wanted).job.rung is rung
    managed = sketch(table(col("c", old), external=False), wanted)
    assert managed.job.rung is Rung.REWRITE
    catalog_only = sketch(
        table(col("c", old), col("d", "int"), exists="d"), table(col("c", new), col("d", "int"))
    )
    assert catalog_only.job.rung is Rung.REWRITE


def test_columns() -> None:
    live = table(col("a", "int"), col("b", "int"))
    added = table(col("a", "int"), col("b", "int"), col("c", "int"))
    assert sketch(live, added).job.rung is Rung.METADATA
    assert sketch(live, added, {("c",): Hint(default="-1")}).job.rung is Rung.METADATA
    assert sketch(live, added, {("c",): Hint(default="cast('1' as int)")}).job.rung is Rung.METADATA
    assert sketch(live, added, {("c",): Hint(default="year(now())")}).job.rung is Rung.REWRITE
    assert sketch(live, added, {("c",): Hint(using="a + 1")}).job.rung is Rung.REWRITE
    assert sketch(live, table(col("a", "int"))).job.rung is Rung.REWRITE
    renamed = table(col("a", "int"), col("x", "int"))
    assert sketch(live, renamed, {("x",): Hint(renamed_from="b")}).job.rung is Rung.REWRITE
    turned = table(col("b", "int"), col("a", "int"))
    assert sketch(live, turned, policy=IN_ORDER).job.rung is Rung.OVERLAY
    partitioned = table(col("a", "int"), col("b", "int"), partition_by=("a",))
    assert sketch(live, partitioned).job.rung is Rung.REWRITE


def test_comments() -> None:
    live = table(col("a", "int"), col("s", "struct<x:int>"))
    top = table(col("a", "int", comment="c"), col("s", "struct<x:int>"))
    deep = table(col("a", "int"), col("s", "struct<x:int COMMENT 'c'>"))
    assert sketch(live, top).job.rung is Rung.METADATA
    assert sketch(live, deep).job.rung is Rung.OVERLAY


def test_what_parquet_does_not_keep_is_said_and_left_out() -> None:
    wanted = table(
        col("b", "int", nullable=False),
        col("s", "struct<x: int NOT NULL>"),
        col("P", "date", default="current_date()"),
        primary_key=("B",),
        partition_by=("p",),
        cluster_by=("b",),
        constraints=(Check("positive", "b > 0"),),
    )
    kept, findings = RULES.normalize(Wanted(wanted), None)
    assert [f.code for f in findings] == ["F604", "F603", "F603", "F603", "F604"]
    assert kept.table.columns == (col("b", "int"), col("s", "struct<x: int>"), col("P", "date"))
    assert kept.table.partition_by == ("P",)
    assert kept.table.primary_key == ("b",)


@pytest.mark.parametrize(
    "wanted",
    [
        Table(TableName("db", "odd name"), (col("a", "int"),)),
        table(col("a", "timestamp"), partition_by=("days(a)",)),
        table(col("a", "struct<>")),
        table(col("a", "struct<`b c`: int, d: varchar(3)>")),
    ],
)
def test_what_parquet_cannot_hold_blocks(wanted: Table) -> None:
    assert "F601" in [f.code for f in draft(Wanted(wanted), None, RULES, Policy()).findings]


def test_files_are_believed_and_not_the_declared_types() -> None:
    files = (col("a", "int"), col("s", "struct<x:int,old:string>"))
    fine = (col("a", "bigint"), col("s", "struct<x:double>"), col("n", "int"))
    assert list(misread(files, fine, frozenset({("n",)}), str.casefold)) == []
    narrow = (col("a", "smallint"),)
    assert "INT in files" in next(misread(files, narrow, frozenset(), str.casefold))
    back = (col("s", "struct<x:int,old:string>"),)
    assert "already hold" in next(misread(files, back, frozenset({("s", "old")}), str.casefold))
    spelled = (col("A", "int"),)
    assert "spell" in next(misread(files, spelled, frozenset(), str.casefold))


def test_a_value_never_reads_as_another_kind() -> None:
    kinds = ["boolean", "int", "float", "date", "timestamp", "array<int>", "struct<a:int>"]
    for old in kinds:
        right = {new for new in kinds if reads_right(from_spark(old), from_spark(new))}
        assert right == {old}


@pytest.mark.parametrize(
    ("type_", "rung"),
    [
        ("timestamp", Rung.METADATA),
        ("timestamp_ntz", Rung.OVERLAY),
        ("variant", Rung.OVERLAY),
        ("array<timestamp_ntz>", Rung.OVERLAY),
        ("struct<`a, b`: int>", Rung.OVERLAY),
        ("struct<a: map<string, int>>", Rung.METADATA),
    ],
)
def test_a_new_column_that_hive_does_not_know(type_: str, rung: Rung) -> None:
    """ALTER fails on a table that Hive can read; one that it cannot read takes any column."""
    new = col("n", type_)
    assert sketch(table(col("c", "int")), table(col("c", "int"), new)).job.rung is rung
    unreadable = (col("c", "int"), col("t", "timestamp_ntz"))
    assert sketch(table(*unreadable), table(*unreadable, new)).job.rung is Rung.METADATA
    if rung is Rung.OVERLAY:
        filled = {("n",): Hint(default="NULL")}
        found = sketch(table(col("c", "int")), table(col("c", "int"), new), filled)
        assert found.job.rung is Rung.REWRITE
