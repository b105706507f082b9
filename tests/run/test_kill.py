"""The process is killed in the middle of a run; `run --resume` finishes it, and nothing is done twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.running import instar
from models.world import World

POINTS = [
    "model:before:2",
    "create:ran",
    "build:statement 2",
    "build:commit",
    "build:committed",
    "interval:built:2",
    "interval:marked",
    "model:built:2",
    "model:logged",
]
EVENTS = "materialization: incremental\nincremental: {event_time_column: seen, granularity: day}"
MERGE = "materialization: incremental\nincremental: {unique_key: id}"


def deployed(world: World) -> None:
    """Three layers that were built once; then rows came, and two queries changed."""
    world.sql(
        "CREATE TABLE raw (id INT, n INT, seen TIMESTAMP)",
        "INSERT INTO raw VALUES (1, 10, '2024-01-01 10:00'), (2, 20, '2024-01-02 10:00')",
        "SELECT 1",
    )
    world.model("a_events", "SELECT seen, id, n FROM raw", EVENTS)
    world.model("b_merged", "SELECT id, n FROM a_events", MERGE)
    world.model("c_sum", "SELECT sum(n)::BIGINT AS total FROM b_merged")
    world.run()
    world.sql(
        "INSERT INTO raw VALUES (3, 30, '2024-01-02 11:00'), (4, 40, '2024-01-03 10:00'),"
        " (5, 50, '2024-01-04 10:00')",
        "SELECT 1",
    )
    world.model("b_merged", "SELECT id, n, n * 2 AS twice FROM a_events", MERGE)
    world.model("d_new", "SELECT id FROM b_merged")


def contents(world: World) -> list[list[tuple[object, ...]]]:
    tables = ("a_events", "b_merged", "c_sum", "d_new")
    return [world.sql(f"SELECT * FROM {t} ORDER BY ALL") for t in tables]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[object, ...]]]:
    world = World(tmp_path_factory.mktemp("whole"))
    deployed(world)
    world.run()
    return contents(world)


@pytest.mark.parametrize("point", POINTS)
def test_killed_and_resumed(
    tmp_path: Path, point: str, expected: list[list[tuple[object, ...]]]
) -> None:
    world = World(tmp_path)
    deployed(world)
    killed = instar("run", "--yes", cwd=tmp_path, env={"INSTAR_FAILPOINT": point})
    assert killed.code == -9, killed.err
    report = world.run(resume=True)
    assert report.ok
    assert contents(world) == expected
    assert world.sql("SELECT count(*) FROM __instar_marks") == [(0,)], "marks go with the run"


def test_what_has_its_mark_is_not_built_again(world: World) -> None:
    """The mark is written with the rows: a build that was committed is known, whatever was lost."""
    from instar.run.builders import open_builder
    from instar.run.building import Order

    world.sql("CREATE TABLE raw AS SELECT 1 AS id", "SELECT 1")
    world.model("m", "SELECT id FROM raw")
    world.run()
    project = world.project
    with project._world(None, None) as opened:
        builder = open_builder(opened.engine, opened.env)
        model = project.models().models["m"]
        live = builder.backend("").inspect([model.table])[model.table]
        sql = 'SELECT id FROM "main"."raw"'
        order = Order(model, sql, live, "run1/m/", whole=True)  # type: ignore[arg-type]
        assert builder.build(order, lambda _: None) == 1
        builder._backend.query("INSERT INTO raw VALUES (2)")  # type: ignore[attr-defined]
        assert builder.build(order, lambda _: None) == 1
    assert world.sql("SELECT id FROM m") == [(1,)]
