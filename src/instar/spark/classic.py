"""Opens a classic SparkSession in this process, on the user's master."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from instar.errors import EnvironmentProblem
from instar.spark.conf import PINNED, joined, metastore_conf, table_conf
from instar.spark.connect import REMOTE_MODE, probe
from instar.spark.failures import silence, translate
from instar.spark.jars import engine_jars
from instar.spark.java import find_java
from instar.spark.settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MASTER_PORT = 7077
_OWN_METASTORE = (
    "spark.sql.catalogImplementation",
    "spark.hadoop.javax.jdo.option.ConnectionURL",
    "spark.hadoop.hive.metastore.uris",
)


def open_classic(settings: SparkSettings, master: str, note: Callable[[str], None]) -> SparkSession:
    """The same jars, extensions and catalogs as the local server, where `conf` says nothing else."""
    from pyspark.sql import SparkSession

    if os.environ.get(REMOTE_MODE) or SparkSession.getActiveSession() is not None:
        raise EnvironmentProblem(
            "E207",
            f"Another Spark session is open in this process, so none on {master} can be.",
            hint="Close it first, hand it in instead, or use a process for each.",
        )
    _reach(master)
    java = find_java()
    folder = _folder(settings)
    conf = classic_conf(settings, engine_jars(settings, note))
    os.environ["JAVA_HOME"] = str(java.home)
    silence()
    builder = SparkSession.builder.master(master).appName("instar")
    for key, value in conf.items():
        builder = builder.config(key, value)
    note(f"Starting Spark on {master}.")
    try:
        with _output_to(folder / "driver.log"):
            session: SparkSession = builder.getOrCreate()
    except Exception as error:
        known = translate(error)
        raise EnvironmentProblem(
            "E202",
            f"No Spark session on {master}: {known.message if known else error}",
            hint=f"Check that the master reaches this machine; the log is {folder / 'driver.log'}.",
        ) from error
    return session


def classic_conf(settings: SparkSettings, jars: list[Path]) -> dict[str, str]:
    """Our defaults under the user's conf; jars travel to the executors."""
    given = dict(settings.conf)
    folder = _folder(settings)
    conf = PINNED | table_conf(folder, given)
    conf |= {"spark.jars": ",".join(str(jar) for jar in jars)}
    conf |= {"spark.ui.showConsoleProgress": "false"}
    if not any(key in given for key in _OWN_METASTORE) and not _has_hive_site():
        conf |= metastore_conf(folder)
        # Derby would leave its log in the folder where the command was called.
        conf |= {"spark.driver.extraJavaOptions": f'"-Dderby.system.home={folder}"'}
    return conf | given | joined(conf, given)


def _folder(settings: SparkSettings) -> Path:
    """Beside the local server's data: its metastore belongs to that server alone."""
    folder = settings.root.absolute() / "cluster"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _reach(master: str) -> None:
    """One host of a standalone master must answer; Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    problems: list[EnvironmentProblem] = []
    for host in master.removeprefix("spark://").split(","):
        try:
            probe(f"spark://{host}", _MASTER_PORT)
        except EnvironmentProblem as problem:
            problems.append(problem)
        else:
            return
    raise problems[0]


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """What the JVM writes all its life goes where our output points at its birth."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(target, 1)
        os.dup2(target, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, saved in enumerate(kept, start=1):
            os.dup2(saved, number)
            os.close(saved)
        os.close(target)


def _has_hive_site() -> bool:
    folders = (os.environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR"))
    return any(folder and (Path(folder) / "hive-site.xml").exists() for folder in folders)
