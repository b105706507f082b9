"""Settings for tables of three rows: most of Spark's time would go into compiling and re-planning."""

from __future__ import annotations

import os

from instar.spark import SparkHandle

_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}

# Each suite ends long before what the optimizing compiler makes of Spark has paid for itself. The quick
# compiler alone gets a small code cache by default, and spends its time sweeping it.
_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"


def compile_quickly() -> None:
    """Every Java that the tests start from here on; `make full` leaves them as the product has them."""
    if not os.environ.get("INSTAR_ALL"):
        os.environ.setdefault("JDK_JAVA_OPTIONS", _JVM)


def for_few_rows(handle: SparkHandle) -> SparkHandle:
    """The handle itself; `make full` leaves its session as the product has it."""
    if not os.environ.get("INSTAR_ALL"):
        for key, value in _SETTINGS.items():
            handle.session.conf.set(key, value)
    return handle
