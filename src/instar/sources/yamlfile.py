"""YAML files of a project: read with places for every key, and refused in words that name the place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from instar.errors import Location, ProjectError
from instar.sources.nodes import MappingNode, Node, Scalar, SequenceNode
from instar.sources.yamlfast import parse_quickly

_SECRET_VALUE = re.compile(
    r"""(?i)((?:[\w.-]*(?:password|pwd|token|secret|passphrase|private_key)[\w.-]*|connect_url|\bstate)"""
    r"""["']?\s*:\s*)(?!\$\{\w*\}\s*(?:[,}#]|$))[^,}\s#][^,}]*"""
)
"""A key that may hold a secret, with its value; a bare `${NAME}` gives nothing away."""
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_SECRET_IN_URL = re.compile(r"(://[^\s/@:]*:)[^\s/@]+(?=@)")

_HINTS: Mapping[str, str] = {
    "mapping values are not allowed": "Put quotes around a value that contains ': '.",
    "'\\t'": "Indent with spaces, not tabs.",
    "'`'": "Put quotes around a value that begins with a backtick.",
    "'@'": "Put quotes around a value that begins with '@'.",
    "another document": "Keep one document in a file: remove the '---' between them.",
    "<block end>": "Check the indentation of this line and the one before.",
    "expected ',' or": "Close the bracket or brace that begins here, or quote the value.",
    "undefined alias": "Define the anchor (&name) before its alias (*name).",
}


class SourceFile:
    """One file of the project: its text, its name as people see it, and how it is complained about."""

    def __init__(self, path: Path, root: Path, text: str) -> None:
        self.path = path
        self.name = shown_path(path, root)
        self.text = text

    @classmethod
    def read(cls, path: Path, root: Path, data: bytes | None = None) -> SourceFile:
        name = shown_path(path, root)
        try:
            data = path.read_bytes() if data is None else data
            return cls(path, root, data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            where = Location(name)
            message = f"{name} is not text in UTF-8"
            raise ProjectError("E113", message, where=where) from None
        except OSError as error:
            message = f"{name} cannot be read: {error.strerror}"
            raise ProjectError("E113", message, where=Location(name)) from None

    def location(self, line: int | None = None, column: int | None = None) -> Location:
        if line is None:
            return Location(self.name)
        lines = self.text.splitlines()
        text = redacted(lines[line - 1]) if line <= len(lines) else None
        return Location(self.name, line, column, text)

    def error(
        self, code: str, message: str, at: Node | None = None, hint: str | None = None
    ) -> ProjectError:
        where = self.location() if at is None else self.location(at.line, at.column)
        return ProjectError(code, message, hint=hint, where=where)

    def tree(self) -> Node:
        """The file's one document."""
        node = parse_quickly(self.text)
        if node is None:
            node = parse_fully(self)
        if node is None or (isinstance(node, Scalar) and node.is_null):
            raise self.error("E102", f"{self.name} is empty")
        return node


def shown_path(path: Path, root: Path) -> str:
    """A path as messages show it: under the project's root, with forward slashes."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.as_posix()


def redacted(line: str) -> str:
    """A line of a file without the secrets that may stand in it."""
    return _SECRET_IN_URL.sub(r"\1*****", _SECRET_VALUE.sub(r"\1*****", line))


def parse_fully(file: SourceFile) -> Node | None:
    """The whole of YAML 1.2, with marks; None for an empty file."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        composed = YAML(typ="safe", pure=True).compose(file.text)
    except MarkedYAMLError as error:
        raise _bad_yaml(file, error) from None
    except YAMLError as error:
        raise _bad_character(file, error) from None
    return None if composed is None else _Converter(file).node(composed)


def _bad_yaml(file: SourceFile, error: Any) -> ProjectError:
    mark = error.problem_mark or error.context_mark
    # What is not closed is missed at the end only; the line that opens it is the broken one.
    unclosed = any(words in str(error.problem) for words in ("<stream end>", "end of stream"))
    mark = error.context_mark or mark if unclosed else mark
    problem = " ".join(str(error.problem or error.context or "not YAML").split())
    hint = next((text for part, text in _HINTS.items() if part in problem), None)
    where = file.location(mark.line + 1, mark.column + 1) if mark else file.location()
    return ProjectError("E101", f"{file.name} is not valid YAML: {problem}", hint=hint, where=where)


def _bad_character(file: SourceFile, error: Any) -> ProjectError:
    position = getattr(error, "position", None)
    where = file.location()
    if isinstance(position, int):
        before = file.text[:position]
        line = before.count("\n") + 1
        where = file.location(line, len(before) - before.rfind("\n"))
    message = f"{file.name} is not valid YAML: it holds a character that YAML does not allow"
    return ProjectError("E101", message, where=where)


class _Converter:
    """From the YAML library's nodes to ours; aliases share one node, merge keys are merged."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.done: dict[int, Node] = {}
        self.open: set[int] = set()

    def node(self, node: Any) -> Node:
        known = self.done.get(id(node))
        if known is not None:
            return known
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        if id(node) in self.open:
            where = self.file.location(line, column)
            raise ProjectError("E101", f"{self.file.name}: an alias contains itself", where=where)
        self.open.add(id(node))
        result: Node
        match node.id:
            case "scalar":
                self.refuse_halves(node.value, line, column)
                result = Scalar(node.value, node.style is None, line, column)
            case "sequence":
                result = SequenceNode([self.node(n) for n in node.value], line, column)
            case _:
                result = MappingNode(self.pairs(node), line, column)
        self.open.discard(id(node))
        self.done[id(node)] = result
        return result

    def refuse_halves(self, text: str, line: int, column: int) -> None:
        """Escapes can write what is no text: a zero byte, or half of a character."""
        bad = _NO_TEXT.search(text)
        if bad is not None:
            what = (
                "a zero byte" if bad[0] == "\0" else f"half of a character (\\u{ord(bad[0]):04x})"
            )
            message = f"{self.file.name}: a value holds {what}, which no engine keeps"
            raise ProjectError("E101", message, where=self.file.location(line, column))

    def pairs(self, node: Any) -> list[tuple[Scalar, Node]]:
        pairs: list[tuple[Scalar, Node]] = []
        merged: list[tuple[Scalar, Node]] = []
        for key_node, value_node in node.value:
            key, value = self.node(key_node), self.node(value_node)
            if not isinstance(key, Scalar):
                raise self.file.error("E104", "a key must be one word or text", key)
            if key.plain and key.text == "<<":
                merged += self.merged(value)
            else:
                pairs.append((key, value))
        own = {key.text for key, _ in pairs}
        for key, value in merged:
            if key.text not in own:
                own.add(key.text)
                pairs.append((key, value))
        return pairs

    def merged(self, value: Node) -> list[tuple[Scalar, Node]]:
        if isinstance(value, MappingNode):
            return value.pairs
        if isinstance(value, SequenceNode):
            return [pair for item in value.items for pair in self.merged(item)]
        raise self.file.error("E104", "'<<' takes a mapping", value)
