"""A manifest after its checks, as plain data: what the cache keeps, and from which tables are built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypedDict

from instar.core.schema import Check, Constraint, Hint, Table, TableName, Unique, Wanted
from instar.core.types import Column, Path, Type, children, shared, with_children
from instar.sources.project import Environment
from instar.sources.typetext import parse_type

Attributes = dict[str, Any]
"""What is said about a column or a field, by key."""


class RawColumn(TypedDict):
    name: str
    type: str
    said: Attributes
    fields: list[tuple[list[str], Attributes]]


class RawManifest(TypedDict):
    """`place` is where the table's name stands, for messages about two manifests of one table."""

    table: list[str | None]
    place: list[int]
    said: Attributes
    columns: list[RawColumn]


def build(raw: RawManifest, env: Environment, origin: str) -> Wanted:
    """The wanted table for one environment."""
    schema, name = raw["table"]
    said = raw["said"]
    hints: dict[Path, Hint] = {}
    columns = tuple([build_column(column, hints) for column in raw["columns"]])
    table = Table(
        name=TableName(schema or env.schema, name or ""),
        columns=columns,
        format=(said.get("format") or env.format) if env.format else "",
        primary_key=tuple(said.get("primary_key", ())),
        constraints=tuple(_constraint(*item) for item in said.get("constraints", ())),
        cluster_by=tuple(said.get("cluster_by", ())),
        partition_by=tuple(said.get("partition_by", ())),
        properties=MappingProxyType(dict(said.get("properties", {}))),
        change_tracking=said.get("change_tracking"),
        comment=said.get("comment"),
    )
    return Wanted(table, MappingProxyType(hints), origin)


def build_column(raw: RawColumn, hints: dict[Path, Hint]) -> Column:
    said = raw["said"]
    if not said and not raw["fields"]:
        return _plain(raw["name"], raw["type"])
    type_ = parse_type(raw["type"])
    path: Path = (raw["name"],)
    for parts, about in raw["fields"]:
        inner = tuple(parts)
        type_ = _with_field(type_, inner, about)
        _add_hint(hints, (*path, *inner), about)
    _add_hint(hints, path, said)
    return Column(
        raw["name"],
        type_,
        said.get("nullable", True),
        said.get("default"),
        said.get("comment"),
    )


@lru_cache(maxsize=65536)
def _plain(name: str, type_text: str) -> Column:
    """Most columns are a name and a type, and the same ones come back in many tables."""
    return shared(Column(name, parse_type(type_text)))


def _add_hint(hints: dict[Path, Hint], path: Path, said: Attributes) -> None:
    if "renamed_from" in said or "_default" in said or "_using" in said:
        hints[path] = Hint(said.get("renamed_from"), said.get("_default"), said.get("_using"))


def _with_field(type_: Type, path: Path, about: Attributes) -> Type:
    """The type with what `fields` says about the column at a path."""
    inner = tuple(
        (_said_of(c, about) if len(path) == 1 else _deeper(c, path[1:], about))
        if c.name == path[0]
        else c
        for c in children(type_)
    )
    return with_children(type_, inner)


def _deeper(column: Column, path: Path, about: Attributes) -> Column:
    return replace(column, type=_with_field(column.type, path, about))


def _said_of(column: Column, about: Mapping[str, Any]) -> Column:
    return replace(
        column,
        nullable=about.get("nullable", column.nullable),
        default=about.get("default", column.default),
        comment=about.get("comment", column.comment),
    )


def _constraint(name: str, kind: str, says: Any) -> Constraint:
    return Check(name, says) if kind == "check" else Unique(name, tuple(says))
