"""What is said about a model: its frontmatter first, then its entry in instar.yml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from instar.errors import Location, ProjectError
from instar.sources.models_keys import (
    COLUMN_KEYS,
    EVOLUTION_KEYS,
    INCREMENTAL_KEYS,
    MODEL_KEYS,
)
from instar.sources.nodes import MappingNode, Node, Scalar
from instar.sources.problems import Problems
from instar.sources.reading import Read, Reader
from instar.sources.yamlfast import parse_quickly
from instar.sources.yamlfile import SourceFile, parse_fully

FENCE = "---"


@dataclass(slots=True)
class Said:
    """The keys that one place says, each with where it says so (`columns.name.default` and the like)."""

    values: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, Location] = field(default_factory=dict)

    def over(self, other: Said) -> Said:
        """This first, then the other; columns are joined attribute by attribute.

        A way to be incremental belongs to a materialization: where this says another one, it goes too.
        """
        names = dict.fromkeys((*self.columns, *other.columns))
        values = dict(other.values)
        if self.values.get("materialization", "incremental") != "incremental":
            values.pop("incremental", None)
        return Said(
            {**values, **self.values},
            {n: {**other.columns.get(n, {}), **self.columns.get(n, {})} for n in names},
            {**other.places, **self.places},
        )


def split(file: SourceFile) -> tuple[str | None, int]:
    """The frontmatter, padded so that its lines keep their numbers, and where the body begins."""
    lines = file.text.splitlines(keepends=True)
    first = next((n for n, line in enumerate(lines) if line.strip()), None)
    if first is None or lines[first].rstrip() != FENCE:
        return None, 0
    for n in range(first + 1, len(lines)):
        if lines[n].rstrip() == FENCE:
            begin = sum(map(len, lines[: n + 1]))
            return "\n" * (first + 1) + "".join(lines[first + 1 : n]), begin
    raise ProjectError(
        "E150",
        "the frontmatter is not closed",
        hint="End it with a line of three dashes: ---",
        where=file.location(first + 1, 1),
    )


def read_front(file: SourceFile, text: str) -> Said:
    """The keys of a frontmatter whose text has the file's line numbers."""
    tree = parse_quickly(text) if text.strip() else None
    if tree is None:
        try:
            tree = parse_fully(SourceFile(file.path, _root_of(file), text))
        except ProjectError as problem:
            where = problem.where
            line = where.line if where is not None else None
            message = problem.message.replace("is not valid YAML", "has broken frontmatter")
            place = file.location(line, where.column if where is not None else None)
            raise ProjectError("E150", message, hint=problem.hint, where=place) from None
    if tree is None or (isinstance(tree, Scalar) and tree.is_null):
        return Said()
    if not isinstance(tree, MappingNode):
        raise file.error("E150", "the frontmatter must be keys and values", tree)
    return read_settings(file, tree, file.name)


def _root_of(file: SourceFile) -> FilePath:
    depth = len(file.name.split("/"))
    return file.path.parents[depth - 1] if depth <= len(file.path.parents) else file.path.parent


def read_settings(file: SourceFile, tree: Node, what: str) -> Said:
    """The keys of one model, wherever they stand."""
    reader = Reader(file)
    top = reader.object(tree, MODEL_KEYS, what)
    said = Said()
    for key in ("materialization", "format", "deterministic", "tags"):
        _take(said, top, key, file, key)
    if "schema_evolution" in top.values:
        inner = reader.object(top.values["schema_evolution"], EVOLUTION_KEYS, "schema_evolution")
        _take(said, inner, "strategy", file, "strategy")
    if "incremental" in top.values:
        inner = reader.object(top.values["incremental"], INCREMENTAL_KEYS, "incremental")
        said.values["incremental"] = dict(inner.values)
        said.places["incremental"] = _at(file, inner.at)
        for key, node in inner.nodes.items():
            said.places[f"incremental.{key}"] = _at(file, node)
    if "columns" in top.values:
        _columns(said, reader, top.values["columns"], file)
    reader.problems.end()
    return said


def _columns(said: Said, reader: Reader, node: MappingNode, file: SourceFile) -> None:
    for name, (key, value) in reader.named("columns", node).items():
        said.places[f"columns.{name}"] = _at(file, key)
        if isinstance(value, Scalar) and value.is_null:
            said.columns[name] = {}
            continue
        inner = reader.problems.tried(reader.object, value, COLUMN_KEYS, f"column '{name}'")
        if inner is None:
            continue
        said.columns[name] = dict(inner.values)
        for attribute, place in inner.nodes.items():
            said.places[f"columns.{name}.{attribute}"] = _at(file, place)


def _take(said: Said, read: Read, key: str, file: SourceFile, as_: str) -> None:
    if key in read.values:
        said.values[as_] = read.values[key]
        said.places[as_] = _at(file, read.place(key))


def _at(file: SourceFile, node: Node) -> Location:
    return file.location(node.line, node.column)


def project_settings(
    root: FilePath, models: Mapping[str, Any], problems: Problems
) -> dict[str, Said]:
    """The entries under `models:` of instar.yml, by model; the file is only looked at if there are any."""
    if not models:
        return {}
    from instar.sources.project import PROJECT_FILE, substitute

    file = SourceFile.read(root / PROJECT_FILE, root)
    tree = file.tree()
    assert isinstance(tree, MappingNode)
    node = next(value for key, value in tree.pairs if key.text == "models")
    reader = Reader(file)
    reader.problems = problems
    substitute(file, node, problems)
    found: dict[str, Said] = {}
    for name, (key, value) in reader.named("models", reader.mapping("models", node)).items():
        empty = isinstance(value, Scalar) and value.is_null
        what = f"model '{name}'"
        said = None if empty else problems.tried(read_settings, file, value, what)
        found[name] = said or Said()
        found[name].places["entry"] = _at(file, key)
    return found
