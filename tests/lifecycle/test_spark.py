"""The same on Spark: Delta's history, and the renames of Parquet and Iceberg, cut off and lost in between.

Of the cases a telling sample; INSTAR_ALL=1 runs every one on every format.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from instar.apply import failpoints
from instar.spark import SparkHandle
from lifecycle.case_text import Case, cases
from lifecycle.test_cases import check
from lifecycle.world import World

pytestmark = pytest.mark.spark

OLD = """table: t
columns:
  - {name: id, type: INT}
  - {name: age, type: STRING}
"""
NEW = OLD.replace("{name: age, type: STRING}", "{name: age, type: INT}")
ROWS = ["1 | '36'", "2 | '41'"]


SAMPLE = {
    "delta": ("several_at_once", "set_not_null_blocked"),
    "iceberg": ("varchar_to_integer",),
    "parquet": ("split_column",),
}
CHOSEN = [
    (format_, case)
    for format_, sample in SAMPLE.items()
    for case in cases(format_)
    if os.environ.get("INSTAR_ALL") or case.name in sample
]


class Killed(BaseException):
    """Stands for the end of the process: Spark is shared by the whole run and must live on."""


@pytest.fixture
def made(spark: SparkHandle, tmp_path: Path) -> Iterator[Any]:
    """A world of a format, in a schema of its own."""
    schema = f"life_{uuid.uuid4().hex[:8]}"
    worlds: list[World] = []

    def make(format_: str) -> World:
        catalog = spark.iceberg_catalog if format_ == "iceberg" else spark.delta_catalog
        spark.run(f"CREATE SCHEMA IF NOT EXISTS {catalog}.{schema}")
        (tmp_path / "instar.yml").write_text(
            "name: shop\nversion: 1\ndefault_env: dev\nenvironments:\n"
            f"  dev: {{type: spark, schema: {schema}, format: {format_}}}\n"
        )
        place = f"{catalog}.{schema}.t"
        worlds.append(World(tmp_path, spark.run, place, format_, "spark", spark.session))
        return worlds[-1]

    yield make
    for world in worlds:
        catalog = world.table.split(".")[0]
        for row in spark.run(f"SHOW TABLES IN {catalog}.{schema}"):
            spark.run(f"DROP TABLE {catalog}.{schema}.`{row['tableName']}`")
        spark.run(f"DROP SCHEMA {catalog}.{schema}")


def tables(world: World) -> list[str]:
    place = world.table.rpartition(".")[0]
    return sorted(row["tableName"] for row in world.sql(f"SHOW TABLES IN {place}"))


def rewritten(world: World) -> World:
    world.apply(OLD)
    world.fill(ROWS)
    world.apply(NEW)
    return world


def kill_at(point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def die() -> None:
        monkeypatch.delenv(failpoints.POINT)
        raise Killed

    monkeypatch.setattr(failpoints, "kill_now", die)
    monkeypatch.setenv(failpoints.POINT, point)


def recover(world: World) -> list[str]:
    reports = world.project.recover(spark=world.spark)
    assert all(r.ok for r in reports), reports
    return [r.notes[-1] for r in reports]


@pytest.mark.parametrize(("format_", "case"), CHOSEN, ids=lambda v: getattr(v, "name", v))
def test_on_spark(format_: str, case: Case, made: Any) -> None:
    check(case, made(format_))


def test_delta_restores_the_version_before_the_rewrite(made: Any) -> None:
    world = rewritten(made("delta"))
    world.sql(f"INSERT INTO {world.table} VALUES (3, 5)")
    world.lose_state()
    (copy,) = world.project.copies(tables=["t"], spark=world.spark)
    assert (copy.cost.rows, copy.live_rows) == (2, 3)
    assert copy.copy.stays, "VACUUM takes it, not cleanup"
    done = world.project.revert("t", confirm=world.yes, spark=world.spark)
    assert (done.since.only_now, done.since.only_then) == (1, 0)
    assert world.rows() == ROWS
    assert world.plan().pending


@pytest.mark.parametrize("format_", ["parquet", "iceberg"])
def test_cut_off_between_two_renames_with_a_journal_and_without(
    format_: str, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A revert is finished by the journal; then a rewrite is undone by what the tables say."""
    world = rewritten(made(format_))
    kill_at("revert:rename-now-done", monkeypatch)
    with pytest.raises(Killed):
        world.project.revert("t", confirm=world.yes, spark=world.spark)
    assert tables(world) == ["t__instar_old_1", "t__instar_old_2"]
    recover(world)
    assert tables(world) == ["t", "t__instar_old_2"]
    assert world.rows() == ROWS
    plan = world.plan()
    kill_at("swap:rename-old-done", monkeypatch)
    with pytest.raises(Killed):
        world.project.apply(plan, confirm=world.yes, spark=world.spark)
    assert tables(world) == ["t__instar_new", "t__instar_old_1", "t__instar_old_2"]
    world.lose_state()
    assert len(recover(world)) == 2, "the right one of two old copies is put back, the new one goes"
    assert tables(world) == ["t", "t__instar_old_2"]
    assert world.rows() == ROWS
    dropped = world.project.cleanup(confirm=world.yes, spark=world.spark).dropped
    assert [c.cost.rows for c in dropped] == [2]
    assert tables(world) == ["t"]
