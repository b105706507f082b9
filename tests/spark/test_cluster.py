"""A real standalone cluster on the loopback: a Connect server attached to it, and a classic session."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from instar import Policy, Project
from instar.spark import SparkHandle, SparkSettings, open_session, stop_server
from instar.spark.conf import log4j_text
from instar.spark.launch import clean_environment, script
from spark.test_server_life import eventually
from starting import DIES_WITH_PARENT, first

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_CONF = (
    ("spark.executor.memory", "640m"),
    ("spark.executor.extraJavaOptions", _JVM),
    ("spark.cores.max", "2"),
    ("spark.driver.memory", "1g"),
)
_CLASSIC = """
import sys
from pathlib import Path
from instar.errors import EnvironmentProblem
from instar.spark import SparkSettings, SparkSqlError, adopt, open_session
sys.path.insert(0, sys.argv[3])
from spark.test_cluster import _CONF, work
conf = (*_CONF, ("spark.driver.extraJavaOptions", sys.argv[4]), ("spark.driver.host", "127.0.0.1"))
settings = SparkSettings(Path(sys.argv[1]), master=sys.argv[2], conf=conf)
with open_session(settings, note=lambda _: None) as spark:
    work(spark)
    with adopt(spark.session) as adopted:
        assert adopted.run("SELECT 1")[0][0] == 1
    try:
        open_session(settings, note=print)
    except EnvironmentProblem as problem:
        print(problem.code)
    try:
        spark.run("SELECT 1 / 0")
    except SparkSqlError as error:
        print(error.condition, error.sqlstate)
    print(type(spark.session).__module__, spark.session.sparkContext.master)
"""


class Daemons:
    """Spark's own daemons, each in its process, ended with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        conf = folder / "conf"
        conf.mkdir()
        text = log4j_text().replace("rootLogger.level = warn", "rootLogger.level = info")
        (conf / "log4j2.properties").write_text(text)
        self.environment = clean_environment(conf) | {
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _JVM,
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, role: str, *arguments: str, until: str) -> str:
        """Start a daemon and return what its log says in the group of `until`."""
        log = self.folder / f"{role}.log"
        name = f"org.apache.spark.deploy.{role}.{role.capitalize()}"
        common = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        with log.open("wb") as out:
            process = subprocess.Popen(
                first(DIES_WITH_PARENT, [script("spark-class"), name, *common, *arguments]),
                env=self.environment,
                stdout=out,
                stderr=out,
            )
        self.processes.append(process)
        assert eventually(lambda: bool(re.search(until, log.read_text())), 120), log.read_text()
        found = re.search(until, log.read_text())
        assert found is not None
        return found.group(0)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    daemons = Daemons(tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(daemons.stop)
        url = daemons.start("master", until=r"spark://127\.0\.0\.1:\d+")
        work_dir = ("--work-dir", str(tmp_path / "work"))
        size = ("--cores", "2", "--memory", "1g")
        daemons.start("worker", *size, *work_dir, url, until="Successfully registered with master")
        yield url


def work(spark: SparkHandle) -> None:
    """Tables of both formats, written and read by executors in another process."""
    spark.run("CREATE NAMESPACE ice.main")
    for table, kind in (("d", "delta"), ("ice.main.i", "iceberg")):
        spark.run(f"CREATE TABLE {table} (id BIGINT, part INT) USING {kind}")
        spark.run(f"INSERT INTO {table} SELECT id, id % 2 FROM range(10)")
        assert spark.run(f"SELECT sum(id), count(DISTINCT part) FROM {table}")[0][:] == (45, 2)


def evolve(root: Path, spark: SparkHandle) -> None:
    """A plan and an apply on the cluster: columns added and renamed natively, then a table rewritten."""
    (root / "tables").mkdir(parents=True)
    (root / "instar.yml").write_text(
        "name: shop\nenvironments:\n  dev: {type: spark, schema: main, format: delta}\n"
    )
    shapes = ("{name: n, type: STRING}", "{name: n, type: INT}, {name: note, type: STRING}")
    for shape in shapes:
        for format_ in ("delta", "iceberg"):
            (root / f"tables/t_{format_}.yml").write_text(
                f"table: t_{format_}\nformat: {format_}\n"
                f"columns: [{{name: id, type: BIGINT}}, {shape}]\n"
            )
        project = Project.load(root)
        plan = project.plan("dev", Policy.of(allow_rewrite=True), spark=spark.session)
        report = project.apply(plan, confirm=lambda _: True, spark=spark.session)
        assert all(t.ok for t in report.tables), report
        for place in _PLACES if shape == shapes[0] else ():
            spark.run(f"INSERT INTO {place} SELECT id, CAST(id * 7 AS STRING) FROM range(1000)")
    for place in _PLACES:
        assert spark.run(f"SELECT count(*), sum(n), max(note) FROM {place}")[0][:] == (
            1000,
            7 * 499500,
            None,
        )


_PLACES = ("spark_catalog.main.t_delta", "ice.main.t_iceberg")


def test_connect_and_classic_on_a_standalone_cluster(tmp_path: Path, master: str) -> None:
    root = tmp_path / "project"
    attached = SparkSettings(root, conf=(*_CONF, ("spark.master", master)))
    try:
        with open_session(attached, note=print) as spark:
            work(spark)
            evolve(root, spark)
            assert spark.run("SET spark.master")[0].value == master
    finally:
        # Its executors give their cores back; the classic session needs them.
        stop_server(root)
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", _CLASSIC, str(root), master, tests, _JVM],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        # The suite's own Connect session marks this process, and a child would inherit the mark.
        env={k: v for k, v in os.environ.items() if not k.startswith("SPARK_")},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = ["E207", "DIVIDE_BY_ZERO", "22012", "pyspark.sql.session", master]
    assert (done.stdout.split(), done.stderr) == (said, "")
    assert (root / "cluster" / "driver.log").exists()
