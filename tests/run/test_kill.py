"""The process is killed at every step of a run; `run --resume` finishes it, and nothing is built twice.

The failpoints are those that one undisturbed run comes by. A sample of them by default, all with
INSTAR_KILL_ALL=1 (`make kill`); the score is printed at the end of the run.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from cli.running import Result, instar
from instar.apply.failpoints import POINT, TRACE
from models.world import World
from run.score import Score

ALL = bool(os.environ.get("INSTAR_KILL_ALL"))
SAMPLE = 8
COMMITTED = "interval:committed"
"""Reached once for every interval whose rows are in the table; its mark is in the same transaction."""

EVENTS = "materialization: incremental\nincremental: {event_time_column: seen, granularity: day}"
MERGE = "materialization: incremental\nincremental: {unique_key: id}"
PARTS = "materialization: incremental\nincremental: {partition_column: kind}"
TABLES = ("a_events", "b_merged", "c_sum", "d_new", "e_parts", "f_view", "g_fresh", "orders")
SWITCHED = ("h_table", "i_view", "i_view__instar_old_1")


def deployed(world: World) -> None:
    """Built once; then rows came, queries changed, and a declared table grew."""
    world.sql(
        "CREATE TABLE raw (id INT, n INT, seen TIMESTAMP)",
        "INSERT INTO raw VALUES (1, 10, '2024-01-01 10:00'), (2, 20, '2024-01-02 10:00')",
    )
    world.manifest("orders", "name: id, type: INT")
    world.model("a_events", "SELECT seen, id, n FROM raw", EVENTS)
    world.model("b_merged", "SELECT id, n FROM a_events", MERGE)
    world.model("c_sum", "SELECT sum(n)::BIGINT AS total FROM b_merged")
    world.model("e_parts", "SELECT id % 2 AS kind, n FROM b_merged", PARTS)
    world.model("f_view", "SELECT id FROM b_merged", "materialization: view")
    world.model("g_fresh", "SELECT id, n FROM f_view JOIN raw USING (id)")
    world.model("h_table", "SELECT id FROM raw", "materialization: view")
    world.model("i_view", "SELECT id FROM raw")
    world.run()
    world.sql(
        "INSERT INTO raw VALUES (3, 30, '2024-01-02 11:00'), (4, 40, '2024-01-03 10:00'),"
        " (5, 50, '2024-01-04 10:00')",
        "INSERT INTO orders VALUES (1)",
    )
    world.manifest("orders", "name: id, type: BIGINT", "name: note, type: STRING")
    world.model("b_merged", "SELECT id, n, n * 2 AS twice FROM a_events", MERGE)
    world.model("d_new", "SELECT id FROM b_merged")
    world.model("h_table", "SELECT id FROM raw")
    world.model("i_view", "SELECT id FROM raw", "materialization: view")
    world.model("f_view", "SELECT id, twice FROM b_merged", "materialization: view")
    world.model(
        "g_fresh",
        "SELECT id, twice::SMALLINT AS n FROM f_view",
        "schema_evolution: {strategy: full_refresh}",
    )


def contents(world: World) -> list[list[tuple[object, ...]]]:
    return [world.sql(f"SELECT * FROM {t} ORDER BY ALL") for t in (*TABLES, *SWITCHED)]


class Calm:
    """The start, the failpoints of one undisturbed run in their order, and what it leaves behind."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.start = folder, folder / "start"
        self.start.mkdir()
        deployed(World(self.start))
        world = self.copy("calm")
        trace = folder / "trace"
        done = run(world.root, trace)
        assert done.code == 0, done.err
        self.contents = contents(world)
        seen: Counter[str] = Counter()
        self.points: list[str] = []
        for name in trace.read_text().splitlines():
            seen[name] += 1
            self.points.append(f"{name}:{seen[name]}")
        self.intervals = seen[COMMITTED]

    def copy(self, name: str) -> World:
        shutil.copytree(self.start, self.folder / name)
        return World(self.folder / name)


def run(root: Path, trace: Path, *words: str, **env: str) -> Result:
    return instar("run", "--yes", *words, cwd=root, env={TRACE: str(trace), **env})


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Calm:
    return Calm(tmp_path_factory.mktemp("kill"))


def spread(points: list[str]) -> list[str]:
    """Evenly over the whole run, first and last among them."""
    if ALL:
        return points
    return [points[round(n * (len(points) - 1) / (SAMPLE - 1))] for n in range(SAMPLE)]


def verdict(calm: Calm, point: str) -> str:
    """What is wrong after a kill at that point and a resumed run; empty if nothing is."""
    world = calm.copy("killed")
    trace = calm.folder / "traces"
    trace.write_text("")
    try:
        killed = run(world.root, trace, **{POINT: point})
        if killed.code != -9:
            return f"it was not killed: {killed.err}"
        again = run(world.root, trace, "--resume")
        if again.code == 2 and "E431" in again.err:
            # Killed before the run was written down, or after it was ended: a new run does the rest.
            again = run(world.root, trace)
        if again.code:
            return again.err
        if contents(world) != calm.contents:
            return f"{contents(world)} instead of {calm.contents}"
        done, wish = trace.read_text().splitlines().count(COMMITTED), calm.intervals
        return f"{done} intervals were built instead of {wish}" if done != wish else ""
    finally:
        shutil.rmtree(world.root)


@pytest.mark.timeout(3600)
def test_killed_anywhere_and_resumed(calm: Calm, score: Score) -> None:
    for point in spread(calm.points):
        score.count(point, verdict(calm, point))
    assert score.wrong == []
