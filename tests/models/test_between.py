"""Views that no model makes, between models: planned, traced and built through."""

from __future__ import annotations

import pytest

from instar import TablePlan
from instar.core.plan import Status
from instar.core.schema import TableName
from instar.core.types import Column
from instar.run.duckdb_infer import DuckDBInferrer
from instar.run.running import RunOptions
from models.world import World, errors, statuses

BIG = 5_000_000_000


def messages(table: TablePlan, code: str) -> list[str]:
    return [f.message for f in table.findings if f.code == code]


def behind(world: World, *views: str, top: str = "SELECT nn AS q FROM ext") -> None:
    world.sql("CREATE TABLE raw (id INT, n INT)", "INSERT INTO raw VALUES (1, 2)")
    world.model("base", "SELECT id, n FROM raw")
    world.run()
    world.sql(*views)
    world.model("top", top)
    assert world.run().ok


STACKS = {
    "one view": ("CREATE VIEW ext AS SELECT n AS nn FROM base",),
    "two views": (
        "CREATE VIEW inner_ AS SELECT n AS m FROM main.base",
        "CREATE VIEW ext AS SELECT m AS nn FROM inner_",
    ),
    "named columns": ("CREATE VIEW ext(nn) AS SELECT n FROM base",),
    "another case": ('CREATE VIEW "EXT" AS SELECT n AS nn FROM "BASE"',),
    "another schema": (
        "CREATE SCHEMA s",
        "CREATE VIEW s.other AS SELECT n AS m FROM main.base",
        "CREATE VIEW ext AS SELECT m AS nn FROM s.other",
    ),
    "beside a table": (
        "CREATE TABLE fx (id INT)",
        "CREATE VIEW ext AS SELECT n AS nn FROM base LEFT JOIN fx USING (id)",
    ),
}


@pytest.mark.parametrize("views", STACKS.values(), ids=STACKS.keys())
def test_a_change_before_a_view_is_planned_behind_it(world: World, views: tuple[str, ...]) -> None:
    behind(world, *views)
    world.model("base", "SELECT id, n::BIGINT AS n FROM raw")
    (reach,) = messages(world.table("base"), "F705")
    assert "main.top.q" in reach
    assert ".nn" in reach, "the view's column on the way"
    assert world.table("top").status is Status.CHANGE
    world.sql("ALTER TABLE raw ALTER n TYPE BIGINT", f"INSERT INTO raw VALUES (2, {BIG})")
    assert world.run().ok
    assert world.types("top") == {"q": "BIGINT"}
    assert world.sql("SELECT max(q) FROM top") == [(BIG,)]
    assert not world.plan().pending


def test_lineage_goes_through_a_view(world: World) -> None:
    behind(world, *STACKS["two views"])
    web, (place,) = world.project.lineage("raw.n")
    reached = [str(p) for p in web.downstream([place])]
    assert reached == ["main.base.n", "main.inner_.m", "main.ext.nn", "main.top.q"]
    web, (place,) = world.project.lineage("top.q")
    assert [str(p) for p in web.sources(place)] == ["main.ext.nn"]


def test_a_view_at_the_end_is_reached_too(world: World) -> None:
    behind(world, *STACKS["one view"])
    world.sql("CREATE VIEW last AS SELECT * FROM top")
    world.model("base", "SELECT id, n::BIGINT AS n FROM raw")
    (reach,) = messages(world.table("base"), "F705")
    assert "main.last.q" in reach


def test_a_view_of_a_declared_table_is_planned_with_it(world: World) -> None:
    world.manifest("orders", "name: id, type: INT", "name: amount, type: INT")
    world.apply()
    world.sql("CREATE VIEW ext AS SELECT * FROM orders")
    world.model("top", "SELECT * FROM ext")
    world.run()
    world.manifest(
        "orders", "name: id, type: INT", "name: amount, type: BIGINT", "name: day, type: DATE"
    )
    top = world.table("top")
    assert [type(c.change).__name__ for c in top.changes] == ["ModifyColumn", "AddColumn"]
    assert any("main.top.amount" in m for m in messages(world.table("orders"), "F705"))
    assert world.run(options=only("top")).ok, "its declared tables are found through the view"
    assert world.types("top")["amount"] == "BIGINT"


def only(*names: str) -> RunOptions:
    return RunOptions(select=names)


def test_models_are_chosen_and_ordered_through_a_view(world: World) -> None:
    """By name alone `a_top` comes before `base`."""
    world.sql("CREATE TABLE raw AS SELECT 1 AS n")
    world.model("base", "SELECT n FROM raw")
    world.run()
    world.sql("CREATE VIEW ext AS SELECT n FROM base")
    world.model("a_top", "SELECT n FROM ext")
    world.sql("INSERT INTO raw VALUES (2)")
    report = world.run(options=only("+a_top"))
    assert statuses(report) == {"base": "built", "a_top": "built"}
    assert world.sql("SELECT count(*) FROM a_top") == [(2,)]


def test_a_model_behind_a_view_of_a_broken_model_is_told_so(world: World) -> None:
    behind(world, *STACKS["one view"])
    world.model("base", "SELECT id, missing AS n FROM raw")
    assert errors(world.table("top")) == ["F703"]


def test_a_view_that_a_change_breaks_breaks_its_models(world: World) -> None:
    """A view model is replaced without a look at its readers; what reads them is analysed."""
    world.sql("CREATE TABLE raw AS SELECT 1 AS id, 2 AS n")
    world.model("base", "SELECT id, n FROM raw", "materialization: view")
    world.run()
    world.sql("CREATE VIEW ext AS SELECT n AS nn FROM base")
    world.model("top", "SELECT nn AS q FROM ext")
    world.run()
    world.model("base", "SELECT id FROM raw", "materialization: view")
    (broken,) = messages(world.table("top"), "F702")
    assert "the view main.ext, which it reads, would no longer work" in broken
    assert "main.base: 'n' is removed" in broken


LEFT = {
    "a row without names": "CREATE VIEW ext AS SELECT row(1, 2) AS r, n AS nn FROM base",
    "a function": "CREATE VIEW ext AS SELECT n AS nn FROM base, range(1) AS t(i)",
    "a pivot": "CREATE VIEW ext AS SELECT n AS nn, * FROM (SELECT n, id FROM base) PIVOT (count(*) FOR id IN (7)) ",
}


@pytest.mark.parametrize("view", LEFT.values(), ids=LEFT.keys())
def test_a_view_of_any_kind_can_be_read(world: World, view: str) -> None:
    behind(world, view)
    world.model("base", "SELECT id, n, n AS more FROM raw")
    assert not errors(world.table("top"))
    assert world.run().ok


def test_a_model_that_reads_itself_through_a_view_is_left_as_it_is(world: World) -> None:
    world.sql("CREATE TABLE raw AS SELECT 1 AS n")
    world.model("m", "SELECT n FROM raw")
    world.run()
    world.sql("CREATE VIEW ext AS SELECT n FROM m")
    world.model("m", "SELECT n FROM raw UNION SELECT n FROM ext")
    assert not errors(world.table("m"))
    assert world.run().ok


def test_the_analyser_is_told_only_of_tables_that_something_reads(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    declare = DuckDBInferrer.declare

    def recorded(self: DuckDBInferrer, name: TableName, columns: tuple[Column, ...], /) -> None:
        told.append(name.name)
        declare(self, name, columns)

    monkeypatch.setattr(DuckDBInferrer, "declare", recorded)
    world.manifest("src", "name: id, type: INT", "name: n, type: INT")
    world.model("by_model", "SELECT id FROM src")
    world.model("last", "SELECT id FROM by_model")
    world.model("by_view", "SELECT id FROM src")
    world.run()
    world.sql("CREATE VIEW hand AS SELECT id FROM by_view")
    world.model("behind", "SELECT id FROM hand")
    told.clear()
    assert not world.plan().blocked
    assert sorted(told) == ["by_model", "by_view", "hand", "src"]
