"""Core values as JSON-able documents and back, exactly: what a journal or a sealed plan keeps.

A dataclass is `{"_": "Integer", "bits": 32}` with the fields that differ from their default, an enum
`{"_": "Rung", "is": "rewrite"}`, a tuple a list, a mapping with text keys an object. What JSON has no
word for (a frozen set, a mapping with other keys or with a key `_`) is spelled out as items.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from enum import Enum
from types import MappingProxyType, ModuleType
from typing import Any

from instar import errors
from instar.core import changes, classify, findings, plan, policy, schema, types
from instar.core.schema import Table
from instar.core.types import without_identity

Doc = None | bool | int | float | str | list["Doc"] | dict[str, "Doc"]

_MODULES: tuple[ModuleType, ...] = (types, schema, changes, policy, findings, classify, plan)
_TAG, _ENUM, _MAP, _SET = "_", "is", "map", "set"


class NotADocument(ValueError):
    """The document does not describe a known value (damaged, or written by a newer version)."""


def _named() -> Iterator[tuple[str, type[Any]]]:
    yield errors.Location.__name__, errors.Location
    for module in _MODULES:
        for value in vars(module).values():
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and (is_dataclass(value) or issubclass(value, Enum)):
                yield value.__name__, value


def _registry() -> dict[str, type[Any]]:
    known: dict[str, type[Any]] = {}
    for name, cls in _named():
        assert name not in known, f"two values are called {name}"
        known[name] = cls
    return known


_KNOWN = _registry()
_FIELDS: dict[type[Any], tuple[Field[Any], ...]] = {
    cls: fields(cls) for cls in _KNOWN.values() if is_dataclass(cls)
}


def to_doc(value: object) -> Doc:
    """The document of a core value."""
    match value:
        case None | bool() | int() | float() | str() if not isinstance(value, Enum):
            return value
        case Enum():
            return {_TAG: _name(value), _ENUM: value.value}
        case tuple():
            return [to_doc(item) for item in value]
        case frozenset():
            return {_TAG: _SET, "items": sorted((to_doc(item) for item in value), key=canonical)}
        case Mapping():
            if all(isinstance(key, str) and key != _TAG for key in value):
                return {key: to_doc(item) for key, item in value.items()}
            return {_TAG: _MAP, "items": [[to_doc(k), to_doc(v)] for k, v in value.items()]}
        case _:
            name = _name(value)
            said = {f.name: getattr(value, f.name) for f in _FIELDS[type(value)]}
            return {_TAG: name} | {
                f.name: to_doc(said[f.name])
                for f in _FIELDS[type(value)]
                if not _is_default(f, said[f.name])
            }


def _name(value: object) -> str:
    name = type(value).__name__
    if _KNOWN.get(name) is not type(value):
        raise TypeError(f"{name} is not a core value")
    return name


def _is_default(field: Field[Any], value: object) -> bool:
    if field.default is not MISSING:
        return type(value) is type(field.default) and value == field.default
    return field.default_factory is not MISSING and value == field.default_factory()


def from_doc(doc: object) -> Any:
    """The value that a document describes."""
    match doc:
        case None | bool() | int() | float() | str():
            return doc
        case list():
            return tuple(from_doc(item) for item in doc)
        case dict() if isinstance(name := doc.get(_TAG), str):
            return _value(name, {key: item for key, item in doc.items() if key != _TAG})
        case dict():
            return MappingProxyType({key: from_doc(item) for key, item in doc.items()})
        case _:
            raise NotADocument(f"{type(doc).__name__} has no place in a document")


def _value(name: str, rest: Mapping[str, Any]) -> object:
    try:
        if name == _SET:
            return frozenset(from_doc(item) for item in rest["items"])
        if name == _MAP:
            return MappingProxyType({from_doc(k): from_doc(v) for k, v in rest["items"]})
        cls = _KNOWN[name]
        if issubclass(cls, Enum):
            return cls(rest[_ENUM])
        return cls(**{key: from_doc(item) for key, item in rest.items()})
    except NotADocument:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise NotADocument(f"'{name}' is not understood: {error}") from error


def canonical(doc: Doc) -> str:
    """One spelling for one document."""
    return json.dumps(doc, sort_keys=True, separators=(",", ":"))


def dumps(value: object) -> str:
    """A core value as compact JSON text."""
    return json.dumps(to_doc(value), separators=(",", ":"))


def loads(text: str) -> Any:
    """The core value of JSON text written by `dumps`."""
    try:
        return from_doc(json.loads(text))
    except json.JSONDecodeError as error:
        raise NotADocument(str(error)) from error


def fingerprint(table: Table) -> str:
    """The same for two tables exactly when they say the same; identities and extras do not count."""
    columns = tuple(without_identity(c) for c in table.columns)
    plain = replace(table, columns=columns, extras=MappingProxyType({}))
    return hashlib.sha256(canonical(to_doc(plain)).encode()).hexdigest()
