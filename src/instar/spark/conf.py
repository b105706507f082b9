"""Spark's configuration as data: what every session gets, and what only the local server gets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

DELTA_CATALOG = "spark_catalog"
ICEBERG_CATALOG = "ice"

KEEPS_NOT_NULL = f"spark.sql.catalog.{ICEBERG_CATALOG}.use-nullable-query-schema"
"""Whether CREATE … AS makes every column of an Iceberg table nullable; read when a session first uses it."""

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""What a session's Delta commits carry: while Instar works, its own mark."""

# What a statement means must not depend on where it runs.
PINNED = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.sources.partitionOverwriteMode": "static",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    # How a literal is read; and no `${env:HOME}` in a comment becomes the server's.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
}

_EXTENSIONS = (
    "io.delta.sql.DeltaSparkSessionExtension",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)

# Measured on one-row tables: with Spark's defaults a select costs seven times as much.
_SMALL_DATA = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}

# Starts sooner than the collector with threads of its own, which a small heap does not need.
_SMALL_JVM = ("-XX:+UseSerialGC",)

# A person may sleep over a question that a command asks; its session must still be there.
_SESSION_TIMEOUT = "12h"

# What a killed command has left running ends within two minutes, not seven: its next run should not meet it.
_ABANDONED = {
    "spark.connect.execute.reattachable.senderMaxStreamDuration": "30s",
    "spark.connect.execute.manager.detachedTimeout": "60s",
    "spark.connect.execute.manager.maintenanceInterval": "10s",
}


def table_conf(data: Path, given: Iterable[str]) -> dict[str, str]:
    """Extensions and catalogs with all data under one folder; a catalog given by hand stays."""
    given = set(given)
    conf = {"spark.sql.extensions": ",".join(_EXTENSIONS), KEEPS_NOT_NULL: "false"}
    if f"spark.sql.catalog.{DELTA_CATALOG}" not in given:
        conf |= {
            f"spark.sql.catalog.{DELTA_CATALOG}": "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        }
    if f"spark.sql.catalog.{ICEBERG_CATALOG}" not in given:
        conf |= _iceberg(data)
    return conf


def metastore_conf(data: Path) -> dict[str, str]:
    """A Hive metastore on Derby: names of Delta and Parquet tables live on between commands."""
    return {
        "spark.sql.warehouse.dir": str(data / "warehouse"),
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={data / 'metastore'};create=true"
        ),
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }


def server_conf(
    data: Path, tmp: Path, jars: Iterable[Path], given: Mapping[str, str]
) -> dict[str, str]:
    """Everything the local server starts with; it listens on the loopback only, on a free port."""
    derby = (f"-Dderby.system.home={data}", f"-Dderby.stream.error.file={tmp / 'derby.log'}")
    options = (*_SMALL_JVM, *derby, f"-Djava.io.tmpdir={tmp}")
    own = _SMALL_DATA | PINNED | table_conf(data, given) | metastore_conf(data)
    own |= _ABANDONED | {
        "spark.app.name": "instar",
        "spark.master": "local[*]",
        "spark.driver.memory": _memory(),
        "spark.driver.extraJavaOptions": " ".join(_quoted(option) for option in options),
        "spark.local.dir": str(tmp),
        "spark.hadoop.hive.exec.scratchdir": str(tmp / "hive"),
        "spark.connect.session.manager.defaultSessionTimeout": _SESSION_TIMEOUT,
    }
    forced = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
    }
    jars = list(jars)
    if not given.get("spark.master", "local").startswith("local"):
        own["spark.jars"] = ",".join(str(jar) for jar in jars)
    path = [*map(str, jars), given.get("spark.driver.extraClassPath", "")]
    forced["spark.driver.extraClassPath"] = os.pathsep.join(filter(None, path))
    return own | dict(given) | joined(own, given) | forced


def joined(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Lists that the user lengthens rather than replaces."""
    separators = {"spark.sql.extensions": ",", "spark.driver.extraJavaOptions": " "}
    return {
        key: between.join(dict.fromkeys((own[key], given[key])))
        for key, between in separators.items()
        if key in own and key in given
    }


def properties_text(conf: Mapping[str, str]) -> str:
    """The configuration as a Java properties file."""
    return "".join(f"{key}={_escaped(conf[key])}\n" for key in sorted(conf))


def log4j_text() -> str:
    """Warnings and errors, and the one line that tells the port."""
    return """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.server.name = org.apache.spark.sql.connect.service.SparkConnectServer
logger.server.level = info
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
"""


def _iceberg(data: Path) -> dict[str, str]:
    name = f"spark.sql.catalog.{ICEBERG_CATALOG}"
    return {
        name: "org.apache.iceberg.spark.SparkCatalog",
        f"{name}.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        f"{name}.uri": f"jdbc:sqlite:{data / 'iceberg.db'}",
        f"{name}.warehouse": str(data / "iceberg"),
        f"{name}.jdbc.schema-version": "V1",
    }


def _memory() -> str:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return "4g" if total >= 16 else "2g"


def _quoted(option: str) -> str:
    return f'"{option}"' if " " in option else option


def _escaped(value: str) -> str:
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"\\{text}" if text[:1].isspace() else text
