"""The files of a Parquet table as Spark sees them: their list, and the types in their footers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from instar.backends.spark.statements import escaped
from instar.backends.spark.types import columns_from_json
from instar.core.types import Column
from instar.spark import SparkHandle
from instar.spark.failures import SparkSqlError

_SINGLY = 256
"""Footers that cannot be merged are read one by one up to this many files."""


@dataclass(frozen=True, slots=True)
class File:
    """`path` is relative to the table's folder."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class FileReader:
    handle: SparkHandle

    def listed(self, location: str) -> list[File]:
        """Every data file under a folder; a folder that is not there has none."""
        try:
            with self.handle.errors():
                reader = self.handle.session.read.format("binaryFile")
                files = reader.option("recursiveFileLookup", "true").load(escaped(location))
                rows = files.select("path", "length").collect()
        except SparkSqlError as error:
            if error.condition == "PATH_NOT_FOUND":
                return []
            raise
        return sorted(
            (File(_relative(r["path"], location), int(r["length"])) for r in rows),
            key=lambda f: f.path,
        )

    def schemas(self, location: str, files: Iterable[File]) -> Iterator[tuple[Column, ...]]:
        """The schemas in the files' footers: the merged one, or each one where they do not merge."""
        names = [f.path for f in files]
        if not names:
            return
        try:
            yield self._schema(location, merge=True)
            return
        except SparkSqlError:
            if len(names) > _SINGLY:
                raise
        seen: set[tuple[Column, ...]] = set()
        for name in names:
            found = self._schema(f"{location.rstrip('/')}/{name}", merge=False)
            if found not in seen:
                seen.add(found)
                yield found

    def _schema(self, path: str, *, merge: bool) -> tuple[Column, ...]:
        with self.handle.errors():
            reader = self.handle.session.read.option("mergeSchema", str(merge).lower())
            schema = reader.option("recursiveFileLookup", "true").parquet(escaped(path)).schema
            return columns_from_json(schema.json())


def digest(files: Iterable[File]) -> str:
    """Names and sizes in one short text."""
    text = "\n".join(f"{f.path}\t{f.size}" for f in files)
    return hashlib.sha256(text.encode()).hexdigest()


def _relative(path: str, location: str) -> str:
    """The part after the table's folder, whatever the scheme is written like."""
    folder = re.sub(r"^\w+:/*", "/", location).rstrip("/") + "/"
    where = re.sub(r"^\w+:/*", "/", path)
    return where[len(folder) :] if where.startswith(folder) else where
