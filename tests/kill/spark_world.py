"""Delta, Iceberg and Parquet for the kill suite: one warm server, and each start made anew on it.

The server's folder is named by the environment; children open sessions of their own on it and die.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apply.worlds import NAME, Row
from backends.spark import rows as spark_rows
from instar.backends.registry import EngineSettings, open_engine
from instar.backends.spark.base import SparkBackend
from instar.core.schema import Table, TableName
from instar.spark.settings import SparkSettings

ROOT = "INSTAR_TEST_KILL_SPARK"


@dataclass(frozen=True)
class SparkWorld:
    """A table format; all tables are in one schema, emptied for each new folder."""

    format: str

    def open(self, root: Path) -> SparkBackend:
        spark = SparkSettings(Path(os.environ[ROOT]))
        engine = open_engine(EngineSettings("spark", self.format, root, spark=spark), print)
        backend = engine.backend("")
        assert isinstance(backend, SparkBackend)
        if not (known := root / "known").exists():
            backend.handle.run(f"CREATE SCHEMA IF NOT EXISTS {backend.catalog}.{NAME.schema}")
            spark_rows.drop_all(backend, NAME.schema)
            known.touch()
        return backend

    def insert(self, root: Path, table: Table, rows: Sequence[Row]) -> None:
        backend = self.open(root)
        spark_rows.insert(backend, table, rows)
        backend.close()

    def rows(self, root: Path, table: TableName) -> list[dict[str, Any]]:
        backend = self.open(root)
        found = backend.handle.run(f"SELECT * FROM {backend.place(table)}")
        backend.close()
        return [row.asDict(recursive=True) for row in found]
