"""A rewrite on Spark for which the disk has no room: a coded error, every row still there, done the next time.

Delta by default; INSTAR_ALL=1 runs every format.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backends.spark.rows import drop_all
from instar import Policy, Project
from instar.backends.registry import EngineSettings, open_engine
from instar.backends.spark.base import SparkBackend
from instar.spark import SparkHandle, SparkSettings, server_status

pytestmark = pytest.mark.spark

FORMATS = ("delta", "iceberg", "parquet") if os.environ.get("INSTAR_ALL") else ("delta",)
SCHEMA = "disk_full"
NUMBERS = [f"n{i}" for i in range(8)]
ROOM = 4 << 20
"""More than the catalog's own files, less than a rewritten one."""


@contextmanager
def full_disk(spark_root: Path) -> Iterator[None]:
    """No file of the server may grow beyond a size: the system refuses the write, as a full disk does."""
    server = server_status(spark_root)
    assert server is not None
    before = resource.prlimit(server.jvm, resource.RLIMIT_FSIZE)
    resource.prlimit(server.jvm, resource.RLIMIT_FSIZE, (ROOM, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.jvm, resource.RLIMIT_FSIZE, before)


def project(root: Path, format_: str, code: str) -> Project:
    (root / "tables").mkdir(exist_ok=True)
    (root / "instar.yml").write_text(
        "name: full\ndefault_env: dev\nenvironments:\n"
        f"  dev: {{type: spark, format: {format_}, schema: {SCHEMA}}}\n"
    )
    columns = "".join(f"  - {{name: {n}, type: BIGINT}}\n" for n in NUMBERS)
    (root / "tables/t.yml").write_text(
        f"table: t\ncolumns:\n{columns}  - {{name: code, type: {code}}}\n"
    )
    return Project.load(root)


def backend_of(spark_root: Path, format_: str) -> SparkBackend:
    settings = EngineSettings("spark", format_, spark_root, spark=SparkSettings(spark_root))
    found = open_engine(settings, lambda _: None).backend("")
    assert isinstance(found, SparkBackend)
    return found


@pytest.mark.parametrize("format_", FORMATS)
def test_a_rewrite_that_finds_no_room(
    format_: str, tmp_path: Path, spark: SparkHandle, spark_root: Path
) -> None:
    session, yes = spark.session, {"confirm": lambda _: True}
    before = project(tmp_path, format_, "STRING")
    before.plan(spark=session).apply(**yes)
    backend = backend_of(spark_root, format_)
    place = f"{backend.catalog}.{SCHEMA}.t"
    numbers = ", ".join(f"xxhash64(id, {n})" for n in range(len(NUMBERS)))
    spark.run(f"INSERT INTO {place} SELECT {numbers}, '7' FROM range(0, 120000, 1, 1)")
    asked = f"SELECT count(*), bit_xor(n0), min(code) FROM {place}"
    rows = spark.run(asked)

    plan = project(tmp_path, format_, "INT").plan(
        policy=Policy.of(allow_rewrite=True), spark=session
    )
    with full_disk(spark_root):
        report = plan.apply(**yes).tables[0]
    assert report.error is not None
    assert (report.ok, report.error.code) == (False, "E228")
    assert "File too large" in str(report.error)
    assert spark.run(asked) == rows

    again = project(tmp_path, format_, "INT")
    again.resume(spark=session)
    done = again.plan(policy=Policy.of(allow_rewrite=True), spark=session).apply(**yes).tables[0]
    assert done.ok, done.error
    assert [tuple(r) for r in spark.run(asked)] == [(120_000, rows[0][1], 7)]
    drop_all(backend, SCHEMA)
    backend.close()
