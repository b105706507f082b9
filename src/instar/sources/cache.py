"""Checked manifests kept by the hash of their text, so that an unchanged file is not parsed again.

The cache lives in `.instar/cache` and holds plain JSON. It may be deleted at any time; one that is
broken, of another version or cannot be written is as good as none.
"""

from __future__ import annotations

import json
import os
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import Any

from instar.sources.raw import RawColumn, RawManifest

FORMAT = 2


class ManifestCache:
    """One file for each SQL dialect, because expressions were checked in it."""

    def __init__(self, root: Path, dialect: str) -> None:
        self.path = root / ".instar" / "cache" / f"manifests-{dialect}.json"
        self.stamp = _stamp()
        self.known: dict[str, RawManifest] = self._read()
        self.used: dict[str, RawManifest] = {}
        self.added = False

    def get(self, data: bytes) -> RawManifest | None:
        key = _key(data)
        found = self.known.get(key)
        if found is not None:
            self.used[key] = found
        return found

    def put(self, data: bytes, raw: RawManifest) -> None:
        self.used[_key(data)] = raw
        self.added = True

    def save(self) -> None:
        """Keep what this run used, when it is not what was there."""
        if not self.added and len(self.used) == len(self.known):
            return
        document = json.dumps(
            {"stamp": self.stamp, **_packed(self.used)}, ensure_ascii=False, separators=(",", ":")
        )
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.path.parent, suffix=".tmp")
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(document)
            os.replace(name, self.path)
        except OSError:
            return

    def _read(self) -> dict[str, RawManifest]:
        try:
            document: Any = json.loads(self.path.read_bytes())
            if document["stamp"] == self.stamp:
                return _unpacked(document["columns"], document["manifests"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            pass
        return {}


def _packed(manifests: dict[str, RawManifest]) -> dict[str, Any]:
    """Each column once, and the manifests with the numbers of theirs: most columns come back in many."""
    columns: list[RawColumn] = []
    numbers: dict[object, int] = {}

    def number(column: RawColumn) -> int:
        plain = not (column["said"] or column["fields"])
        what = (column["name"], column["type"]) if plain else json.dumps(column)
        known = numbers.setdefault(what, len(columns))
        if known == len(columns):
            columns.append(column)
        return known

    packed = {
        key: {**raw, "columns": [number(column) for column in raw["columns"]]}
        for key, raw in manifests.items()
    }
    return {"columns": columns, "manifests": packed}


def _unpacked(columns: list[RawColumn], manifests: dict[str, Any]) -> dict[str, RawManifest]:
    for raw in manifests.values():
        raw["columns"] = [columns[number] for number in raw["columns"]]
    return manifests


def _key(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _stamp() -> str:
    """What the checks depend on besides the text: this package's own code."""
    folder = Path(__file__).parent
    parts = [str(FORMAT)]
    for path in sorted(folder.glob("*.py")):
        status = path.stat()
        parts.append(f"{path.name}:{status.st_size}:{status.st_mtime_ns}")
    return blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()
