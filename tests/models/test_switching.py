"""A model becomes a table where it was a view, or a view where it was a table: one atomic step on DuckDB."""

from __future__ import annotations

from models.world import World, errors

VIEW = "materialization: view"


def layers(world: World, front: str, query: str = "SELECT id, n * 2 AS twice FROM raw") -> None:
    world.model("m", query, front)
    world.model("after_it", "SELECT sum(twice)::BIGINT AS total FROM m")


def source(world: World) -> None:
    world.sql("CREATE TABLE raw AS SELECT * FROM (VALUES (1, 10), (2, 20)) AS t(id, n)")


def kinds(world: World) -> dict[str, str]:
    found = world.sql("SELECT table_name, table_type FROM information_schema.tables")
    return {str(name): str(kind) for name, kind in found}


def test_a_view_becomes_a_table_with_its_rows(world: World) -> None:
    source(world)
    layers(world, VIEW)
    world.run()
    layers(world, "", "SELECT id, n * 2 AS twice, 'x' AS note FROM raw")
    (step,) = world.table("m").steps
    assert step.sql[0].startswith("DROP VIEW")
    assert step.confirm is not None
    report = world.run()
    assert {r.table.name: (r.status, r.rows) for r in report.results} == {
        "m": ("built", 2),
        "after_it": ("built", 1),
    }
    assert kinds(world)["m"] == "BASE TABLE"
    assert world.sql("SELECT * FROM m ORDER BY id") == [(1, 20, "x"), (2, 40, "x")]
    assert not world.plan().pending
    assert {r.status for r in world.run().results} == {"skipped"}


def test_a_table_becomes_a_view_and_is_kept_aside(world: World) -> None:
    source(world)
    layers(world, "")
    world.run()
    layers(world, VIEW)
    report = world.run()
    assert [r.status for r in report.results if r.table.name == "m"] == ["created"]
    assert kinds(world)["m"] == "VIEW"
    assert world.sql("SELECT * FROM m__instar_old_1 ORDER BY id") == [(1, 20), (2, 40)]
    assert [k.kept_name.name for k in world.project.kept()] == ["m__instar_old_1"]
    assert not world.plan().pending

    # And back and forth again: the next old table takes the next name.
    layers(world, "")
    world.run()
    layers(world, VIEW)
    world.run()
    assert kinds(world)["m__instar_old_2"] == "BASE TABLE"


def test_a_query_that_fails_leaves_the_view(world: World) -> None:
    source(world)
    world.model("m", "SELECT id FROM raw", VIEW)
    world.run()
    world.model("m", "SELECT id, ('x' || id)::INTEGER AS bad FROM raw")
    (result,) = world.run().results
    assert result.status == "failed"
    assert kinds(world)["m"] == "VIEW"
    assert world.sql("SELECT * FROM m ORDER BY id") == [(1,), (2,)]


def test_somebody_elses_view_is_never_dropped(world: World) -> None:
    source(world)
    world.sql("CREATE VIEW m AS SELECT 1 AS id")
    world.model("m", "SELECT id FROM raw")
    assert errors(world.table("m")) == ["F106"]
