"""One manifest, read and checked on its own: what it says must make sense before it is compared."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from instar.core.types import Column, Path, Type, path_text
from instar.errors import ProjectError
from instar.expressions import BadExpression, check_expression
from instar.sources.keys import COLUMN_KEYS, CONSTRAINT_KEYS, FIELD_KEYS, MANIFEST_KEYS
from instar.sources.names import OWN_HINT, is_own, own_words
from instar.sources.nodes import MappingNode, Node, Scalar
from instar.sources.paths import is_field, resolve, split_path
from instar.sources.raw import Attributes, RawColumn, RawManifest
from instar.sources.reading import Read, Reader, suggestion
from instar.sources.rings import RING_HINT, ring, ring_words
from instar.sources.typetext import TypeTextError, parse_type
from instar.sources.yamlfile import SourceFile

_CALL = re.compile(r"\w+\s*\(\s*(?:\d+\s*,\s*)?(.+?)\s*\)")
_ORDER = re.compile(r"(.+?)(?:\s+(?:asc|desc))?(?:\s+nulls\s+(?:first|last))?", re.IGNORECASE)
_EXPRESSIONS = ("default", "_default", "_using")


def check_manifest(file: SourceFile, dialect: str) -> RawManifest:
    """The manifest as plain data; a `ProjectError` names the place of everything that is wrong."""
    return _Manifest(file, dialect).read(file.tree())


class _Manifest(Reader):
    def __init__(self, file: SourceFile, dialect: str) -> None:
        super().__init__(file)
        self.dialect = dialect
        self.declared: dict[str, str] = {}
        self.renamed: dict[str, str] = {}
        self.nameless = False

    def read(self, tree: Node) -> RawManifest:
        top = self.object(tree, MANIFEST_KEYS, self.file.name)
        table = self.problems.tried(self.table, top) if "table" in top.values else None
        entries = self.columns(top)
        self.renames([(read, (raw["name"],)) for raw, read in entries])
        said: Attributes = {
            key: top.values[key]
            for key in ("format", "change_tracking", "properties", "comment")
            if key in top.values
        }
        for key in ("primary_key", "cluster_by", "partition_by"):
            if key in top.values:
                said[key] = [
                    self.problems.tried(self.column, name, key, top) for name in top.values[key]
                ]
        if "constraints" in top.values:
            said["constraints"] = self.constraints(top.values["constraints"])
        self.key_columns(said.get("primary_key", ()), entries)
        self.problems.end()
        assert table is not None
        node = top.nodes["table"]
        return RawManifest(
            table=[*table],
            place=[node.line, node.column],
            said=said,
            columns=[raw for raw, _ in entries],
        )

    def table(self, top: Read) -> tuple[str | None, str]:
        text = top.values["table"]
        path = split_path(text)
        if path is None or len(path) > 2:
            raise self.file.error(
                "E136",
                f"'{text}' is not the name of a table",
                top.place("table"),
                "Write table or schema.table; put a name with a dot into backticks.",
            )
        if is_own(path[-1]):
            raise self.file.error("E137", own_words(path[-1]), top.place("table"), OWN_HINT)
        return (None, path[0]) if len(path) == 1 else (path[0], path[1])

    def columns(self, top: Read) -> list[tuple[RawColumn, Read]]:
        items = top.values["columns"].items if "columns" in top.values else []
        if "columns" in top.values and not items:
            self.problems.add(self.file.error("E106", "'columns' names none", top.place("columns")))
        found = [self.problems.tried(self.object, item, COLUMN_KEYS, "column") for item in items]
        reads = [read for read in found if read is not None and "name" in read.values]
        self.nameless = len(reads) < len(items) or not items
        for read in reads:
            self.declare(read)
        typed = [read for read in reads if "type" in read.values]
        entries = [(self.problems.tried(self.column_entry, read), read) for read in typed]
        return [(raw, read) for raw, read in entries if raw is not None]

    def declare(self, read: Read) -> None:
        name = read.values["name"]
        if name.casefold() in self.declared:
            told = f"the column '{name}' stands twice (as '{self.declared[name.casefold()]}')"
            self.problems.add(self.file.error("E131", told, read.place("name")))
        self.declared[name.casefold()] = name
        if "renamed_from" in read.values:
            self.renamed[read.values["renamed_from"].casefold()] = name

    def column_entry(self, read: Read) -> RawColumn:
        name, type_text = read.values["name"], read.values["type"]
        type_ = self.type(read.nodes["type"], type_text, name)
        fields: list[tuple[list[str], Attributes]] = []
        if "fields" in read.values:
            fields = self.fields(Column(name, type_), read.values["fields"])
        said = self.said(read, f"column '{name}'")
        return RawColumn(name=name, type=type_text, said=said, fields=fields)

    def said(self, read: Read, what: str) -> Attributes:
        """What is said about a column besides its name and type, with its expressions checked."""
        said = {key: read.values[key] for key in FIELD_KEYS if key in read.values}
        for key in _EXPRESSIONS:
            if key in said:
                self.problems.tried(self.filling, said[key], key, what, read.place(key))
        return said

    def filling(self, text: str, key: str, what: str, node: Node) -> None:
        lone = self.expression(text, key, what, node)
        if lone is not None and key != "_using" and not self.fills(key, lone):
            message = f"{what}: '{key}' is {lone}, which SQL takes for a column"
            hint = f"A text needs quotes of its own: {key}: \"'{lone}'\"."
            raise self.file.error("E122", message, node, hint)

    def fills(self, key: str, name: str) -> bool:
        """Another column may fill existing rows; a lasting default cannot name one."""
        return key == "_default" and (self.nameless or name.casefold() in self.declared)

    def type(self, node: Node, text: str, name: str) -> Type:
        try:
            return parse_type(text)
        except TypeTextError as error:
            raise self.at_type(node, error, name) from None

    def at_type(self, node: Node, error: TypeTextError, name: str) -> ProjectError:
        """A plain type on one line is pointed at where it goes wrong, not where it begins."""
        shift = error.position if isinstance(node, Scalar) and node.plain else 0
        where = self.file.location(node.line, node.column + shift)
        return ProjectError(
            error.code, f"column '{name}': {error.message}", hint=error.hint, where=where
        )

    def expression(self, text: str, key: str, what: str, node: Node) -> str | None:
        if text.isdecimal():
            return None
        try:
            return check_expression(text, self.dialect)
        except BadExpression as bad:
            raise self.file.error("E122", f"{what}: '{key}': {bad}", node) from None

    def fields(self, column: Column, mapping: MappingNode) -> list[tuple[list[str], Attributes]]:
        found: dict[Path, tuple[Attributes, Read]] = {}
        for name, (key, node) in self.named("fields", mapping).items():
            path = self.problems.tried(self.field_path, column, name, key)
            if path is None:
                continue
            if path in found:
                self.problems.add(self.doubled(key, "'fields'"))
            read = self.problems.tried(self.object, node, FIELD_KEYS, f"field '{name}'")
            if read is None:
                continue
            if "renamed_from" in read.values and not is_field(column, path):
                message = f"field '{name}' has no name of its own that could have changed"
                self.problems.add(self.file.error("E132", message, read.place("renamed_from")))
            found[path] = (self.said(read, f"field '{name}'"), read)
        self.renames([(read, path) for path, (_, read) in found.items()])
        return [([*path], said) for path, (said, _) in found.items()]

    def field_path(self, column: Column, text: str, key: Scalar) -> Path:
        path = split_path(text)
        if path is None:
            message = f"'{text}' is not a path of names with dots between them"
            raise self.file.error("E134", message, key, "Put an odd name into backticks.")
        led, names = resolve(column, path)
        if len(led) < len(path):
            missing = path[len(led)]
            place = path_text((column.name, *led))
            if not names:
                hint = f"'{place}' has no fields."
            else:
                hint = suggestion(missing, names, f"'{place}' has")
            message = f"column '{column.name}': there is no field '{text}'"
            raise self.file.error("E134", message, key, hint)
        return led

    def renames(self, entries: Iterable[tuple[Read, Path]]) -> None:
        """No two may come from one name, none from itself, and there is no way back to where one began."""
        taken: dict[Path, str] = {}
        places: dict[Path, Node] = {}
        for read, path in entries:
            old = read.values.get("renamed_from")
            if old is None:
                continue
            new, node = path[-1], read.place("renamed_from")
            if old == new:
                message = f"'{new}' cannot be renamed from itself"
                self.problems.add(self.file.error("E132", message, node, "Remove 'renamed_from'."))
                continue
            source = (*path[:-1], old.casefold())
            if source in taken:
                message = f"'{new}' and '{taken[source]}' cannot both be renamed from '{old}'"
                hint = "Keep one; the other may take the value with `_using`."
                self.problems.add(self.file.error("E132", message, node, hint))
                continue
            taken[source], places[(*path[:-1], new.casefold())] = new, node
        for parent in {source[:-1] for source in taken}:
            sources = {new.casefold(): s[-1] for s, new in taken.items() if s[:-1] == parent}
            if round_ := ring(sources):
                at = places[(*parent, round_[0])]
                self.problems.add(self.file.error("E132", ring_words(round_), at, RING_HINT))

    def column(self, name: str, key: str, top: Read) -> str:
        """The column that a key names, in the spelling of its declaration."""
        found = self.declared.get(name.casefold())
        if found is not None or self.nameless:
            return found or name
        inner = name if key == "primary_key" else _source(name)
        path = split_path(inner)
        if key != "primary_key" and path and path[0].casefold() in self.declared:
            return name
        raise self.no_column(key, inner, top.place(key))

    def no_column(self, key: str, name: str, node: Node) -> ProjectError:
        hint = suggestion(name, self.declared.values(), "There are")
        if name.casefold() in self.renamed:
            hint = f"It is renamed: name it '{self.renamed[name.casefold()]}' here too."
        elif name.count("(") > name.count(")"):
            hint = 'In YAML a comma ends an entry: put it into quotes, as in ["bucket(16, id)"].'
        return self.file.error("E133", f"'{key}' names '{name}', which is no column", node, hint)

    def constraints(self, mapping: MappingNode) -> list[list[Any]]:
        found: dict[str, list[Any]] = {}
        for name, (key, node) in self.named("constraints", mapping).items():
            what = f"constraint '{name}'"
            if name.casefold() in found:
                self.problems.add(self.doubled(key, "'constraints'"))
            says = self.problems.tried(self.constraint, node, key, what)
            found[name.casefold()] = [name, *(says or ())]
        return list(found.values())

    def constraint(self, node: Node, key: Scalar, what: str) -> tuple[str, Any]:
        before = len(self.problems.found)
        read = self.object(node, CONSTRAINT_KEYS, what)
        if len(self.problems.found) > before:
            return "", None
        if len(read.values) != 1:
            raise self.file.error("E112", f"{what} needs one of 'check' and 'unique'", key)
        if "check" in read.values:
            self.expression(read.values["check"], "check", what, read.place("check"))
            return "check", read.values["check"]
        names = [self.declared.get(n.casefold()) for n in read.values["unique"]]
        for name, given in zip(names, read.values["unique"], strict=True):
            if name is None and not self.nameless:
                raise self.no_column("unique", given, read.place("unique"))
        if not names:
            raise self.file.error("E106", f"{what}: 'unique' names no column", read.at)
        return "unique", names

    def key_columns(self, key: Iterable[str], entries: list[tuple[RawColumn, Read]]) -> None:
        """A column of the primary key is NOT NULL; one that says otherwise contradicts."""
        keys = frozenset(key)
        for raw, read in entries:
            if raw["name"] in keys:
                if read.values.get("nullable"):
                    message = f"'{raw['name']}' is in the primary key and cannot be nullable"
                    self.problems.add(self.file.error("E135", message, read.place("nullable")))
                raw["said"]["nullable"] = False


def _source(text: str) -> str:
    """The column inside what partitions or clusters by it: `days(ts)`, `bucket(16, id)`, `id DESC`."""
    order = _ORDER.fullmatch(text)
    inner = order[1] if order else text
    call = _CALL.fullmatch(inner)
    return call[1] if call else inner
