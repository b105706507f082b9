"""Delta's statements as text: one statement is one atomic commit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

from instar.backends.spark.delta_inspect import (
    CHECKS,
    MAPPING,
    NOT_NULL,
    PRIMARY_KEY,
    TRACKING,
    UNIQUE,
    WIDENING,
    check_sql,
)
from instar.backends.spark.statements import path_sql, properties_sql
from instar.backends.spark.types import spark_type
from instar.backends.sql import literal_spark, quote_backtick
from instar.core.schema import Check, Table, Unique
from instar.core.types import (
    Array,
    Column,
    Map,
    Path,
    Struct,
    Timestamp,
    Type,
    Variant,
    children,
    walk,
    with_children,
)

DEFAULTS = "delta.feature.allowColumnDefaults"
_TYPE_FEATURES = ((Timestamp(zone=False), "timestampNtz"), (Variant(), "variantType"))


def cluster_sql(columns: Sequence[str]) -> str:
    """Clustering columns, written as paths, as SQL."""
    return ", ".join(path_sql(parse_path(c)) for c in columns)


def parse_path(text: str) -> Path:
    """`a.`b c`.d` as its parts."""
    parts = re.findall(r"`((?:[^`]|``)*)`|([^.`]+)", text)
    return tuple(quoted.replace("``", "`") or plain for quoted, plain in parts)


def type_features(types: Iterable[Type]) -> list[str]:
    """The table features that some types need."""
    inside = {t for type_ in types for t in _all_types(type_)}
    return [name for type_, name in _TYPE_FEATURES if type_ in inside]


def _all_types(type_: Type) -> Iterable[Type]:
    yield type_
    for column in children(type_):
        yield from _all_types(column.type)


# --- NOT NULL ---


def natively_required(columns: tuple[Column, ...]) -> frozenset[Path]:
    """The NOT NULL paths that a CREATE can say: below a nullable struct Delta means something else."""
    found: set[Path] = set()

    def go(inner: tuple[Column, ...], parent: Path) -> None:
        for column in inner:
            if not column.nullable:
                found.add((*parent, column.name))
                if isinstance(column.type, Struct):
                    go(column.type.fields, (*parent, column.name))

    go(columns, ())
    return frozenset(found)


def required_paths(columns: tuple[Column, ...]) -> list[Path]:
    """Every path outside arrays and maps that is NOT NULL."""
    inside = {path for path, column in walk(columns) if isinstance(column.type, Array | Map)}
    return [
        path
        for path, column in walk(columns)
        if not column.nullable and not any(path[:n] in inside for n in range(1, len(path)))
    ]


def not_null_name(path: Path) -> str:
    plain = re.sub(r"\W", "_", "_".join(path), flags=re.ASCII).lower()
    mark = sha256("\0".join(path).casefold().encode()).hexdigest()[:6]
    return f"{NOT_NULL}_{plain[:60]}_{mark}"


def not_null_sql(path: Path) -> str:
    """A field is required where its struct is there at all."""
    absent = [f"{path_sql(path[:n])} IS NULL" for n in range(1, len(path))]
    return " OR ".join([*absent, f"{path_sql(path)} IS NOT NULL"])


# --- CREATE ---


def create_sql(place: str, table: Table) -> str:
    native = natively_required(table.columns)
    columns = ",\n".join(f"  {_column_sql(c, (c.name,), native)}" for c in table.columns)
    parts = [f"CREATE TABLE {place} (\n{columns}\n) USING delta"]
    if table.partition_by:
        parts.append(f"PARTITIONED BY ({', '.join(map(quote_backtick, table.partition_by))})")
    if table.cluster_by:
        parts.append(f"CLUSTER BY ({cluster_sql(table.cluster_by)})")
    if table.comment:
        parts.append(f"COMMENT {literal_spark(table.comment)}")
    parts.append(f"TBLPROPERTIES ({properties_sql(create_properties(table, native))})")
    return "\n".join(parts)


def create_properties(table: Table, native: frozenset[Path]) -> dict[str, str]:
    """What is set from the start, so that later changes need no upgrade."""
    found = {MAPPING: "name", WIDENING: "true"}
    if any(c.default is not None for c in table.columns):
        found[DEFAULTS] = "supported"
    if table.change_tracking:
        found[TRACKING] = "true"
    for constraint in table.constraints:
        if isinstance(constraint, Check):
            found[CHECKS + constraint.name] = check_sql(constraint.expression)
    for path in required_paths(table.columns):
        if path not in native:
            found[CHECKS + not_null_name(path)] = not_null_sql(path)
    return found | key_properties(table) | dict(table.properties)


def key_properties(table: Table) -> dict[str, str]:
    """Keys that Delta cannot enforce, written down."""
    found = {PRIMARY_KEY: json.dumps(table.primary_key)} if table.primary_key else {}
    for constraint in table.constraints:
        if isinstance(constraint, Unique):
            found[UNIQUE + constraint.name] = json.dumps(constraint.columns)
    return found


def _column_sql(column: Column, path: Path, native: frozenset[Path]) -> str:
    words = [quote_backtick(column.name), spark_type(_native_type(column.type, path, native))]
    if column.generated is not None:
        words.append(f"GENERATED ALWAYS AS ({column.generated})")
    if path in native:
        words.append("NOT NULL")
    if column.default is not None:
        words.append(f"DEFAULT {column.default}")
    if column.comment:
        words.append(f"COMMENT {literal_spark(column.comment)}")
    return " ".join(words)


def _native_type(type_: Type, path: Path, native: frozenset[Path]) -> Type:
    """The type with NOT NULL only where CREATE may say it."""
    inner = tuple(
        Column(
            c.name,
            _native_type(c.type, (*path, c.name), native),
            nullable=(*path, c.name) not in native,
            comment=c.comment,
        )
        for c in children(type_)
    )
    return with_children(type_, inner)


# --- ALTER ---


def add_columns_sql(place: str, adds: Sequence[tuple[Path, Column, str]]) -> str:
    """`adds`: path, column, and its place as SQL ('' for the end). NOT NULL cannot be said here."""
    nowhere: frozenset[Path] = frozenset()
    parts = []
    for path, column, position in adds:
        comment = f" COMMENT {literal_spark(column.comment)}" if column.comment else ""
        type_ = spark_type(_native_type(column.type, path, nowhere))
        parts.append(f"{path_sql(path)} {type_}{comment}{position}")
    return f"ALTER TABLE {place} ADD COLUMNS ({', '.join(parts)})"


def add_check_sql(place: str, name: str, expression: str) -> str:
    return f"ALTER TABLE {place} ADD CONSTRAINT {quote_backtick(name)} CHECK ({expression})"


def drop_check_sql(place: str, name: str) -> str:
    return f"ALTER TABLE {place} DROP CONSTRAINT IF EXISTS {quote_backtick(name)}"
