"""`instar import`: which live tables get a manifest, and what is said of those that get none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from instar.app.importing import imported
from instar.backends.base import NotATable, RunContext
from instar.backends.memory import MemoryBackend
from instar.backends.registry import Engine
from instar.core.planner import draft
from instar.core.policy import Policy
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import Column, Integer

TABLES = Path("tables")


class Catalog(MemoryBackend):
    """A catalog with these tables, and `others` that are none of ours."""

    def __init__(self, *names: str, others: Sequence[str] = ()) -> None:
        super().__init__()
        self.others = others
        for name in names:
            wanted = Wanted(Table(TableName("main", name), (Column("id", Integer(32)),)))
            for step in self.rules.steps(draft(wanted, None, self.rules, Policy()).job):
                self.run(step, RunContext({}, lambda *_: None, lambda _: None))

    def foreign(self, schema: str) -> Sequence[NotATable]:
        return [NotATable(TableName(schema, name), "csv table") for name in self.others]


def lake(delta: Catalog, iceberg: Catalog) -> Engine:
    return Engine({"iceberg": iceberg, "delta": delta}, "delta", lambda: None)


def name(text: str) -> TableName:
    return TableName("main", text)


def test_a_name_that_two_catalogs_have_gets_one_manifest_and_a_word() -> None:
    found = imported(lake(Catalog("ident"), Catalog("ident", "only")), "main", {}, (), TABLES)
    assert [path.name for path, _ in found.manifests] == ["ident.yml", "only.yml"]
    assert found.left == (
        "main.ident is there as iceberg too, and that table gets no manifest: a name has only one,"
        " and it is for delta",
    )


def test_the_format_that_is_declared_decides_which_of_two_is_meant() -> None:
    engine = lake(Catalog("ident"), Catalog("ident"))
    found = imported(engine, "main", {name("Ident"): "iceberg"}, (), TABLES)
    assert found.manifests == ()
    (why,) = found.left
    assert why.startswith("main.ident is there as delta too")


def test_a_table_that_is_not_evolved_is_named_unless_others_were_asked_for() -> None:
    engine = lake(Catalog("orders", others=["raw"]), Catalog())
    said = "main.raw is a csv table, which Instar does not evolve: it gets no manifest"
    assert imported(engine, "main", {}, (), TABLES).left == (said,)
    assert imported(engine, "main", {}, ("raw",), TABLES).left == (said,)
    assert imported(engine, "main", {}, ("orders",), TABLES).left == ()


def test_files_are_told_apart_where_upper_and_lower_case_are_one() -> None:
    found = imported(lake(Catalog("A.b", "a/b"), Catalog()), "main", {}, (), TABLES)
    assert [path.name for path, _ in found.manifests] == ["A_b.yml", "a_b_2.yml"]
    assert found.live == 2
