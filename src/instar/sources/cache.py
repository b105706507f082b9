"""Checked manifests and read queries, kept by the hash of their text: an unchanged one is not read again.

The cache lives in `.instar/cache` and holds plain JSON. It may be deleted at any time; one that is
broken, of another version or cannot be written is as good as none.
"""

from __future__ import annotations

import json
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from instar.sources.models_sql import Query, Read
from instar.sources.raw import RawColumn, RawManifest

FORMAT = 3

Kept = TypeVar("Kept")


class _Cache(ABC, Generic[Kept]):
    """One file for each SQL dialect, because expressions and queries were read in it."""

    what: ClassVar[str]

    def __init__(self, root: Path, dialect: str) -> None:
        self.path = root / ".instar" / "cache" / f"{self.what}-{dialect}.json"
        self.known: Mapping[str, Kept] = self._read()
        self.used: dict[str, Kept] = {}
        self.added = False

    @abstractmethod
    def packed(self, used: Mapping[str, Kept]) -> dict[str, Any]:
        """As JSON."""

    @abstractmethod
    def unpacked(self, document: dict[str, Any]) -> Mapping[str, Kept]:
        """What `packed` gave; whatever it raises means that the file is broken."""

    def get(self, data: bytes) -> Kept | None:
        key = _key(data)
        found = self.known.get(key)
        if found is not None:
            self.used[key] = found
        return found

    def put(self, data: bytes, value: Kept) -> None:
        self.used[_key(data)] = value
        self.added = True

    def save(self) -> None:
        """Keep what this run used, when it is not what was there."""
        if not self.added and len(self.used) == len(self.known):
            return
        document = json.dumps(
            {"stamp": _stamp(), **self.packed(self.used)}, ensure_ascii=False, separators=(",", ":")
        )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(document)
            os.replace(name, self.path)
        except OSError:
            return

    def _read(self) -> Mapping[str, Kept]:
        try:
            document: Any = json.loads(self.path.read_bytes())
            if document["stamp"] == _stamp():
                return self.unpacked(document)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            pass
        return {}


class ManifestCache(_Cache[RawManifest]):
    """Each column once, and the manifests with the numbers of theirs: most columns come back in many."""

    what = "manifests"

    def packed(self, used: Mapping[str, RawManifest]) -> dict[str, Any]:
        columns: list[RawColumn] = []
        numbers: dict[object, int] = {}

        def number(column: RawColumn) -> int:
            plain = not (column["said"] or column["fields"])
            what = (column["name"], column["type"]) if plain else json.dumps(column)
            known = numbers.setdefault(what, len(columns))
            if known == len(columns):
                columns.append(column)
            return known

        manifests = {
            key: {**raw, "columns": [number(column) for column in raw["columns"]]}
            for key, raw in used.items()
        }
        return {"columns": columns, "manifests": manifests}

    def unpacked(self, document: dict[str, Any]) -> Mapping[str, RawManifest]:
        columns: list[RawColumn] = document["columns"]
        manifests: dict[str, RawManifest] = document["manifests"]
        for raw in document["manifests"].values():
            raw["columns"] = [columns[number] for number in raw["columns"]]
        return manifests


class QueryCache(_Cache[Query]):
    what = "queries"

    def packed(self, used: Mapping[str, Query]) -> dict[str, Any]:
        return {"queries": {key: _told(query) for key, query in used.items()}}

    def unpacked(self, document: dict[str, Any]) -> Mapping[str, Query]:
        return {key: _query(*told) for key, told in document["queries"].items()}


def _told(query: Query) -> list[Any]:
    reads = [[list(r.parts), r.by_ref, r.start, r.end, r.bare] for r in query.reads]
    return [reads, list(query.outputs), query.star, query.canonical, query.unseen]


def _query(reads: Any, outputs: Any, star: bool, canonical: str, unseen: bool) -> Query:
    read = tuple(Read(tuple(parts), *rest) for parts, *rest in reads)
    return Query(read, tuple(outputs), star, canonical, unseen)


def _key(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def _stamp() -> str:
    """What was read depends on this besides the text: our own code, and the parser of SQL."""
    here = Path(__file__).parent
    parser = find_spec("sqlglot")
    own = [*sorted(here.glob("*.py")), here.parent / "dialects.py", here.parent / "expressions.py"]
    parts = [str(FORMAT)]
    for path in [*own, *([Path(parser.origin)] if parser and parser.origin else [])]:
        status = path.stat()
        parts.append(f"{path.name}:{status.st_size}:{status.st_mtime_ns}")
    return blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()
