"""Iceberg's rules without an engine: rungs, findings, spellings, and the order of statements."""

from __future__ import annotations

import json
from contextlib import nullcontext
from unittest.mock import Mock

import pytest

from backends.spark.lake import EVERYTHING, IN_ORDER, col
from instar.backends.spark.iceberg_capability import FOLDERS
from instar.backends.spark.iceberg_metadata import commits_since, table_from_metadata
from instar.backends.spark.iceberg_reader import MetadataReader
from instar.backends.spark.iceberg_rules import IcebergRules
from instar.backends.spark.iceberg_transforms import parse_sort, parse_transform
from instar.core.findings import Severity
from instar.core.plan import Cost, Rung, TablePlan
from instar.core.planner import Draft, draft, finish
from instar.core.policy import Policy
from instar.core.schema import Check, Hint, Table, TableName, Wanted
from instar.core.types import Column
from instar.errors import EngineError
from instar.spark import SparkSqlError

NAME = TableName("db", "t")
RULES = IcebergRules()


def table(*columns: Column, **more: object) -> Table:
    return Table(NAME, columns, "iceberg", **more)  # type: ignore[arg-type]


def sketch(live: Table, wanted: Table, hints: dict[tuple[str, ...], Hint] | None = None) -> Draft:
    return draft(Wanted(wanted, hints or {}), live, RULES, EVERYTHING)


def planned(
    live: Table, wanted: Table, hints: dict[tuple[str, ...], Hint] | None = None
) -> TablePlan:
    return finish(sketch(live, wanted, hints), (), Cost(), RULES)


def test_a_session_without_the_catalog_is_told_what_to_set() -> None:
    refused = SparkSqlError("Nested databases", condition=None, sqlstate=None, detail="ice.main")
    handle = Mock()
    handle.errors = nullcontext
    handle.run.side_effect = refused
    handle.session.conf.get.return_value = None
    with pytest.raises(EngineError, match="no catalog 'ice'") as caught:
        MetadataReader(handle, "ice").tables("main")
    assert "spark.sql.catalog.ice" in (caught.value.hint or "")
    handle.session.conf.get.return_value = "org.apache.iceberg.spark.SparkCatalog"
    with pytest.raises(SparkSqlError, match="Nested"):
        MetadataReader(handle, "ice").tables("main")


OLD = "struct<a:int,b:string>"
CELLS = [
    ("add at the top", "int", "int", "+x int", Rung.METADATA),
    ("int to bigint", "int", "bigint", "", Rung.METADATA),
    ("float to double", "float", "double", "", Rung.METADATA),
    ("decimal precision", "decimal(9,2)", "decimal(12,2)", "", Rung.METADATA),
    ("decimal scale", "decimal(9,2)", "decimal(12,4)", "", Rung.REWRITE),
    ("int to double", "int", "double", "", Rung.REWRITE),
    ("int to text", "int", "string", "", Rung.REWRITE),
    ("bigint to int", "bigint", "int", "", Rung.REWRITE),
    ("date to timestamp", "date", "timestamp_ntz", "", Rung.REWRITE),
    ("struct: add", OLD, "struct<a:int,b:string,c:date>", "", Rung.METADATA),
    ("struct: drop", OLD, "struct<b:string>", "", Rung.METADATA),
    ("struct: drop all but a new one", OLD, "struct<z:int>", "", Rung.METADATA),
    ("struct: widen", OLD, "struct<a:bigint,b:string>", "", Rung.METADATA),
    ("struct: narrow", "struct<a:bigint>", "struct<a:int>", "", Rung.REWRITE),
    ("element: widen", "array<int>", "array<bigint>", "", Rung.METADATA),
    ("element: add", "array<struct<a:int>>", "array<struct<a:int,b:int>>", "", Rung.METADATA),
    ("value: widen", "map<string,float>", "map<string,double>", "", Rung.METADATA),
    ("value: to text", "map<string,int>", "map<string,string>", "", Rung.REWRITE),
    ("key: widen", "map<int,int>", "map<bigint,int>", "", Rung.REWRITE),
    ("key: add", "map<struct<a:int>,int>", "map<struct<a:int,b:int>,int>", "", Rung.REWRITE),
]


@pytest.mark.parametrize(("_", "old", "new", "more", "rung"), CELLS, ids=[c[0] for c in CELLS])
def test_each_cell_takes_the_cheapest_rung(
    _: str, old: str, new: str, more: str, rung: Rung
) -> None:
    added = [col("x", "int")] if more else []
    made = sketch(
        table(col("id", "int"), col("c", old)), table(col("id", "int"), col("c", new), *added)
    )
    assert made.job.rung is rung


def test_not_null_and_nullable() -> None:
    free, bound = table(col("c", "int")), table(col("c", "int", nullable=False))
    assert sketch(free, bound).job.rung is Rung.REWRITE
    assert sketch(bound, free).job.rung is Rung.METADATA
    added = table(col("c", "int"), col("n", "int", nullable=False))
    assert sketch(free, added).job.rung is Rung.REWRITE


def test_the_last_field_of_a_struct_is_never_dropped() -> None:
    made = planned(table(col("s", "struct<a:int>")), table(col("s", "struct<>")))
    assert made.blocked
    assert made.steps == ()
    assert {f.code for f in made.findings if f.severity is Severity.ERROR} == {"F601"}


def test_a_value_inside_an_array_or_from_a_renamed_column_needs_a_rewrite() -> None:
    live = table(col("a", "int"), col("ar", "array<struct<x:int>>"))
    inside = table(col("a", "int"), col("ar", "array<struct<x:int,y:int>>"))
    made = sketch(live, inside, {("ar", "element", "y"): Hint(default="1")})
    assert made.job.rung is Rung.REWRITE
    renamed = table(col("b", "int"), col("ar", "array<struct<x:int>>"), col("c", "int"))
    hints = {("b",): Hint(renamed_from="a"), ("c",): Hint(using="A + 1")}
    assert sketch(live, renamed, hints).job.rung is Rung.REWRITE
    hints[("c",)] = Hint(default="7")
    assert sketch(live, renamed, hints).job.rung is Rung.STEPS


def test_what_iceberg_does_not_keep_is_said_and_left_out() -> None:
    wanted = table(
        col("a", "tinyint"),
        col("b", "varchar(3)", default="'x'"),
        col("c", "array<smallint>", comment="kept"),
        primary_key=("A",),
        constraints=(Check("positive", "a > 0"),),
    )
    kept, findings = RULES.normalize(Wanted(wanted), None)
    assert [str(f.code) for f in findings] == ["F602", "F604", "F602", "F602", "F603", "F603"]
    assert kept.table.columns == (
        col("a", "int"),
        col("b", "string"),
        col("c", "array<int>", comment="kept"),
    )
    assert kept.table.primary_key == ("a",)
    assert kept.table.constraints == ()
    assert kept.hint(("b",)) == Hint(default="'x'")


@pytest.mark.parametrize(
    "wanted",
    [
        table(col("a", "interval day to second")),
        table(col("a", "variant")),
        table(col("a", "int"), partition_by=("decades(a)",)),
        table(col("a", "int"), partition_by=("days(b)",)),
        table(col("a", "int"), cluster_by=("b",)),
    ],
)
def test_what_iceberg_cannot_hold_blocks(wanted: Table) -> None:
    made = finish(draft(Wanted(wanted), None, RULES, Policy()), (), Cost(), RULES)
    assert made.blocked
    assert made.steps == ()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("ID", "id"),
        ("odd name", "odd name"),
        ("identity(id)", "id"),
        ("day( TS )", "days(ts)"),
        ("date_hour(ts)", "hours(ts)"),
        ("bucket(16,id)", "bucket(16, id)"),
        ("truncate(4, `odd name`)", "truncate(4, `odd name`)"),
        ("S.X", "s.x"),
        ("bucket(id)", None),
        ("years(2, ts)", None),
        ("nowhere", None),
    ],
)
def test_partition_transforms_have_one_spelling(text: str, kept: str | None) -> None:
    columns = (
        col("id", "int"),
        col("ts", "timestamp"),
        col("odd name", "string"),
        col("s", "struct<x:int>"),
    )
    made = parse_transform(text, columns, str.casefold)
    assert (made.text() if made else None) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("id asc nulls first", "id"),
        ("id desc nulls last", "id DESC"),
        ("id desc", "id DESC"),
        ("id asc nulls last", "id NULLS LAST"),
        ("bucket(4, id) desc nulls first", "bucket(4, id) DESC NULLS FIRST"),
        ("id sideways", None),
    ],
)
def test_sort_fields_have_one_spelling(text: str, kept: str | None) -> None:
    made = parse_sort(text, (col("id", "int"),), str.casefold)
    assert (made.text() if made else None) == kept


def test_every_name_is_free_when_a_statement_needs_it() -> None:
    """a and b swap, c changes only its case, d goes, e becomes f, and a new e comes."""
    live = table(*(col(n, "int") for n in "abcde"))
    wanted = table(*(col(n, "int") for n in ("b", "a", "C", "f")), col("e", "string"))
    hints = {
        ("b",): Hint(renamed_from="a"),
        ("a",): Hint(renamed_from="b"),
        ("C",): Hint(renamed_from="c"),
        ("f",): Hint(renamed_from="e"),
    }
    made = planned(live, wanted, hints)
    names = {c.name for c in live.columns}
    for step in made.steps:
        sql = step.sql[0]
        if step.kind == "rename":
            old, new = (p.strip("`") for p in sql.split(" COLUMN ")[1].split(" TO "))
            assert old in names
            assert new.casefold() not in {n.casefold() for n in names}
            names = names - {old} | {new}
    assert made.target is not None
    assert made.steps[-1].after.columns == made.target.columns
    assert [s.kind for s in made.steps].count("drop") == 1


def test_a_column_and_something_inside_it_never_change_in_one_statement() -> None:
    """Spark refuses such a statement; siblings and strangers still share one."""
    live = table(
        col("id", "int"),
        col("s", "struct<a:int,t:struct<x:int,y:int>>", nullable=False),
        col("u", "struct<a:int,b:int>"),
    )
    wanted = table(
        col("s", "struct<t:struct<y:int,x:int> COMMENT 'c',a:int>", comment="c"),
        col("id", "int", comment="c"),
        col("u", "struct<b:int COMMENT 'c',a:int>"),
    )
    made = finish(draft(Wanted(wanted), live, RULES, IN_ORDER), (), Cost(), RULES)
    told = [(s.kind, s.title) for s in made.steps]
    assert told == [
        ("nullable", "allow NULL in s"),
        ("comment", "comment on s, id, u.b"),
        ("comment", "comment on s.t"),
        ("reorder", "move s, u.b"),
        ("reorder", "move s.t"),
        ("reorder", "move s.t.y"),
    ]
    assert made.target is not None
    assert made.steps[-1].after.columns == made.target.columns


def test_a_metadata_file_is_read_at_every_depth() -> None:
    metadata = json.loads(METADATA)
    found = table_from_metadata(NAME, metadata)
    assert [c.identity for c in found.columns] == [1, 2]
    inner = found.columns[1].type.element.type.fields[0]  # type: ignore[union-attr]
    assert (inner.name, inner.identity, inner.comment) == ("x", 4, "deep")
    assert found.partition_by == ("bucket(16, id)",)
    assert found.cluster_by == ("id DESC",)
    assert found.primary_key == ("id",)
    assert dict(found.properties) == {"k": "v", "format-version": "2"}
    assert commits_since(metadata, 7) == ["delete", "append"]
    assert commits_since(metadata, 99) is None


METADATA = """
{"format-version": 2, "table-uuid": "u", "location": "/w/t", "current-schema-id": 1,
 "schemas": [{"schema-id": 0, "fields": []},
  {"schema-id": 1, "identifier-field-ids": [1], "fields": [
   {"id": 1, "name": "id", "required": true, "type": "long"},
   {"id": 2, "name": "ar", "required": false, "type": {"type": "list", "element-id": 3,
     "element-required": false, "element": {"type": "struct", "fields": [
       {"id": 4, "name": "x", "required": false, "type": "decimal(9, 2)", "doc": "deep"}]}}}]}],
 "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": [
   {"name": "id_bucket", "transform": "bucket[16]", "source-id": 1, "field-id": 1000}]}],
 "default-sort-order-id": 1, "sort-orders": [{"order-id": 1, "fields": [
   {"transform": "identity", "source-id": 1, "direction": "desc", "null-order": "nulls-last"}]}],
 "properties": {"owner": "me", "k": "v", "instar.copy.of": "u", "write.distribution-mode": "range"},
 "current-snapshot-id": 9, "snapshots": [
  {"snapshot-id": 7, "summary": {"operation": "append"}},
  {"snapshot-id": 8, "parent-snapshot-id": 7, "summary": {"operation": "append"}},
  {"snapshot-id": 9, "parent-snapshot-id": 8, "summary": {"operation": "delete",
    "total-records": "1"}}]}
"""


def test_a_catalog_of_folders_swaps_no_copy_in() -> None:
    """It cannot rename a table; what Iceberg does in place is done there too."""
    live = table(col("a", "int"), col("b", "int"), extras={FOLDERS: "yes"})
    text = planned(live, table(col("a", "string"), col("b", "bigint")))
    assert (text.steps, [f.code for f in text.findings]) == ((), ["F601"])
    assert [s.kind for s in planned(live, table(col("a", "int"), col("b", "bigint"))).steps] == [
        "widen"
    ]


def test_a_default_says_whether_old_rows_take_it() -> None:
    def said(live: Table | None, **more: object) -> str:
        wish = table(col("id", "int"), col("x", "int", default="5", **more))
        (finding,) = RULES.normalize(Wanted(wish), live)[1]
        return finding.message

    takes = "rows that are there take it"
    assert takes in said(table(col("id", "int")))
    assert takes in said(table(col("id", "int"), col("x", "int")), nullable=False)
    assert takes not in said(table(col("id", "int"), col("x", "int")))
    assert takes not in said(None)
