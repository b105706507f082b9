"""Delta, Iceberg and Parquet for the kill suite: one warm server, and each start made anew on it.

The server's folder is named by the environment; children open sessions of their own on it and die.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from apply.worlds import NAME, Row
from backends.spark import rows as spark_rows
from backends.spark.few_rows import for_few_rows
from instar.backends.keeping import Copy
from instar.backends.registry import EngineSettings, open_engine
from instar.backends.spark.base import SparkBackend
from instar.core.schema import Table, TableName
from instar.spark.settings import SparkSettings
from kill.catalog import Picture, Words

ROOT = "INSTAR_TEST_KILL_SPARK"


@dataclass(frozen=True)
class SparkWorld:
    """A table format; all tables are in one schema, emptied for each new folder."""

    format: str
    words: ClassVar[Words] = {}

    def open(self, root: Path) -> SparkBackend:
        spark = SparkSettings(Path(os.environ[ROOT]))
        engine = open_engine(
            EngineSettings("spark", self.format, root, spark=spark), lambda _: None
        )
        backend = engine.backend("")
        assert isinstance(backend, SparkBackend)
        for_few_rows(backend.handle)
        if not (known := root / "known").exists():
            backend.handle.run(f"CREATE SCHEMA IF NOT EXISTS {backend.catalog}.{NAME.schema}")
            spark_rows.drop_all(backend, NAME.schema)
            # A recreated Parquet table is EXTERNAL: its folder outlives it, and Delta would find it there.
            shutil.rmtree(spark.root / "warehouse" / f"{NAME.schema}.db", ignore_errors=True)
            known.touch()
        return backend

    def insert(self, root: Path, table: Table, rows: Sequence[Row]) -> None:
        backend = self.open(root)
        spark_rows.insert(backend, table, rows)
        backend.close()

    def rows(self, root: Path, copy: Copy) -> list[dict[str, Any]]:
        """Of a table, or of a version in the history of one."""
        backend = self.open(root)
        name = copy.name if copy.version is None else copy.table
        version = "" if copy.version is None else f" VERSION AS OF {copy.version}"
        found = backend.handle.run(f"SELECT * FROM {backend.place(name)}{version}")
        backend.close()
        return [row.asDict(recursive=True) for row in found]

    def picture(self, root: Path, table: TableName) -> Picture:
        backend = self.open(root)
        found = backend.handle.run(f"DESCRIBE TABLE {backend.place(table)}")
        backend.close()
        return {"columns": [(row["col_name"], row["data_type"]) for row in found]}

    def tables(self, root: Path, schema: str) -> list[str]:
        backend = self.open(root)
        found = backend.handle.run(f"SHOW TABLES IN {backend.catalog}.{schema}")
        backend.close()
        return sorted(row["tableName"] for row in found)
