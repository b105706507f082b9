"""An Iceberg metadata file as a table: columns with field ids at every depth, keys, partitions, order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from instar.backends.spark.iceberg_transforms import (
    field_paths,
    sort_from_metadata,
    transform_from_metadata,
)
from instar.core.schema import Table, TableName
from instar.core.types import (
    ELEMENT,
    KEY,
    VALUE,
    Array,
    Binary,
    Boolean,
    Column,
    Date,
    Decimal,
    Float,
    Integer,
    Map,
    Opaque,
    Path,
    String,
    Struct,
    Timestamp,
    Type,
    Variant,
)

PRIMARY_KEY = "instar.primary_key"
"""The property that keeps a primary key whose columns may be NULL: identifier fields may not."""
OWN = "instar."
DISTRIBUTION = "write.distribution-mode"
"""The property that WRITE ORDERED BY sets by itself."""
_HIDDEN = ("owner", "comment")

# What Spark shows for each of Iceberg's types.
_SCALARS: dict[str, Type] = {
    "boolean": Boolean(),
    "int": Integer(32),
    "long": Integer(64),
    "float": Float(32),
    "double": Float(64),
    "date": Date(),
    "timestamp": Timestamp(zone=False),
    "timestamptz": Timestamp(zone=True),
    "string": String(),
    "uuid": String(),
    "binary": Binary(),
    "variant": Variant(),
    "unknown": Opaque("void"),
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")


def table_from_metadata(name: TableName, metadata: Mapping[str, Any]) -> Table:
    """The table as its newest metadata file describes it."""
    schema = _chosen(metadata["schemas"], "schema-id", metadata["current-schema-id"])
    columns = _fields(schema["fields"])
    paths = field_paths(columns)
    spec = _chosen(metadata["partition-specs"], "spec-id", metadata["default-spec-id"])
    order = _chosen(metadata["sort-orders"], "order-id", metadata["default-sort-order-id"])
    said: dict[str, str] = metadata.get("properties", {})
    version = str(metadata["format-version"])
    properties = {k: v for k, v in said.items() if k not in _HIDDEN and not k.startswith(OWN)}
    cluster_by = tuple(sort_from_metadata(f, paths).text() for f in order["fields"])
    return Table(
        name,
        columns,
        "iceberg",
        primary_key=_primary_key(schema, said, paths),
        cluster_by=cluster_by,
        partition_by=partition_texts(spec["fields"], paths),
        properties=MappingProxyType(
            without_implied({**properties, "format-version": version}, bool(cluster_by))
        ),
        change_tracking=None,
        comment=said.get("comment"),
        extras=MappingProxyType(_extras(metadata, schema)),
    )


def without_implied(properties: Mapping[str, str], ordered: bool) -> dict[str, str]:
    """Without the distribution that comes with the sort order, or with having none."""
    implied = "range" if ordered else "none"
    return {k: v for k, v in properties.items() if k != DISTRIBUTION or v != implied}


def partition_texts(
    fields: Iterable[Mapping[str, Any]], paths: Mapping[int, Path]
) -> tuple[str, ...]:
    """Sorted: Iceberg puts a field that comes back where it was before, so an order cannot be kept."""
    made = (transform_from_metadata(f, paths) for f in fields)
    return tuple(sorted(t.text() for t in made if t.kind != "void"))


def own_properties(metadata: Mapping[str, Any]) -> dict[str, str]:
    said: dict[str, str] = metadata.get("properties", {})
    return {k: v for k, v in said.items() if k.startswith(OWN)}


def current_snapshot(metadata: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The snapshot that readers see; None for a table that never had rows."""
    id_ = metadata.get("current-snapshot-id")
    return next((s for s in metadata.get("snapshots", ()) if s["snapshot-id"] == id_), None)


def commits_since(metadata: Mapping[str, Any], old: int | None) -> list[str] | None:
    """The operations from `old` (exclusive) to the current snapshot; None when it is no ancestor."""
    by_id = {s["snapshot-id"]: s for s in metadata.get("snapshots", ())}
    at = current_snapshot(metadata)
    found: list[str] = []
    while at is not None and at["snapshot-id"] != old:
        found.append(at["summary"]["operation"])
        at = by_id.get(at.get("parent-snapshot-id"))
    if at is None and old is not None:
        return None
    return found


def _extras(metadata: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, str]:
    snapshot = current_snapshot(metadata)
    summary = snapshot["summary"] if snapshot else {}
    extras = {
        "location": metadata["location"],
        "uuid": metadata["table-uuid"],
        "schema_id": str(schema["schema-id"]),
        "snapshot": str(snapshot["snapshot-id"]) if snapshot else "",
        "key_kept_as": "identifier" if schema.get("identifier-field-ids") else "property",
    }
    for ours, theirs in (("rows", "records"), ("bytes", "files-size"), ("files", "data-files")):
        extras[ours] = str(summary.get(f"total-{theirs}", "" if snapshot else "0"))
    return extras


def _primary_key(
    schema: Mapping[str, Any], properties: Mapping[str, str], paths: Mapping[int, Path]
) -> tuple[str, ...]:
    ids = schema.get("identifier-field-ids") or []
    if ids:
        return tuple(paths[i][-1] for i in sorted(ids, key=list(paths).index) if i in paths)
    return tuple(json.loads(properties.get(PRIMARY_KEY, "[]")))


def _chosen(rows: Iterable[Mapping[str, Any]], key: str, value: int) -> Mapping[str, Any]:
    return next(row for row in rows if row[key] == value)


def _fields(fields: Iterable[Mapping[str, Any]]) -> tuple[Column, ...]:
    return tuple(
        Column(
            f["name"],
            _type(f["type"]),
            nullable=not f["required"],
            comment=f.get("doc") or None,
            identity=int(f["id"]),
        )
        for f in fields
    )


def _type(value: str | Mapping[str, Any]) -> Type:
    if isinstance(value, str):
        return _scalar(value)
    match value["type"]:
        case "struct":
            return Struct(_fields(value["fields"]))
        case "list":
            required = bool(value["element-required"])
            element = _type(value["element"])
            return Array(
                Column(ELEMENT, element, nullable=not required, identity=value["element-id"])
            )
        case "map":
            key = Column(KEY, _type(value["key"]), nullable=False, identity=value["key-id"])
            optional = not value["value-required"]
            inner = Column(VALUE, _type(value["value"]), optional, identity=value["value-id"])
            return Map(key, inner)
        case other:
            return Opaque(str(other))


def _scalar(text: str) -> Type:
    if decimal := _DECIMAL.fullmatch(text):
        return Decimal(int(decimal.group(1)), int(decimal.group(2)))
    if text.startswith("fixed["):
        return Binary()
    return _SCALARS.get(text, Opaque(text))
