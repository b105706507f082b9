"""A run on Spark is killed while tables evolve and are built; `run --resume` finishes it, nothing is built twice.

The plain suite kills one run on Delta again and again, at its worst moments. `make kill` takes every failpoint
that an undisturbed run comes by, on Delta, Iceberg and Parquet.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from instar.apply.failpoints import POINT, TRACE
from instar.spark import SparkHandle
from models.lake import CATALOGS, Lake
from run.score import Score
from run.spark_worker import start, work

pytestmark = [pytest.mark.spark, pytest.mark.timeout(7200)]

all_points = pytest.mark.skipif(not os.environ.get("INSTAR_KILL_ALL"), reason="long: `make kill`")
WORST = ("add:1:after", "interval:committed:2", "build:committed:1", "refresh:1:after")
"""A column is there and not filled; rows are in their table and nobody has said so; a refresh is not logged."""
EVENTS = "incremental: {event_time_column: seen, granularity: day}"
MERGE = "incremental: {unique_key: id}"
PARTS = "incremental: {partition_column: kind}"
FILLED = "columns: {twice: {backfill: n * 2}}"
REFRESH = "schema_evolution: {strategy: full_refresh}"
ROWS = "(1, 10, '2024-01-01 10:00'), (2, 20, '2024-01-02 10:00')"
LATER = "(3, 30, '2024-01-02 11:00'), (4, 40, '2024-01-03 10:00')"
FINAL = [{"id": n, "n": n * 10, "twice": n * 20} for n in (1, 2, 3, 4)]


def deployed(lake: Lake, format_: str) -> None:
    """Built once; then rows came and every query changed: a column to fill, one to merge, one to narrow."""
    raw, form = f"spark_catalog.{lake.schema}.raw", f"format: {format_}\n"
    first, second = (EVENTS, MERGE) if format_ != "parquet" else (PARTS, "")
    time = "seen" if format_ != "parquet" else "id % 2 AS kind"
    lake.spark.run(f"CREATE TABLE {raw} (id INT, n INT, seen TIMESTAMP) USING delta")
    lake.spark.run(f"INSERT INTO {raw} VALUES {ROWS}")
    lake.model("a_first", f"SELECT id, n, {time} FROM raw", form + first)
    lake.model("b_second", "SELECT id, n FROM a_first", form + second)
    # Iceberg keeps a SMALLINT as an INT: only from a BIGINT is it narrower on every format.
    wide = "SELECT id, CAST(n AS BIGINT) AS n, CAST(n AS BIGINT) AS twice FROM b_second"
    lake.model("c_fresh", wide, form)
    work(lake.root, lake.spark.session, resume=False)
    lake.spark.run(f"INSERT INTO {raw} VALUES {LATER}")
    filled = f"{first}\n{FILLED}" if format_ != "parquet" else first
    lake.model("a_first", f"SELECT id, n, n * 2 AS twice, {time} FROM raw", form + filled)
    lake.model("b_second", "SELECT id, n, twice FROM a_first", form + second)
    lake.model(
        "c_fresh",
        "SELECT id, CAST(n AS SMALLINT) AS n, CAST(twice AS SMALLINT) AS twice FROM b_second",
        form + REFRESH,
    )


@contextmanager
def world(root: Path, spark: SparkHandle, format_: str) -> Iterator[Lake]:
    root.mkdir()
    lake = Lake(root, spark)
    try:
        deployed(lake, format_)
        yield lake
    finally:
        lake.close()


def wrong(lake: Lake, format_: str) -> str:
    """What the finished run left that should not be so; empty if nothing."""
    for table in ("a_first", "b_second", "c_fresh"):
        # Another session has changed the table: this one may remember the files of a Parquet table.
        lake.spark.run(f"REFRESH TABLE {CATALOGS[format_]}.{lake.schema}.{table}")
        rows = lake.rows(table, CATALOGS[format_], order="id")
        found = [{name: row.get(name) for name in FINAL[0]} for row in rows]
        if found != FINAL:
            return f"{table}: {found}"
    if format_ != "delta":
        return ""
    twice = [mark for mark, count in commits(lake, "a_first").items() if count > 1]
    return f"committed twice: {twice}" if twice else ""


def commits(lake: Lake, table: str) -> Counter[Any]:
    """How often each mark of a build stands in Delta's history."""
    history = lake.spark.run(f"DESCRIBE HISTORY spark_catalog.{lake.schema}.{table}")
    return Counter(row["userMetadata"] for row in history if row["userMetadata"])


def test_killed_again_and_again_at_the_worst_moments(
    tmp_path: Path, spark: SparkHandle, spark_root: Path, score: Score
) -> None:
    """Each process goes on where the last one died, and dies further on."""
    with world(tmp_path / "project", spark, "delta") as lake:
        for number, point in enumerate(WORST):
            words = ("resume",) if number else ()
            code = start(lake.root, spark_root, *words, **{POINT: point})
            assert code == -9, f"{point}: it was not killed, but ended with {code}"
        work(lake.root, spark.session, resume=True)
        problem = wrong(lake, "delta")
    for point in WORST:
        score.count(point, problem)
    assert score.wrong == []


@all_points
@pytest.mark.parametrize("format_", CATALOGS)
def test_killed_anywhere_on_spark(
    format_: str, tmp_path: Path, spark: SparkHandle, spark_root: Path, score: Score
) -> None:
    trace = tmp_path / "trace"
    with world(tmp_path / "calm", spark, format_) as lake:
        assert start(lake.root, spark_root, **{TRACE: str(trace)}) == 0
        assert wrong(lake, format_) == ""
    seen: Counter[str] = Counter()
    for name in trace.read_text().splitlines():
        seen[name] += 1
        point = f"{name}:{seen[name]}"
        with world(tmp_path / point.replace("/", " "), spark, format_) as lake:
            codes = [start(lake.root, spark_root, **{POINT: point})]
            codes.append(start(lake.root, spark_root, "resume"))
            problem = wrong(lake, format_) if codes == [-9, 0] else f"exit codes {codes}"
        score.count(f"{format_} @ {point}", problem)
    assert score.wrong == []
