"""Reads Iceberg metadata files through Spark: many tables in two jobs."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlparse

from instar.backends.spark.statements import escaped, full_name
from instar.backends.sql import quote_backtick
from instar.core.schema import TableName
from instar.errors import EngineError
from instar.spark import SparkHandle
from instar.spark.failures import SparkSqlError

_BATCH = 50
_LOG = "metadata_log_entries"
_VERSION = re.compile(r"v?(\d+)[^/]*$")
_GZIP = b"\x1f\x8b"

Metadata = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MetadataReader:
    """Everything the backend knows of a table comes from its newest metadata file."""

    handle: SparkHandle
    catalog: str

    def tables(self, schema: str) -> list[str]:
        return self._listed("TABLES", "tableName", schema)

    def views(self, schema: str) -> list[str]:
        return self._listed("VIEWS", "viewName", schema)

    def read(self, names: Sequence[TableName]) -> dict[TableName, Metadata]:
        """The metadata of tables that exist."""
        found: dict[TableName, Metadata] = {}
        for start in range(0, len(names), _BATCH):
            found |= self._batch(names[start : start + _BATCH])
        return found

    def _batch(self, names: Sequence[TableName]) -> dict[TableName, Metadata]:
        files = self._newest(names)
        with self.handle.errors():
            reader = self.handle.session.read.format("binaryFile")
            rows = reader.load([escaped(f) for f in files.values()]).select("path", "content")
            content = {_plain(row["path"]): bytes(row["content"]) for row in rows.collect()}
        return {name: _document(content[_plain(file)]) for name, file in files.items()}

    def _newest(self, names: Sequence[TableName]) -> dict[TableName, str]:
        for name in names:
            # Another session's commits are hidden for a while by the catalog's cache; of a name with a
            # dot it does not know which metadata tables to forget.
            full = full_name(self.catalog, name)
            self.handle.run(f"REFRESH TABLE {full}")
            if "." in name.name:
                self.handle.run(f"REFRESH TABLE {full}.{_LOG}")
        queries = (
            f"SELECT {at} AS n, timestamp, file FROM {full_name(self.catalog, name)}.{_LOG}"
            for at, name in enumerate(names)
        )
        rows = self.handle.run(" UNION ALL ".join(queries))
        newest: dict[int, tuple[Any, int, str]] = {}
        for row in rows:
            key = (row["timestamp"], _version(row["file"]), row["file"])
            newest[row["n"]] = max(newest.get(row["n"], key), key)
        return {names[n]: file for n, (_, _, file) in newest.items()}

    def _is_known(self) -> bool:
        with self.handle.errors():
            return bool(self.handle.session.conf.get(f"spark.sql.catalog.{self.catalog}", None))

    def _listed(self, what: str, column: str, schema: str) -> list[str]:
        place = f"{quote_backtick(self.catalog)}.{quote_backtick(schema)}"
        try:
            rows = self.handle.run(f"SHOW {what} IN {place}")
        except SparkSqlError as error:
            if not self._is_known():
                raise _no_catalog(self.catalog) from error
            if _is_absent(error, what):
                return []
            raise
        return [row[column] for row in rows if not row["isTemporary"]]


def _no_catalog(name: str) -> EngineError:
    return EngineError(
        "E210",
        f"This Spark session has no catalog '{name}', in which Iceberg tables are looked for",
        hint=f"Set spark.sql.catalog.{name} = org.apache.iceberg.spark.SparkCatalog and what your catalog"
        " needs (type, uri, warehouse) where the session is made: see docs/how-to/spark.md.",
    )


def _is_absent(error: SparkSqlError, what: str) -> bool:
    """No such namespace; or a catalog that has no views at all."""
    gone = "NoSuchNamespace" in error.detail or "SCHEMA_NOT_FOUND" in error.detail
    return gone or what == "VIEWS"


def _version(file: str) -> int:
    found = _VERSION.search(file.rsplit("/", 1)[-1])
    return int(found.group(1)) if found else 0


def _document(content: bytes) -> Metadata:
    text = gzip.decompress(content) if content.startswith(_GZIP) else content
    document: Metadata = json.loads(text)
    return document


def _plain(path: str) -> str:
    """`file:/a%20b` and `/a b` are one place."""
    parsed = urlparse(path)
    where = path if len(parsed.scheme) < 2 else path[len(parsed.scheme) + 1 :]
    return "/" + unquote(where).lstrip("/")


def by_schema(names: Iterable[TableName]) -> dict[str, list[TableName]]:
    found: dict[str, list[TableName]] = {}
    for name in names:
        found.setdefault(name.schema, []).append(name)
    return found
