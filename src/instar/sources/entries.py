"""Columns and tables written as YAML: the canonical text of a manifest, piece by piece."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from instar.core.types import (
    Column,
    Map,
    Opaque,
    Path,
    Struct,
    Type,
    children,
    path_text,
    type_text,
    with_children,
)
from instar.errors import ProjectError
from instar.sources.typetext import parse_type

WIDTH = 100

Value = str | bool | Sequence[str] | Mapping[str, "Value"]
Entry = Mapping[str, Value]

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.()<>/+=`'\"| -]*(?<! )")
_PLAIN_BLOCK = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.()<>/+=`'\"|, -]*(?<! )")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan"})
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def scalar(text: str, *, flow: bool = True, number: bool = False) -> str:
    """A text as a YAML scalar that every reader takes for a text; `number` leaves numbers bare."""
    if number and (_NUMBER.fullmatch(text) or text in ("true", "false")):
        return text
    plain = _PLAIN if flow else _PLAIN_BLOCK
    if plain.fullmatch(text) and text.casefold() not in _WORDS_OF_YAML:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda m: f"\\u{ord(m[0]):04x}", quoted)


def flow(value: Value, key: str = "") -> str:
    """A value on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return scalar(value, number=key in ("default", "_default"))
        case Mapping():
            inner = ", ".join(f"{scalar(k)}: {flow(v, k)}" for k, v in value.items())
            return "{" + inner + "}"
        case _:
            return "[" + ", ".join(scalar(v) for v in value) + "]"


def block(key: str, value: Value, indent: str = "") -> list[str]:
    """A key with its value, as lines."""
    head = f"{indent}{scalar(key)}:"
    match value:
        case Mapping():
            return [head, *(line for k, v in value.items() for line in block_or_flow(k, v, indent))]
        case str():
            return [f"{head} {scalar(value, flow=False, number=key in ('default', '_default'))}"]
        case _:
            return [f"{head} {flow(value)}"]


def block_or_flow(key: str, value: Value, indent: str) -> list[str]:
    """An entry of a mapping, one level deeper; objects stand on one line."""
    if isinstance(value, Mapping):
        return [f"{indent}  {scalar(key)}: {flow(value)}"]
    return block(key, value, indent + "  ")


def column_entry(column: Column) -> Entry:
    """What a manifest says about a live column, key by key."""
    entry: dict[str, Value] = {"name": column.name, "type": type_text(_readable(column.type))}
    entry |= _said(column, nullable=True)
    fields = {path_text(path): said for path, said in _fields(column.type, ())}
    if fields:
        entry["fields"] = fields
    return entry


def column_lines(entry: Entry, indent: str, *, one_line: bool | None = None) -> list[str]:
    """A column as an entry of a block list; on one line where that is short and plain enough."""
    line = f"{indent}- {flow(entry)}"
    if one_line is None:
        one_line = len(line) <= WIDTH and "fields" not in entry and '"' not in line
    if one_line:
        return [line]
    lines = [line for k, v in entry.items() for line in block(k, v, indent + "  ")]
    return [f"{indent}- {lines[0].lstrip()}", *lines[1:]]


def columns_lines(columns: Iterable[Column]) -> list[str]:
    """The whole `columns` block."""
    return ["columns:", *(line for c in columns for line in column_lines(column_entry(c), "  "))]


def _said(column: Column, *, nullable: bool) -> dict[str, Value]:
    said: dict[str, Value] = {}
    if column.nullable is not nullable:
        said["nullable"] = column.nullable
    if column.default is not None:
        said["default"] = column.default
    if column.comment is not None:
        said["comment"] = column.comment
    return said


def _fields(type_: Type, prefix: Path) -> Iterable[tuple[Path, Mapping[str, Value]]]:
    """What type text cannot say about nested columns."""
    for column in children(type_):
        path = (*prefix, column.name)
        match type_:
            case Struct():
                said = _said(column, nullable=column.nullable)
            case Map(key) if column is key:
                said = _said(column, nullable=False)
            case _:
                said = _said(column, nullable=True)
        if said:
            yield path, said
        yield from _fields(column.type, path)


def _readable(type_: Type) -> Type:
    """The type with every engine's own part written so that it is read back."""
    if isinstance(type_, Opaque):
        return type_ if _reads_back(type_) else Opaque(f"NATIVE('{_doubled(type_.text)}')")
    inner = tuple(replace(c, type=_readable(c.type)) for c in children(type_))
    return with_children(type_, inner)


def _reads_back(type_: Opaque) -> bool:
    try:
        return parse_type(type_.text) == type_
    except ProjectError:
        return False


def _doubled(text: str) -> str:
    return text.replace("'", "''")
