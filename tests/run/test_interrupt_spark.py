"""Ctrl-C during a run on Spark: the job is cancelled on the server, and the run can be resumed.

The model that is interrupted would take hours, and it tells by a property of the server's Java that it lives.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from instar import Project
from instar.spark import SparkHandle, SparkSettings
from instar.spark.server import Lease, lease_server
from models.lake import Lake
from models.world import policy, statuses
from run.test_interrupt import PATIENCE, interrupted

pytestmark = pytest.mark.spark

ENDLESS = """SELECT count(p) AS s FROM (
  SELECT java_method('java.lang.System', 'setProperty', '{beat}', CAST(id AS STRING)) AS p,
         java_method('java.lang.Thread', 'sleep', CAST(20 AS BIGINT)) AS q
  FROM range(0, 100000000, 1, 1)) WHERE q IS NULL OR p IS NOT NULL"""


@pytest.fixture
def lease(spark_root: Path, spark: SparkHandle) -> Iterator[Lease]:
    """The address of the run's warm server, for a command of its own."""
    found = lease_server(SparkSettings(spark_root), note=lambda _: None)
    yield found
    found.release()


def beat(spark: SparkHandle, name: str) -> str:
    """The last row that the endless model has come to; empty before the first."""
    asked = f"SELECT java_method('java.lang.System', 'getProperty', '{name}', '') AS b"
    return str(spark.run(asked)[0]["b"])


def moves(spark: SparkHandle, name: str) -> bool:
    before = beat(spark, name)
    time.sleep(1.0)
    return beat(spark, name) != before


def test_ctrl_c_cancels_the_job_on_the_server(
    tmp_path: Path, spark: SparkHandle, lease: Lease
) -> None:
    lake, name = Lake(tmp_path, spark), f"instar.test.{uuid.uuid4().hex}"
    address = f"sc://localhost:{lease.port}/;token={lease.token}"
    (tmp_path / "instar.yml").write_text(
        f"name: shop\nenvironments:\n  dev: {{type: spark, schema: {lake.schema}, format: delta,"
        f' connect_url: "{address}"}}\n'
    )
    lake.model("a_quick", "SELECT 1 AS id")
    lake.model("b_endless", ENDLESS.format(beat=name) + " AND (SELECT max(id) FROM a_quick) = 1")
    try:
        interrupted(lake.root, until=lambda: beat(spark, name) != "")
        deadline = time.monotonic() + PATIENCE
        while moves(spark, name):
            assert time.monotonic() < deadline, "the job still runs on the server"
        lake.model("b_endless", "SELECT count(*) AS s FROM a_quick")
        report = Project.load(lake.root).run(
            policy=policy(("allow_full_refresh",)),
            confirm=lambda _: True,
            resume=True,
            spark=spark.session,
        )
        assert statuses(report) == {"a_quick": "skipped", "b_endless": "built"}
        assert [row["s"] for row in lake.rows("b_endless")] == [1]
    finally:
        lake.close()
