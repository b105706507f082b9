"""Opens a classic SparkSession in this process, on the user's master."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from instar.errors import EnvironmentProblem
from instar.spark.conf import PINNED, metastore_conf, table_conf
from instar.spark.connect import REMOTE_MODE
from instar.spark.failures import silence, translate
from instar.spark.jars import engine_jars
from instar.spark.java import find_java
from instar.spark.settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWN_METASTORE = (
    "spark.sql.catalogImplementation",
    "spark.hadoop.javax.jdo.option.ConnectionURL",
    "spark.hadoop.hive.metastore.uris",
)


def open_classic(settings: SparkSettings, note: Callable[[str], None]) -> SparkSession:
    """The same jars, extensions and catalogs as the local server, where `conf` says nothing else."""
    if os.environ.get(REMOTE_MODE):
        raise EnvironmentProblem(
            "E207",
            f"A Spark Connect session is open in this process, so none on {settings.master} can be.",
            hint="Close the other environment first, or use a process for each.",
        )
    java = find_java()
    conf = classic_conf(settings, engine_jars(settings, note))
    os.environ["JAVA_HOME"] = str(java.home)
    from pyspark.sql import SparkSession

    silence()
    builder = SparkSession.builder.master(settings.master or "local[*]").appName("instar")
    for key, value in conf.items():
        builder = builder.config(key, value)
    note(f"Starting Spark on {settings.master}.")
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:
        known = translate(error)
        said = known.message if known else str(error)
        raise EnvironmentProblem(
            "E202",
            f"No Spark session on {settings.master}: {said}",
            hint="Check the master's address, and that it reaches this machine.",
        ) from error
    return session


def classic_conf(settings: SparkSettings, jars: list[Path]) -> dict[str, str]:
    """Our defaults under the user's conf; jars travel to the executors."""
    given = dict(settings.conf)
    # Beside the local server's data: its metastore belongs to that server alone.
    data = settings.root.absolute() / "cluster"
    conf = PINNED | table_conf(data, given)
    conf |= {"spark.jars": ",".join(str(jar) for jar in jars)}
    conf |= {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    if not any(key in given for key in _OWN_METASTORE) and not _has_hive_site():
        conf |= metastore_conf(data)
        data.mkdir(parents=True, exist_ok=True)
    return conf | given


def _has_hive_site() -> bool:
    folders = (os.environ.get(name) for name in ("SPARK_CONF_DIR", "HADOOP_CONF_DIR"))
    return any(folder and (Path(folder) / "hive-site.xml").exists() for folder in folders)
