"""The JSON Schemas accept what the readers accept, and both know the same keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instar.codes import CODES
from instar.core.schema import Wanted
from instar.sources.importer import manifest_text
from instar.sources.jsonschema import manifest_schema, project_schema
from instar.sources.keys import COLUMN_KEYS, ENVIRONMENT_KEYS, MANIFEST_KEYS, PROJECT_KEYS
from instar.sources.reading import plain_value
from instar.sources.scaffold import init_project
from instar.sources.yamlfile import SourceFile

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def problems(schema: dict[str, Any], value: Any, at: str = "") -> list[str]:
    """What a validator of JSON Schema would say, for the words that our schemas use."""
    for word in ("anyOf", "oneOf"):
        if word in schema:
            tries = [problems(s, value, at) for s in schema[word]]
            good = tries.count([])
            if good == 0 or (word == "oneOf" and good > 1):
                return [f"{at}: {good} of {word}", *tries[0]]
    if "const" in schema and value != schema["const"]:
        return [f"{at}: not {schema['const']}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: not one of {schema['enum']}"]
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and not any(isinstance(value, TYPES[w]) for w in wanted):
        return [f"{at}: not {wanted}"]
    if isinstance(value, dict):
        return object_problems(schema, value, at)
    if isinstance(value, list):
        items = schema.get("items", {})
        return [p for i, inner in enumerate(value) for p in problems(items, inner, f"{at}/{i}")]
    return []


def object_problems(schema: dict[str, Any], value: dict[str, Any], at: str) -> list[str]:
    found = [f"{at}: {k} missing" for k in schema.get("required", []) if k not in value]
    rest = schema.get("additionalProperties", True)
    for key, inner in value.items():
        known = schema.get("properties", {}).get(key, rest)
        if known is False:
            found.append(f"{at}: unknown {key}")
        elif known is not True:
            found += problems(known, inner, f"{at}/{key}")
    return found


def yaml(path: Path) -> Any:
    return plain_value(SourceFile.read(path, path.parent).tree())


def test_the_files_of_a_new_project_are_valid(tmp_path: Path) -> None:
    init_project(tmp_path, "spark")
    assert problems(project_schema(), yaml(tmp_path / "instar.yml")) == []
    for path in (tmp_path / "tables").iterdir():
        assert problems(manifest_schema(), yaml(path)) == []


def test_an_imported_manifest_is_valid(tmp_path: Path, read: Callable[..., Wanted]) -> None:
    wanted = read(
        "table: t\nprimary_key: [a]\nconstraints: {c: {check: a > 0}, u: {unique: a}}\n"
        "columns:\n  - {name: a, type: INT, default: 0}\n"
        "  - {name: b, type: ARRAY<INT>, fields: {element: {nullable: false}}}\n"
    )
    path = tmp_path / "made.yml"
    path.write_text(manifest_text(wanted.table))
    assert problems(manifest_schema(), yaml(path)) == []


@pytest.mark.parametrize(
    "text",
    [
        "table: t\n",
        "table: t\ncolumns: [{name: a, type: INT, nulable: true}]\n",
        "table: t\nformat: csv\ncolumns: [{name: a, type: INT}]\n",
        "table: t\ncolumns: {a: INT}\n",
        "table: t\ncolumns: [{name: a, type: INT, nullable: maybe}]\n",
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.yml"
    path.write_text(text)
    assert problems(manifest_schema(), yaml(path)) != []


def test_the_schemas_name_every_key() -> None:
    manifest, project = manifest_schema(), project_schema()
    assert set(manifest["properties"]) == set(MANIFEST_KEYS)
    assert set(manifest["properties"]["columns"]["items"]["properties"]) == set(COLUMN_KEYS)
    assert set(project["properties"]) == set(PROJECT_KEYS)
    kinds = project["properties"]["environments"]["additionalProperties"]["oneOf"]
    assert {k["properties"]["type"]["const"]: set(k["properties"]) for k in kinds} == {
        name: set(keys) for name, keys in ENVIRONMENT_KEYS.items()
    }
    assert all("description" in p for p in manifest["properties"].values())


def test_every_code_of_the_readers_is_documented() -> None:
    folder = Path(__file__).parents[2] / "src" / "instar" / "sources"
    used = {c for f in folder.glob("*.py") for c in re.findall(r'"(E\d{3})"', f.read_text())}
    assert used
    assert used <= set(CODES)
