"""Partition transforms and sort fields of Iceberg: one spelling each, to and from text and metadata.

A top-level column stands under its bare name (`id`, `odd name`); everything else is an expression whose
names are in backticks unless plain: `days(ts)`, `bucket(16, id)`, `profile.zip`, `id DESC`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from instar.backends.sql import quote_backtick
from instar.core.matching import Fold
from instar.core.types import Column, Path, Struct, children, path_text, walk

_CALL = re.compile(r"(\w+)\s*\(\s*(?:(\d+)\s*,\s*)?(.+?)\s*\)", re.DOTALL)
_ORDER = re.compile(
    r"(.+?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?", re.IGNORECASE | re.DOTALL
)
_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`\s]+)")

# How people, Spark and Iceberg's metadata spell each transform, and the one spelling kept here.
_KINDS = {
    "identity": "",
    "year": "years",
    "years": "years",
    "month": "months",
    "months": "months",
    "day": "days",
    "days": "days",
    "date": "days",
    "hour": "hours",
    "hours": "hours",
    "date_hour": "hours",
    "bucket": "bucket",
    "truncate": "truncate",
}
_SIZED = ("bucket", "truncate")


@dataclass(frozen=True, slots=True)
class Transform:
    """`kind` is empty for the column itself; `size` belongs to bucket and truncate."""

    kind: str
    source: Path
    size: int | None = None

    def text(self) -> str:
        if not self.kind and len(self.source) == 1:
            return self.source[0]
        return self._written(path_text(self.source))

    def sql(self) -> str:
        return self._written(".".join(map(quote_backtick, self.source)))

    def _written(self, source: str) -> str:
        if not self.kind:
            return source
        size = f"{self.size}, " if self.kind in _SIZED else ""
        return f"{self.kind}({size}{source})"


@dataclass(frozen=True, slots=True)
class SortField:
    transform: Transform
    descending: bool = False
    nulls_first: bool = True

    def text(self) -> str:
        return self.transform.text() + self._suffix()

    def sql(self) -> str:
        return self.transform.sql() + self._suffix()

    def _suffix(self) -> str:
        """Iceberg sorts NULLs first upwards and last downwards unless told."""
        direction = " DESC" if self.descending else ""
        if self.nulls_first != self.descending:
            return direction
        return f"{direction} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


def parse_transform(text: str, columns: tuple[Column, ...], fold: Fold) -> Transform | None:
    """The transform that the text means on these columns; None when it means nothing."""
    if (whole := _resolved((text,), columns, fold)) is not None:
        return Transform("", whole)
    if call := _CALL.fullmatch(text.strip()):
        word, size, inner = call.groups()
        kind = _KINDS.get(word.lower())
        source = _resolved(_path(inner), columns, fold)
        sized = kind in _SIZED
        if kind is None or source is None or sized != (size is not None):
            return None
        return Transform(kind, source, int(size) if size else None)
    source = _resolved(_path(text), columns, fold)
    return None if source is None else Transform("", source)


def parse_sort(text: str, columns: tuple[Column, ...], fold: Fold) -> SortField | None:
    """A sort field: a transform, then perhaps its direction and where NULLs go."""
    if (plain := parse_transform(text, columns, fold)) is not None:
        return SortField(plain)
    found = _ORDER.fullmatch(text.strip())
    if found is None:
        return None
    inner, direction, nulls = found.groups()
    transform = parse_transform(inner, columns, fold)
    if transform is None:
        return None
    descending = (direction or "").lower() == "desc"
    first = nulls.lower() == "first" if nulls else not descending
    return SortField(transform, descending, first)


def transform_from_metadata(field: Mapping[str, Any], paths: Mapping[int, Path]) -> Transform:
    """A partition or sort field as Iceberg's metadata has it: `bucket[16]` over a field id."""
    word, _, size = str(field["transform"]).rstrip("]").partition("[")
    kind = _KINDS.get(word, word)
    source = paths.get(int(field["source-id"]), (f"#{field['source-id']}",))
    return Transform(kind, source, int(size) if size else None)


def sort_from_metadata(field: Mapping[str, Any], paths: Mapping[int, Path]) -> SortField:
    return SortField(
        transform_from_metadata(field, paths),
        field["direction"] == "desc",
        field["null-order"] == "nulls-first",
    )


def field_paths(columns: tuple[Column, ...]) -> dict[int, Path]:
    return {c.identity: path for path, c in walk(columns) if c.identity is not None}


def _path(text: str) -> Path:
    parts = [a.replace("``", "`") if a else b for a, b in _PART.findall(text)]
    return tuple(parts) if parts and ".".join(parts) else ()


def _resolved(path: Path, columns: tuple[Column, ...], fold: Fold) -> Path | None:
    """The path as the columns spell it, through structs only."""
    found: list[str] = []
    for part in path:
        column = next((c for c in columns if fold(c.name) == fold(part)), None)
        if column is None:
            return None
        found.append(column.name)
        columns = children(column.type) if isinstance(column.type, Struct) else ()
    return tuple(found) or None
