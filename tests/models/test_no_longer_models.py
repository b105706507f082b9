"""A model's table that is no model's any more: declared by a manifest meanwhile, or its file is gone."""

from __future__ import annotations

from cli.running import instar
from instar.core.plan import Plan, Status
from models.world import World, errors

MERGE = "materialization: incremental\nincremental: {unique_key: id}"
QUERY = "SELECT 1 AS id"


def warned(plan: Plan) -> list[str]:
    return [t.table.name for t in plan.tables for f in t.findings if f.code == "F708"]


def declared(world: World) -> None:
    """The model is built, then its table is declared."""
    world.model("kept", QUERY, MERGE)
    world.run()
    (world.root / "models/kept.sql").unlink()
    world.manifest("kept", "name: id, type: INTEGER")


def test_rows_written_while_a_manifest_declared_the_table_are_not_taken_over(world: World) -> None:
    declared(world)
    world.apply()
    world.sql("INSERT INTO kept VALUES (7)", "SELECT 1")
    (world.root / "tables/kept.yml").unlink()
    world.model("kept", QUERY)
    assert errors(world.table("kept")) == ["F706"]
    world.run(flags=["allow_full_refresh"])
    assert world.sql("SELECT * FROM kept__instar_old_1 ORDER BY 1") == [(1,), (7,)]


def test_a_run_that_reads_the_declared_table_makes_it_no_models_too(world: World) -> None:
    declared(world)
    world.model("down", "SELECT id FROM ref('kept')")
    world.run()
    (world.root / "tables/kept.yml").unlink()
    world.model("kept", QUERY, MERGE)
    assert errors(world.table("kept")) == ["F706"]


def test_a_table_whose_file_is_gone_is_named_and_stays(world: World) -> None:
    for name, front in (("one", ""), ("two", "materialization: view"), ("three", "")):
        world.model(name, QUERY, front)
    world.run()
    for name in ("one", "two"):
        (world.root / f"models/{name}.sql").unlink()
    plan = world.plan()
    assert warned(plan) == ["one", "two"]
    assert {t.status for t in plan.tables} == {Status.NO_CHANGE}
    assert warned(world.apply()) == ["one", "two"]
    assert warned(world.run().plan) == ["one", "two"]
    assert warned(world.project.plan(tables=["three"])) == []
    assert world.sql("SELECT count(*) FROM one, two") == [(1,)]
    shown = instar("plan", "--project", world.root)
    assert "[main.one] is the table of a model whose file is gone" in shown.out
    assert "[main.two] is the view of a model whose file is gone" in shown.out


def test_it_is_named_until_it_is_dropped_or_declared(world: World) -> None:
    for name in ("one", "two"):
        world.model(name, QUERY)
    world.run()
    for name in ("one", "two"):
        (world.root / f"models/{name}.sql").unlink()
    (world.root / "models").rmdir()
    assert warned(world.plan()) == ["one", "two"]
    world.sql("DROP TABLE one", "SELECT 1")
    world.manifest("two", "name: id, type: INTEGER")
    assert warned(world.plan()) == []
