"""Twelve models in three layers over TPC-H: ten schema changes in a row, each compared with a rebuild.

After every change the evolved tables must hold the same rows, in columns of the same types, as the bare
queries give over the source files. DuckDB at scale 0.1, one change after the other. On Spark one project with a
format per layer at scale 0.01, the ten changes in two runs; INSTAR_ALL=1 runs Delta, Iceberg and Parquet each
through all layers, one change after the other, at scale 0.1.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from instar import Project
from instar.core.plan import Rung
from instar.spark import SparkHandle
from models.tpch_project import LAYERS, TABLES, Change, Files, changes, generate, settings
from models.world import policy

ALL = bool(os.environ.get("INSTAR_ALL"))
SPARK = ("delta", "iceberg", "parquet") if ALL else ("mixed",)
SCALE = "0.1" if ALL else "0.01"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By scale, made once."""
    return {scale: generate(tmp_path_factory.mktemp("tpch"), scale) for scale in {"0.1", SCALE}}


class DuckDBSide:
    """The evolved database beside the bare queries over the files."""

    session = None

    def __init__(self, root: Path, rows: Path) -> None:
        self.rows = rows
        (root / "instar.yml").write_text(
            "name: shop\nenvironments:\n  dev: {type: duckdb, database: shop.duckdb, schema: main}\n"
        )
        self.database = root / "shop.duckdb"
        with duckdb.connect(str(self.database)) as connection:
            self._sources(connection, "TABLE")

    def _sources(self, connection: duckdb.DuckDBPyConnection, kind: str) -> None:
        for table in TABLES:
            connection.execute(f"CREATE {kind} {table} AS FROM '{self.rows / table}.parquet'")

    def differences(
        self, queries: dict[str, str], formats: dict[str, str], skipped: set[str]
    ) -> Iterator[str]:
        del formats, skipped
        with duckdb.connect() as bare:
            self._sources(bare, "VIEW")
            bare.execute(f"ATTACH '{self.database}' AS live (READ_ONLY)")
            for name, query in queries.items():
                bare.execute(f"CREATE TABLE {name} AS {query}")
                sides = (name, f"live.main.{name}")
                wish, live = (_shape(bare, side) for side in sides)
                if wish != live:
                    yield f"{name}: {live} instead of {wish}"
                    continue
                row = ", ".join(f'"{c}"' for c in wish)
                digest = f"SELECT count(*), sum(hash({row})::HUGEINT) FROM"
                found = [bare.execute(f"{digest} {side}").fetchone() for side in sides]
                if found[0] != found[1]:
                    more = (
                        f"SELECT {row} FROM {sides[1]} EXCEPT ALL SELECT {row} FROM {name} LIMIT 3"
                    )
                    yield f"{name}: {found}; live only: {bare.execute(more).fetchall()}"


def _shape(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    found = connection.execute(f"DESCRIBE {table}").fetchall()
    return {str(r[0]): str(r[1]) for r in sorted(found)}


class SparkSide:
    """The evolved tables in a schema of their own beside temporary views over the files."""

    def __init__(self, root: Path, rows: Path, spark: SparkHandle) -> None:
        self.spark, self.session = spark, spark.session
        self.schema = f"h_{uuid.uuid4().hex[:8]}"
        (root / "instar.yml").write_text(
            f"name: shop\nenvironments:\n  dev: {{type: spark, schema: {self.schema}, format: delta}}\n"
        )
        spark.run(f"CREATE SCHEMA spark_catalog.{self.schema}")
        spark.run(f"CREATE NAMESPACE ice.{self.schema}")
        for table in TABLES:
            place = f"spark_catalog.{self.schema}.{table}"
            spark.run(f"CREATE TABLE {place} USING delta AS FROM parquet.`{rows / table}.parquet`")
            spark.run(f"CREATE OR REPLACE TEMP VIEW {table} AS SELECT * FROM {place}")

    def differences(
        self, queries: dict[str, str], formats: dict[str, str], skipped: set[str]
    ) -> Iterator[str]:
        """One query for all: the number of rows and the sum of their hashes, on both sides.

        What the run has skipped was compared after an earlier change, and nobody has touched it since.
        """
        parts: list[str] = []
        for name, query in queries.items():
            self.spark.run(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")
            if name in skipped:
                continue
            catalog = "ice" if formats[name] == "iceberg" else "spark_catalog"
            place = f"{catalog}.{self.schema}.{name}"
            wish, live = (self._shape(t) for t in (name, place))
            if wish != live:
                yield f"{name}: {live} instead of {wish}"
                continue
            row = f"to_json(struct({', '.join(wish)}), map('ignoreNullFields', 'false'))"
            digest = f"sum(CAST(xxhash64({row}) AS DECIMAL(38, 0)))"
            parts += [
                f"SELECT '{name}' AS name, count(*) AS n, {digest} AS digest FROM {side}"
                for side in (name, place)
            ]
        found: dict[str, set[tuple[int, Any]]] = {}
        for row in self.spark.run(" UNION ALL ".join(parts)):
            found.setdefault(row["name"], set()).add((row["n"], row["digest"]))
        yield from (f"{n}: rows and digests {v}" for n, v in found.items() if len(v) > 1)

    def _shape(self, table: str) -> dict[str, str]:
        fields = sorted(self.session.table(table).schema.fields, key=lambda f: f.name)
        return {f.name: f.dataType.simpleString() for f in fields}

    def close(self, views: Iterable[str]) -> None:
        for view in (*TABLES, *views):
            self.session.catalog.dropTempView(view)
        for row in self.spark.run(f"SHOW TABLES IN ice.{self.schema}"):
            self.spark.run(f"DROP TABLE ice.{self.schema}.{row['tableName']} PURGE")
        self.spark.run(f"DROP NAMESPACE ice.{self.schema}")
        self.spark.run(f"DROP SCHEMA spark_catalog.{self.schema} CASCADE")


def ten_changes(
    root: Path,
    side: DuckDBSide | SparkSide,
    files: Files,
    formats: dict[str, str],
    at_once: tuple[int, ...] = (1,) * 10,
) -> None:
    """`at_once`: how many of the changes each run makes."""
    with (root / "instar.yml").open("a") as file:
        file.write(settings(formats))
    left = changes()
    assert sum(at_once) == len(left)
    one_run(root, side, files, formats, [])
    for count in at_once:
        one_run(root, side, files, formats, left[:count])
        left = left[count:]


def one_run(
    root: Path,
    side: DuckDBSide | SparkSide,
    files: Files,
    formats: dict[str, str],
    batch: list[Change],
) -> None:
    began = time.monotonic()
    for change in batch:
        files.apply(change)
    title = ", ".join(change.title for change in batch) or "the first run"
    flags = {flag for change in batch for flag in change.flags}
    refresh = {format_ for change in batch for format_ in change.refresh}
    if "parquet" in refresh & set(formats.values()):
        flags.add("allow_full_refresh")
    report = Project.load(root).run(
        policy=policy(sorted(flags)), confirm=lambda _: True, spark=side.session
    )
    assert report.ok, f"{title}: {[r for r in report.results if r.error]}"
    refreshed = {
        formats[t.table.name]
        for t in report.plan.tables
        if any(s.rung is Rung.REFRESH for s in t.steps)
    }
    assert refreshed <= refresh, f"{title}: {refreshed} need not be recomputed"
    middle = time.monotonic()
    skipped = {r.table.name for r in report.results if r.status == "skipped"}
    wrong = list(side.differences(files.rebuild(), formats, skipped))
    assert not wrong, f"{title}: {wrong}"
    print(
        f"tpch: {title}: run {middle - began:.1f} s, compared in {time.monotonic() - middle:.1f} s",
        flush=True,
    )


def test_ten_changes_on_duckdb(tmp_path: Path, rows: dict[str, Path]) -> None:
    files = Files(tmp_path, "duckdb")
    side = DuckDBSide(tmp_path, rows["0.1"])
    ten_changes(tmp_path, side, files, dict.fromkeys(files.texts, "duckdb"))


@pytest.mark.spark
@pytest.mark.parametrize("format_", SPARK)
def test_ten_changes_on_spark(
    tmp_path: Path, rows: dict[str, Path], spark: SparkHandle, format_: str
) -> None:
    files = Files(tmp_path, "spark")
    side = SparkSide(tmp_path, rows[SCALE], spark)
    by_layer = {n: LAYERS[folder] for n, folder in files.folders.items()}
    formats = by_layer if format_ == "mixed" else dict.fromkeys(files.texts, format_)
    for view in ("stg_customer", "stg_nation"):
        formats[view] = "delta"
    try:
        ten_changes(tmp_path, side, files, formats, (1,) * 10 if ALL else (5, 5))
    finally:
        side.close(files.texts)
