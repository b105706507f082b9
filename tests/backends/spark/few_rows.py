"""Settings of a session whose tables have three rows: a third of the time goes into compiling and re-planning."""

from __future__ import annotations

import os

from instar.spark import SparkHandle

_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def for_few_rows(handle: SparkHandle) -> SparkHandle:
    """The handle itself; `make full` leaves its session as the product has it."""
    if not os.environ.get("INSTAR_ALL"):
        for key, value in _SETTINGS.items():
            handle.session.conf.set(key, value)
    return handle
