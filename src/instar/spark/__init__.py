"""The one place that makes a SparkSession; importing it does not load pyspark."""

from __future__ import annotations

from instar.spark.failures import SparkSqlError
from instar.spark.server import ServerStatus, server_status, stop_server
from instar.spark.session import SparkHandle, adopt, open_session
from instar.spark.settings import SparkSettings

__all__ = [
    "ServerStatus",
    "SparkHandle",
    "SparkSettings",
    "SparkSqlError",
    "adopt",
    "open_session",
    "server_status",
    "stop_server",
]
