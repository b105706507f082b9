"""Tables outlive the server, however it ends: killed in the middle of a statement, or stopped."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from instar.errors import OutcomeUnknown
from instar.spark import SparkHandle, SparkSettings, open_session, server_status, stop_server
from instar.spark.jars import engine_jars
from spark.test_server_life import eventually, is_gone

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_TABLES = ("main.d", "main.p", "ice.main.i")
_ENDLESS = "SELECT count(*) FROM range(0, 100000000000) WHERE id * 3 % 7 = 1"


def create(spark: SparkHandle) -> None:
    spark.run("CREATE SCHEMA main")
    spark.run("CREATE NAMESPACE ice.main")
    for table, kind in zip(_TABLES, ("delta", "parquet", "iceberg"), strict=True):
        spark.run(f"CREATE TABLE {table} (id INT, s STRUCT<Inner: INT>) USING {kind}")
        spark.run(f"INSERT INTO {table} VALUES (1, named_struct('Inner', 1))")


def check_and_grow(spark: SparkHandle, rows: int) -> None:
    """Every table holds what it held, and takes one more row and one more column."""
    for table in _TABLES:
        assert spark.run(f"SELECT count(*), max(s.Inner) FROM {table}")[0][:] == (rows, 1)
        spark.run(f"ALTER TABLE {table} ADD COLUMN c{rows} INT COMMENT 'grown'")
        spark.run(f"INSERT INTO {table} (id, c{rows}) VALUES ({rows + 1}, {rows})")


def test_tables_outlive_a_killed_and_a_stopped_server(tmp_path: Path) -> None:
    root = tmp_path / "a project"
    try:
        with open_session(SparkSettings(root), note=print) as spark:
            create(spark)
            first = server_status(root)
            assert first is not None
            threading.Timer(0.5, os.kill, (first.pid, signal.SIGKILL)).start()
            with pytest.raises(OutcomeUnknown) as caught:
                spark.run(_ENDLESS)
            assert caught.value.code == "E211"
        # The JVM follows its killed supervisor; nothing is left behind.
        assert eventually(lambda: is_gone(first.pid) and is_gone(first.jvm))

        with open_session(SparkSettings(root), note=print) as spark:
            check_and_grow(spark, rows=1)

        # Other settings: the idle server is stopped and another one takes its place.
        folder = tmp_path / "jars"
        folder.symlink_to(engine_jars(SparkSettings(root), print)[0].parent)
        conf = (("spark.sql.shuffle.partitions", "3"),)
        other = SparkSettings(root, conf=conf, jars=folder, idle_seconds=1)
        with open_session(other, note=print) as spark:
            assert spark.run("SET spark.sql.shuffle.partitions")[0].value == "3"
            check_and_grow(spark, rows=2)
        last = server_status(root)
        assert last is None or eventually(lambda: is_gone(last.jvm))
    finally:
        stop_server(root)
