"""Where a manifest says what a finding is about: found in the file when somebody asks, not before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path as FilePath

from instar.core.types import Path
from instar.errors import Location, ProjectError
from instar.sources.nodes import MappingNode, Node, Scalar, SequenceNode
from instar.sources.paths import split_path
from instar.sources.yamlfile import SourceFile

Entries = Mapping[str, tuple[Scalar, Node]]
"""The keys and values of one mapping."""


class Manifest:
    """One manifest's tree. A file that can no longer be read is only named."""

    def __init__(self, root: FilePath, origin: str) -> None:
        self.origin = origin
        self._file: SourceFile | None = None
        self._top: Entries = {}
        try:
            self._file = SourceFile.read(root / origin, root)
            self._top = _entries(self._file.tree())
        except ProjectError:
            return

    @cached_property
    def _columns(self) -> Mapping[str, Entries]:
        columns = self._top.get("columns")
        items = columns[1].items if columns and isinstance(columns[1], SequenceNode) else []
        return {name: said for said in map(_entries, items) if (name := _name(said))}

    def place(
        self,
        path: Path = (),
        key: str = "",
        attributes: Sequence[str] = (),
        *,
        shown: bool = True,
    ) -> Location:
        """The column's attribute, the column, the key, the table's name: the first that is there.

        `shown`: with the column in the line and the line itself.
        """
        node = self._column(path, attributes) or self._key(key) or self._key("table")
        if self._file is None or node is None:
            return Location(self.origin)
        if not shown:
            return Location(self.origin, node.line)
        return self._file.location(node.line, node.column)

    def _column(self, path: Path, attributes: Sequence[str]) -> Node | None:
        said = self._columns.get(path[0].casefold()) if path else None
        if said is None:
            return None
        if len(path) > 1:
            return self._field(said, path[1:], attributes)
        return _attribute(said, attributes) or said["name"][1]

    def _field(self, said: Entries, path: Path, attributes: Sequence[str]) -> Node:
        """What `fields` says of it, else the type that has it."""
        wish = tuple(map(str.casefold, path))
        for name, (key, node) in _entries(said["fields"][1] if "fields" in said else None).items():
            if tuple(map(str.casefold, split_path(name) or ())) == wish:
                return _attribute(_entries(node), attributes) or key
        return said["type"][1] if "type" in said else said["name"][1]

    def _key(self, key: str) -> Node | None:
        head, _, rest = key.partition(".")
        found = self._top.get(head)
        if found is None:
            return None
        inner = _entries(found[1]).get(rest) if rest else None
        return inner[0] if inner else found[0]


def _entries(node: Node | None) -> Entries:
    pairs = node.pairs if isinstance(node, MappingNode) else []
    return {key.text: (key, value) for key, value in pairs}


def _name(said: Entries) -> str:
    found = said.get("name")
    return found[1].text.casefold() if found and isinstance(found[1], Scalar) else ""


def _attribute(said: Entries, attributes: Sequence[str]) -> Node | None:
    return next((said[name][0] for name in attributes if name in said), None)
