"""Rewrite of five million rows with verification, on DuckDB, Delta, Iceberg and Parquet.

Reference: the engine's bare CREATE TABLE AS SELECT with the same conversion, in the same run, taking turns.
The look at every value that comes first (`instar plan`) is told apart, and the checksum of the
verification is set against a count of the same rows. The last line of a format is what the reference would cost
if it only read both tables once, column by column: no rewrite that compares them can be cheaper.
`INSTAR_BENCH_ROWS` sets another size.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import alternating, timed
from bench.projects import apply_now, project_folder, write_manifest
from instar import Policy, Project

ROWS = int(os.environ.get("INSTAR_BENCH_ROWS", "5000000"))
ROUNDS = 3
BEFORE = {"id": "BIGINT", "qty": "STRING", "price": "DECIMAL(12, 2)", "note": "STRING"}
AFTER = {**BEFORE, "qty": "INT"}
BARE = "SELECT id, CAST(qty AS INT) AS qty, price, note FROM"


class Instar:
    """`plan`, then `apply`, each timed; the session is the one that the reference uses too."""

    def __init__(self, root: Path, env: str, fresh: Callable[[], None], spark: Any = None) -> None:
        self.root, self.env, self.fresh, self.spark = root, env, fresh, spark
        self.planning: list[float] = []

    def rewrite(self) -> float:
        self.fresh()
        project = Project.load(self.root)
        plans: list[Any] = []
        policy = Policy.of(allow_rewrite=True)
        self.planning.append(
            timed(lambda: plans.append(project.plan(self.env, policy, spark=self.spark)))
        )
        yes = {"confirm": lambda _: True, "spark": self.spark}
        return timed(lambda: project.apply(plans[0], **yes))


def on_duckdb(root: Path) -> None:
    import duckdb

    path = root / ".instar/dev.duckdb"

    def fresh() -> None:
        path.unlink(missing_ok=True)
        (root / ".instar/state.db").unlink(missing_ok=True)
        write_manifest(root, "t", BEFORE)
        apply_now(root, "quick")
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "INSERT INTO main.t SELECT i, CAST(i % 1000 AS VARCHAR), i / 7, 'note ' || (i % 97)"
                f" FROM range({ROWS}) r(i)"
            )
        write_manifest(root, "t", AFTER)

    def bare() -> None:
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE OR REPLACE TABLE bare AS {BARE} main.t")

    def reference() -> float:
        fresh()
        return timed(bare)

    ours = Instar(root, "quick", fresh)
    report("duckdb", alternating(ROUNDS, bare=reference, instar=ours.rewrite), ours)


CATALOGS = {"dev": "spark_catalog", "iceberg": "ice", "parquet": "spark_catalog"}
"""The environments on Spark, each with its catalog; `dev` is Delta."""


def on_spark(root: Path, env: str) -> None:
    from instar.spark import SparkSettings, open_session

    place, format_ = f"{CATALOGS[env]}.main", env.replace("dev", "delta")
    with open_session(SparkSettings(root=root / ".instar"), print) as handle:

        def fresh() -> None:
            handle.run(f"CREATE SCHEMA IF NOT EXISTS {place}")
            for row in handle.run(f"SHOW TABLES IN {place}"):
                handle.run(f"DROP TABLE {place}.{row['tableName']}")
            (root / ".instar/state.db").unlink(missing_ok=True)
            write_manifest(root, "t", BEFORE)
            apply_now(root, env)
            handle.run(
                f"INSERT INTO {place}.t SELECT id, CAST(id % 1000 AS STRING),"
                " CAST(id / 7 AS DECIMAL(12, 2)), concat('note ', id % 97)"
                f" FROM range(0, {ROWS}, 1, 4)"
            )
            write_manifest(root, "t", AFTER)

        def bare() -> None:
            handle.run(f"CREATE TABLE {place}.bare USING {format_} AS {BARE} {place}.t")

        def reference() -> float:
            fresh()
            return timed(bare)

        ours = Instar(root, env, fresh, handle.session)
        seconds = alternating(ROUNDS, bare=reference, instar=ours.rewrite)
        report(format_, seconds, ours)
        count = checksum_against_count(handle.run, f"{place}.t", format_)
        least = (seconds["bare"] + 2 * count) / seconds["bare"]
        print(f"rewrite_5m {format_}: {least:.2f}x would be a count of both sides", flush=True)


def checksum_against_count(run: Callable[[str], object], place: str, format_: str) -> float:
    from instar.backends.spark.checksum import checksum_select
    from instar.core.types import Decimal, Integer, String

    types = {"id": Integer(64), "qty": Integer(32), "price": Decimal(12, 2), "note": String()}
    checksum = checksum_select(list(types.items()))
    counts = ", ".join(f"count({name})" for name in types)
    seconds = alternating(
        ROUNDS,
        count=lambda: timed(lambda: run(f"SELECT {counts} FROM {place}")),
        checksum=lambda: timed(lambda: run(f"SELECT {checksum} FROM {place}")),
    )
    print(f"rewrite_5m {format_}: the checksum of all columns  {seconds['checksum']:.2f} s")
    print(f"rewrite_5m {format_}: reference, a count of each   {seconds['count']:.2f} s")
    print(f"rewrite_5m {format_}: {seconds['checksum'] / seconds['count']:.2f}x", flush=True)
    return seconds["count"]


def report(engine: str, seconds: dict[str, float], ours: Instar) -> None:
    planning = sorted(ours.planning)[len(ours.planning) // 2]
    lines = {
        "instar plan, every value looked at ": planning,
        "instar apply, rewrite and verification": seconds["instar"],
        "reference, bare CREATE TABLE AS": seconds["bare"],
    }
    for what, value in lines.items():
        print(f"rewrite_5m {engine}: {what:40} {value:.2f} s")
    print(f"rewrite_5m {engine}: {seconds['instar'] / seconds['bare']:.2f}x", flush=True)


def main() -> None:
    with project_folder() as root:
        on_duckdb(root)
        for env in CATALOGS:
            on_spark(root, env)


if __name__ == "__main__":
    main()
