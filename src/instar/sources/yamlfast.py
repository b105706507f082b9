"""A quick reader for the everyday shape of a manifest; anything else is left to the full YAML reader.

It takes block mappings and sequences, one-line flow values, plain scalars without tricks and quoted ones
without escapes. Whenever a line could mean something else it gives up (`None`) and decides nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

from instar.sources.nodes import MappingNode, Node, Scalar, SequenceNode

_UNUSUAL = re.compile("[^\n\x20-\x7e\xa0-\u2027\u2030-\ud7ff\ue000-\ufefe]")
_QUOTED = r"""'(?:[^']|'')*'|"[^"\\]*\""""
_KEY = re.compile(rf"([A-Za-z_][A-Za-z0-9_.]*|{_QUOTED}) *:(?: +([^ #].*)| *| +#.*)$")
_ITEM = re.compile(r"-( +)([^ #].*)$")
_PLAIN = re.compile(r"([A-Za-z0-9_./$(]|-(?=\d))[^:#]*?(?= *$| +#)")
_QUOTED_VALUE = re.compile(_QUOTED)
_REST = re.compile(r" *$| +#")
_FLOW = re.compile(
    rf" *(?:({_QUOTED})|((?:[A-Za-z0-9_./$(]|-(?=\d))[^,:#\[\]{{}}]*?)(?= *(?:[,\]}}]|: ))|([\[\]{{}},])|(:(?= )))"
)

Line = tuple[int, str, int]
"""(indentation, content, number)"""


class _GiveUp(Exception):
    pass


def parse_quickly(text: str) -> Node | None:
    """The tree of a text in the everyday shape; None when the full reader must look."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if _UNUSUAL.search(text):
        return None
    try:
        return _Blocks(text).document()
    except (_GiveUp, RecursionError):
        return None


class _Blocks:
    def __init__(self, text: str) -> None:
        self.lines: list[Line] = []
        for number, raw in enumerate(text.split("\n"), 1):
            content = raw.lstrip(" ")
            if content and content[0] != "#":
                self.lines.append((len(raw) - len(content), content, number))
        self.lines.append((-1, "", 0))
        self.at = 0

    def document(self) -> Node:
        indent, content, _ = self.lines[0]
        if indent != 0 or content.startswith("-"):
            raise _GiveUp
        node = self.mapping(0)
        if self.lines[self.at][0] != -1:
            raise _GiveUp
        return node

    def mapping(self, indent: int) -> MappingNode:
        line = self.lines[self.at]
        node = MappingNode([], line[2], indent + 1)
        while line[0] == indent:
            match = _KEY.match(line[1])
            if match is None:
                raise _GiveUp
            key = _scalar(match[1], line[2], indent + 1)
            self.at += 1
            if match[2] is None:
                value = self.below(indent, key)
            else:
                value = _value(match[2], line[2], indent + 1 + match.start(2))
                if self.lines[self.at][0] > indent:
                    raise _GiveUp
            node.pairs.append((key, value))
            line = self.lines[self.at]
        if line[0] > indent:
            raise _GiveUp
        return node

    def below(self, indent: int, key: Scalar) -> Node:
        """The value of a key that ends its line."""
        inner, content, _ = self.lines[self.at]
        dashed = content.startswith("- ")
        if inner > indent:
            return self.sequence(inner) if dashed else self.mapping(inner)
        if inner == indent and dashed:
            return self.sequence(inner)
        return Scalar("", True, key.line, key.column)

    def sequence(self, indent: int) -> SequenceNode:
        line = self.lines[self.at]
        node = SequenceNode([], line[2], indent + 1)
        while line[0] == indent and line[1][0] == "-":
            match = _ITEM.match(line[1])
            if match is None:
                raise _GiveUp
            inner = indent + 1 + len(match[1])
            if _KEY.match(match[2]):
                self.lines[self.at] = (inner, match[2], line[2])
                node.items.append(self.mapping(inner))
            else:
                node.items.append(_value(match[2], line[2], inner + 1))
                self.at += 1
                if self.lines[self.at][0] > indent:
                    raise _GiveUp
            line = self.lines[self.at]
        if line[0] > indent:
            raise _GiveUp
        return node


def _scalar(text: str, line: int, column: int) -> Scalar:
    if text[0] == "'":
        return Scalar(text[1:-1].replace("''", "'"), False, line, column)
    if text[0] == '"':
        return Scalar(text[1:-1], False, line, column)
    return Scalar(text, True, line, column)


def _value(text: str, line: int, column: int) -> Node:
    """What stands behind a key or a dash, up to the end of the line."""
    if text[0] == "{" and (flat := _flat(text)) is not None:
        pairs: list[tuple[Scalar, Node]] = [
            (
                Scalar(key, key_plain, line, column + key_at),
                Scalar(value, value_plain, line, column + value_at),
            )
            for (key, key_plain, key_at), (value, value_plain, value_at) in flat
        ]
        return MappingNode(pairs, line, column)
    match = _PLAIN.match(text) or _QUOTED_VALUE.match(text)
    if match is not None:
        if not _REST.match(text, match.end()):
            raise _GiveUp
        return _scalar(match[0], line, column)
    if text[0] not in "[{":
        raise _GiveUp
    return _flow(text, line, column)


def _flow(text: str, line: int, column: int) -> Node:
    flow = _Flow(text, line, column)
    node = flow.node()
    if not _REST.match(text, flow.at):
        raise _GiveUp
    return node


Word = tuple[str, bool, int]
"""(text, plain, place in the line)"""


@lru_cache(maxsize=8192)
def _flat(text: str) -> tuple[tuple[Word, Word], ...] | None:
    """The pairs of `{a: b, c: d}`: in many manifests the same columns stand on such lines. None if nested."""
    node = _flow(text, 0, 0)
    assert isinstance(node, MappingNode)
    pairs = [
        ((k.text, k.plain, k.column), (v.text, v.plain, v.column))
        for k, v in node.pairs
        if isinstance(v, Scalar)
    ]
    return tuple(pairs) if len(pairs) == len(node.pairs) else None


class _Flow:
    """`{a: b, c: [d, e]}` on one line."""

    def __init__(self, text: str, line: int, column: int) -> None:
        self.text, self.line, self.column, self.at = text, line, column, 0

    def next(self) -> tuple[str, Scalar | None, int]:
        """(mark, scalar, column): one of the two is set."""
        match = _FLOW.match(self.text, self.at)
        if match is None:
            raise _GiveUp
        self.at = match.end()
        group = match.lastindex or 0
        column = self.column + match.start(group)
        if group <= 2:
            return "", _scalar(match[group], self.line, column), column
        return match[group], None, column

    def node(self) -> Node:
        mark, scalar, column = self.next()
        if scalar is not None:
            return scalar
        if mark == "[":
            return self.items(column)
        if mark == "{":
            return self.pairs(column)
        raise _GiveUp

    def empty(self, close: str) -> bool:
        rest = self.text[self.at :].lstrip(" ")
        if rest.startswith(close):
            self.at = len(self.text) - len(rest) + 1
            return True
        return False

    def more(self, close: str) -> bool:
        mark, _, _ = self.next()
        if mark not in (",", close):
            raise _GiveUp
        return mark == ","

    def items(self, column: int) -> SequenceNode:
        node = SequenceNode([], self.line, column)
        if self.empty("]"):
            return node
        while True:
            node.items.append(self.node())
            if not self.more("]"):
                return node

    def pairs(self, column: int) -> MappingNode:
        node = MappingNode([], self.line, column)
        if self.empty("}"):
            return node
        while True:
            key = self.node()
            mark, _, _ = self.next()
            if not isinstance(key, Scalar) or mark != ":":
                raise _GiveUp
            node.pairs.append((key, self.node()))
            if not self.more("}"):
                return node
