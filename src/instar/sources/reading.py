"""Nodes read as values by the table of keys: unknown, missing, doubled and ill-typed keys are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from instar.core.nearest import closest
from instar.errors import ProjectError
from instar.sources.keys import Key, Keys, Kind
from instar.sources.nodes import FLAGS, MappingNode, Node, Scalar, SequenceNode
from instar.sources.problems import Problems
from instar.sources.yamlfile import SourceFile


@dataclass(slots=True)
class Read:
    """An object as it was read: values by key, and the nodes they came from. Absent keys are absent."""

    at: MappingNode
    values: dict[str, Any]
    nodes: dict[str, Node]

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)

    def place(self, key: str) -> Node:
        return self.nodes.get(key, self.at)


def suggestion(word: str, known: Iterable[str], what: str) -> str:
    known = list(known)
    near = closest(word, known)
    return f"Did you mean '{near}'?" if near else f"{what}: {', '.join(known)}."


def shown(node: Node) -> str:
    """A node as a message may print it; substituted values never show."""
    match node:
        case Scalar(text=text, shown=other):
            return f"'{text if other is None else other}'"
        case MappingNode():
            return "a mapping"
        case SequenceNode():
            return "a list"


_FLAG_WORDS = {"true": ("true", "yes", "on", "y", "1"), "false": ("false", "no", "off", "n", "0")}
"""What people write for a flag where YAML 1.2 knows two words, unquoted."""


class Reader:
    """Reads the nodes of one file; what is wrong with one key does not hide what is wrong with others."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.problems = Problems()
        self.convert: Mapping[Kind, Callable[[str, Node], Any]] = {
            Kind.NAME: self.name,
            Kind.TEXT: self.text,
            Kind.TYPE: self.text,
            Kind.EXPRESSION: self.text,
            Kind.FLAG: self.flag,
            Kind.NUMBER: self.number,
            Kind.NAMES: self.names,
            Kind.TEXTS: self.texts,
            Kind.OBJECT: self.mapping,
            Kind.NAMED: self.mapping,
            Kind.OBJECTS: self.sequence,
            Kind.ANY: lambda _, node: node,
        }

    def object(self, node: Node, keys: Keys, what: str) -> Read:
        """A mapping with known keys; those that are wrong are told and left out."""
        mapping = self.mapping(what, node)
        read = Read(mapping, {}, {})
        told: set[str | None] = set()
        for key_node, value in mapping.pairs:
            name = key_node.text
            key = keys.get(name)
            if key is None:
                self.problems.add(self.unknown(key_node, keys, what))
                told.add(closest(name, keys))
            elif name in read.nodes:
                self.problems.add(self.doubled(key_node, what))
            else:
                read.nodes[name] = value
                if key.kind is Kind.NAME or not (type(value) is Scalar and value.is_null):
                    try:
                        read.values[name] = self.value(name, key, value)
                    except ProjectError as error:
                        self.problems.add(error)
                        told.add(name)
        if len(read.values) < len(keys):
            for name, key in keys.items():
                if key.required and name not in read.values and name not in told:
                    self.problems.add(self.missing(read, name, what))
        return read

    def value(self, name: str, key: Key, node: Node) -> Any:
        value = self.convert[key.kind](name, node)
        if key.choices and value not in key.choices:
            message = f"'{name}' is {shown(node)}, which is not one of: {', '.join(key.choices)}"
            near = closest(str(value), key.choices)
            hint = f"Did you mean '{near}'?" if near else None
            raise self.file.error("E111", message, node, hint)
        return value

    def unknown(self, node: Scalar, keys: Keys, what: str) -> ProjectError:
        hint = suggestion(node.text, keys, "Known keys")
        if node.plain and any(mark in node.text for mark in ")>"):
            hint = 'Inside {…} a value with a comma needs quotes: type: "DECIMAL(10, 2)".'
        return self.file.error("E103", f"{what}: unknown key '{node.text}'", node, hint)

    def doubled(self, node: Scalar, what: str) -> ProjectError:
        return self.file.error("E105", f"{what}: the key '{node.text}' stands twice", node)

    def missing(self, read: Read, name: str, what: str) -> ProjectError:
        place = read.nodes.get(name, read.at)
        said = "is empty" if name in read.nodes else "is missing"
        return self.file.error("E106", f"{what}: '{name}' {said}", place)

    def wrong(self, name: str, node: Node, wanted: str, hint: str | None = None) -> ProjectError:
        return self.file.error("E104", f"'{name}' must be {wanted}, not {shown(node)}", node, hint)

    def name(self, key: str, node: Node) -> str:
        """A name is its text whatever YAML would make of it: NO, on, 2024 and null are names."""
        text = self.text(key, node)
        if not text:
            raise self.wrong(key, node, "a name")
        return text

    def text(self, key: str, node: Node) -> str:
        if not isinstance(node, Scalar):
            raise self.wrong(
                key, node, "a text", "Put quotes around a text that begins with [ or {."
            )
        return node.text

    def flag(self, key: str, node: Node) -> bool:
        if not isinstance(node, Scalar) or not node.plain or node.text not in FLAGS:
            word = node.text.casefold() if isinstance(node, Scalar) else ""
            meant = next((said for said, words in _FLAG_WORDS.items() if word in words), None)
            raise self.wrong(
                key, node, "true or false", meant and f"Write {meant}, without quotes."
            )
        return FLAGS[node.text]

    def number(self, key: str, node: Node) -> int:
        if not isinstance(node, Scalar) or not node.plain or not node.text.isdecimal():
            raise self.wrong(key, node, "a whole number")
        return int(node.text)

    def names(self, key: str, node: Node) -> tuple[str, ...]:
        if isinstance(node, Scalar):
            return (self.name(key, node),)
        if isinstance(node, MappingNode):
            raise self.wrong(key, node, "a list of names")
        names = tuple(self.name(key, item) for item in node.items)
        if len({n.casefold() for n in names}) < len(names):
            raise self.file.error("E105", f"'{key}' names a column twice", node)
        return names

    def texts(self, key: str, node: Node) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in self.mapping(key, node).pairs:
            if name.text in found:
                raise self.doubled(name, f"'{key}'")
            found[name.text] = self.text(name.text, value)
        return found

    def mapping(self, key: str, node: Node) -> MappingNode:
        if not isinstance(node, MappingNode):
            raise self.wrong(key, node, "a mapping of keys and values")
        return node

    def sequence(self, key: str, node: Node) -> SequenceNode:
        if not isinstance(node, SequenceNode):
            raise self.wrong(key, node, "a list", "Begin each entry with '- '.")
        return node

    def named(self, key: str, node: MappingNode) -> dict[str, tuple[Scalar, Node]]:
        """The entries of a mapping from names to objects."""
        found: dict[str, tuple[Scalar, Node]] = {}
        for name, value in node.pairs:
            if name.text in found:
                self.problems.add(self.doubled(name, f"'{key}'"))
            found[name.text] = (name, value)
        return found


def plain_value(node: Node) -> Any:
    """A node as plain Python values, by the rules of YAML 1.2."""
    match node:
        case MappingNode(pairs=pairs):
            return {key.text: plain_value(value) for key, value in pairs}
        case SequenceNode(items=items):
            return [plain_value(item) for item in items]
        case Scalar(text=text, plain=False):
            return text
        case Scalar(text=text):
            return None if node.is_null else FLAGS.get(text, _number(text))


def _number(text: str) -> int | float | str:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
