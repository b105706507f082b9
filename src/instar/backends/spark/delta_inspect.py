"""A Delta table as a value: from its log, with what Instar keeps in constraints and properties."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from instar.backends.spark.catalog import Entry
from instar.backends.spark.delta_log import LogState
from instar.backends.spark.expressions import (
    canonical,
    parsed,
    references,
    text_of_tree,
)
from instar.backends.spark.types import columns_from_json
from instar.core.schema import Check, Constraint, Table, TableName, Unique
from instar.core.types import Column, Path, children, path_text, walk, with_children
from instar.expressions import BadExpression

CHECKS = "delta.constraints."
NOT_NULL = "instar_not_null"
PRIMARY_KEY = "instar.primary_key"
UNIQUE = "instar.unique."
TRACKING = "delta.enableChangeDataFeed"
MAPPING = "delta.columnMapping.mode"
WIDENING = "delta.enableTypeWidening"
REQUIRED = "not_null:"
"""In `extras`: a path that a CHECK of ours makes NOT NULL, and the name of that CHECK."""
NATIVE = "native_not_null:"
"""In `extras`: a path that Delta itself holds to NOT NULL."""

# What the engine and Instar keep there for themselves.
_OWN = (
    "delta.constraints.",
    "delta.feature.",
    "delta.rowTracking.materialized",
    "delta.inCommitTimestampEnablement",
    "instar.",
)
_OWN_KEYS = (
    TRACKING,
    MAPPING,
    WIDENING,
    "delta.columnMapping.maxColumnId",
    "delta.coordinatedCommits.tableConf-preview",
    "io.unitycatalog.tableId",
    "ucTableId",
    "delta.minReaderVersion",
    "delta.minWriterVersion",
)


def is_own(key: str) -> bool:
    """Whether a property is no wish of a person, but bookkeeping."""
    return key.startswith(_OWN) or key in _OWN_KEYS


def table_from_log(name: TableName, entry: Entry, state: LogState) -> Table:
    """The table that the log describes."""
    meta = state.get("metaData")
    said: Mapping[str, str] = meta.get("configuration") or {}
    schema = json.loads(meta["schemaString"])
    columns = tuple(_spelled(c) for c in columns_from_json(schema))
    checks, required = _constraints(said)
    native = [path for path, column in walk(columns) if not column.nullable]
    for path in required.values():
        columns = _required(columns, path)
    visible = {k: v for k, v in sorted(said.items()) if not is_own(k)}
    return Table(
        name=name,
        columns=columns,
        format="delta",
        primary_key=tuple(json.loads(said.get(PRIMARY_KEY, "[]"))),
        constraints=(*checks, *_uniques(said)),
        cluster_by=tuple(path_text(p) for p in _clustering(state, schema)),
        partition_by=tuple(meta.get("partitionColumns") or ()),
        properties=MappingProxyType(visible),
        change_tracking=said.get(TRACKING, "").lower() == "true",
        comment=meta.get("description"),
        extras=MappingProxyType(
            _extras(entry, state, said)
            | {REQUIRED + path_text(p): name for name, p in required.items()}
            | {NATIVE + path_text(p): "true" for p in native}
        ),
    )


def _extras(entry: Entry, state: LogState, said: Mapping[str, str]) -> dict[str, str]:
    protocol = state.get("protocol")
    return {
        "provider": "delta",
        "location": entry.location,
        "kind": entry.kind,
        "id": str(state.get("metaData").get("id", "")),
        "reader": str(protocol.get("minReaderVersion", "")),
        "writer": str(protocol.get("minWriterVersion", "")),
        "features": ",".join(sorted(state.features)),
        **{k: v for k, v in said.items() if is_own(k)},
    }


def _spelled(column: Column) -> Column:
    """Expressions in the one spelling in which wanted ones are compared."""
    inner = tuple(_spelled(c) for c in children(column.type))
    return replace(
        column,
        type=with_children(column.type, inner),
        default=spelled(column.default),
        generated=spelled(column.generated),
    )


def spelled(sql: str | None) -> str | None:
    """The canonical text; an expression that only Spark can read stays as it is."""
    try:
        return None if sql is None else canonical(sql)
    except BadExpression:
        return sql


def check_sql(expression: str) -> str:
    """The form in which a CHECK is written: Delta takes NULL for a violation, SQL does not."""
    return f"({expression}) IS NOT FALSE"


def check_expression(raw: str) -> str:
    """What a stored CHECK says, without that form."""
    try:
        tree = parsed(raw)
    except BadExpression:
        return raw
    inner = tree.this if isinstance(tree, exp.Not) else None
    if isinstance(inner, exp.Is) and inner.expression == exp.false():
        return text_of_tree(inner.this)
    return text_of_tree(tree)


def _constraints(said: Mapping[str, str]) -> tuple[list[Constraint], dict[str, Path]]:
    """CHECKs, and the paths that a CHECK of ours makes NOT NULL by the CHECK's name."""
    checks: list[Constraint] = []
    required: dict[str, Path] = {}
    for key, raw in sorted(said.items()):
        if not key.startswith(CHECKS):
            continue
        name = key.removeprefix(CHECKS)
        if name.startswith(NOT_NULL):
            required[name] = max(references(raw), key=len)
        else:
            checks.append(Check(name, check_expression(raw)))
    return checks, required


def _uniques(said: Mapping[str, str]) -> Iterator[Constraint]:
    for key, value in sorted(said.items()):
        if key.startswith(UNIQUE):
            yield Unique(key.removeprefix(UNIQUE), tuple(json.loads(value)))


def _required(columns: tuple[Column, ...], path: Path) -> tuple[Column, ...]:
    head, rest = path[0].casefold(), path[1:]
    found: list[Column] = []
    for column in columns:
        if column.name.casefold() != head:
            found.append(column)
        elif not rest:
            found.append(replace(column, nullable=False))
        else:
            inner = _required(children(column.type), rest)
            found.append(replace(column, type=with_children(column.type, inner)))
    return tuple(found)


def _clustering(state: LogState, schema: Mapping[str, Any]) -> list[Path]:
    domain = state.get("domainMetadata")
    if not domain or domain.get("removed"):
        return []
    columns: list[list[str]] = json.loads(domain["configuration"]).get("clusteringColumns", [])
    return [_logical(schema, physical) for physical in columns]


def _logical(schema: Mapping[str, Any], physical: list[str]) -> Path:
    """The names of a path that is given in physical names."""
    path: Path = ()
    fields = schema["fields"]
    for part in physical:
        found = next(f for f in fields if _physical(f) == part)
        path = (*path, found["name"])
        fields = found["type"]["fields"] if isinstance(found["type"], dict) else []
    return path


def _physical(field: Mapping[str, Any]) -> str:
    name: str = (field.get("metadata") or {}).get("delta.columnMapping.physicalName", field["name"])
    return name
