"""The JSON Schemas of instar.yml and of a manifest, made from the table of keys that the readers use."""

from __future__ import annotations

from typing import Any

from instar.sources.keys import ENVIRONMENT_KEYS, MANIFEST_KEYS, PROJECT_KEYS, Key, Keys, Kind

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_SCALAR = ["string", "number", "boolean"]
_NAME: Schema = {"type": _SCALAR}
_TEXT: Schema = {"type": [*_SCALAR, "null"]}

_KINDS: dict[Kind, Schema] = {
    Kind.NAME: _NAME,
    Kind.TEXT: _TEXT,
    Kind.TYPE: {"type": "string"},
    Kind.EXPRESSION: _TEXT,
    Kind.FLAG: {"type": ["boolean", "null"]},
    Kind.NUMBER: {"type": "integer"},
    Kind.NAMES: {"anyOf": [{"type": "array", "items": _NAME}, _NAME]},
    Kind.TEXTS: {"type": ["object", "null"], "additionalProperties": _TEXT},
    Kind.ANY: {},
}


def project_schema() -> Schema:
    """The schema of instar.yml."""
    schema = _object(PROJECT_KEYS)
    schema["properties"]["environments"] |= {
        "minProperties": 1,
        "additionalProperties": {"oneOf": [_engine(t, k) for t, k in ENVIRONMENT_KEYS.items()]},
    }
    return {"$schema": DRAFT, "title": "Instar project", **schema}


def manifest_schema() -> Schema:
    """The schema of a file under tables/."""
    return {"$schema": DRAFT, "title": "Instar table manifest", **_object(MANIFEST_KEYS)}


def _engine(type_: str, keys: Keys) -> Schema:
    schema = _object(keys)
    schema["properties"]["type"] = {"const": type_, "description": keys["type"].doc}
    return schema


def _object(keys: Keys) -> Schema:
    schema: Schema = {
        "type": "object",
        "properties": {name: _property(key) for name, key in keys.items()},
        "additionalProperties": False,
    }
    required = [name for name, key in keys.items() if key.required]
    return {**schema, "required": required} if required else schema


def _property(key: Key) -> Schema:
    match key.kind:
        case Kind.OBJECT:
            schema = _object(key.keys)
        case Kind.OBJECTS:
            schema = {"type": "array", "items": _object(key.keys), "minItems": 1}
        case Kind.NAMED:
            schema = {"type": "object", "additionalProperties": _object(key.keys)}
        case _:
            schema = dict(_KINDS[key.kind])
    if key.choices:
        schema = {"enum": [*key.choices]}
    return {**schema, "description": key.doc}
