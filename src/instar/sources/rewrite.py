"""The `columns` block of a manifest brought into a given order; everything else keeps every byte."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from instar.core.schema import Table
from instar.core.types import Column
from instar.errors import Location, ProjectError
from instar.sources.entries import column_entry, column_lines, columns_lines, flow
from instar.sources.nodes import MappingNode, Node, Scalar, SequenceNode
from instar.sources.yamlfile import SourceFile, parse_fully, shown_path


def columns_block(table: Table, path: Path | None = None) -> str:
    """The corrected `columns` block, to print: the manifest's own entries where a path is given."""
    if path is None:
        return "\n".join(columns_lines(table.columns)) + "\n"
    file = SourceFile.read(path, path.parent)
    layout = _layout(file)
    return layout.block(_arranged(layout, table.columns)).replace("\r\n", "\n").rstrip("\n") + "\n"


def write_columns(path: Path, table: Table, *, root: Path) -> bool:
    """Rewrite the manifest's columns in the table's order, undeclared ones written in; True if it changed."""
    _refuse_outside(path, root)
    file = SourceFile.read(path, root)
    layout = _layout(file)
    text = layout.replaced(_arranged(layout, table.columns))
    if text == file.text:
        return False
    _refuse_damage(file, text, table)
    try:
        _write(path, text.encode("utf-8"), path.read_bytes().startswith(b"\xef\xbb\xbf"))
    except OSError as error:
        raise _cannot(file, error.strerror or str(error)) from None
    return True


@dataclass(frozen=True, slots=True)
class _Piece:
    """The text of one column's entry, from `start` to `end` in the file."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the entries stand. `indent` is None for a list in brackets."""

    file: SourceFile
    begin: int
    pieces: tuple[_Piece, ...]
    indent: str | None
    one_line: bool
    newline: str

    def entry(self, column: Column) -> str:
        """A new entry in the style of the others."""
        if self.indent is None:
            return flow(column_entry(column))
        lines = column_lines(column_entry(column), self.indent, one_line=self.one_line or None)
        return self.newline.join([*lines, ""])

    def replaced(self, entries: Sequence[str]) -> str:
        """The whole text with other entries; what stands between them stays in its place."""
        text = self.file.text
        return text[: self.begin] + self.block(entries, self.begin) + text[self.pieces[-1].end :]

    def block(self, entries: Sequence[str], begin: int | None = None) -> str:
        text = self.file.text
        at = self.begin if begin is None else begin
        made: list[str] = []
        last = len(entries) - 1
        for index, entry in enumerate(entries):
            if index < len(self.pieces):
                made.append(text[at : self.pieces[index].start])
                at = self.pieces[index].end
            elif self.indent is None:
                made.append(", ")
            made.append(self.ended(entry, index == last))
        return "".join(made)

    def ended(self, entry: str, last: bool) -> str:
        """Each entry of a block ends its line; the last one as the file's last one did."""
        if self.indent is None:
            return entry
        bare = entry.removesuffix("\n").removesuffix("\r")
        final = self.pieces[-1]
        unended = not self.file.text[final.start : final.end].endswith("\n")
        return bare if last and unended else bare + self.newline


def _arranged(layout: _Layout, columns: Sequence[Column]) -> list[str]:
    """The entries in the table's order; declared columns that it lacks come last."""
    text = layout.file.text
    own = {p.name.casefold(): text[p.start : p.end] for p in layout.pieces}
    arranged = [own.pop(c.name.casefold(), "") or layout.entry(c) for c in columns]
    return [*arranged, *own.values()]


def _layout(file: SourceFile) -> _Layout:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        top = YAML(typ="safe", pure=True).compose(file.text)
    except YAMLError:
        parse_fully(file)
        raise
    pairs = top.value if top is not None and top.id == "mapping" else []
    key, columns = next(((k, v) for k, v in pairs if k.value == "columns"), (None, None))
    if key is None or columns is None or columns.id != "sequence" or not columns.value:
        raise _cannot(file, "it has no list of columns")
    items = columns.value
    if columns.start_mark.index < key.end_mark.index or len({id(i) for i in items}) < len(items):
        raise _cannot(file, "its columns are shared by a YAML alias")
    if "\r" in file.text.replace("\r\n", ""):
        raise _cannot(file, "a lone carriage return ends its lines")
    newline = "\r\n" if "\r\n" in file.text else "\n"
    begin = _line_start(file.text, key.start_mark.index)
    if columns.flow_style:
        pieces = tuple(_Piece(_name(file, i), i.start_mark.index, i.end_mark.index) for i in items)
        return _Layout(file, begin, pieces, None, True, newline)
    column = columns.start_mark.column
    pieces = _Lines(file, column).pieces(items)
    one_line = all(item.flow_style for item in items)
    return _Layout(file, begin, pieces, " " * column, one_line, newline)


def _name(file: SourceFile, item: Any) -> str:
    pairs = item.value if item.id == "mapping" else []
    found = next((v.value for k, v in pairs if k.value == "name" and v.id == "scalar"), None)
    if found is None:
        raise _cannot(file, "an entry of its columns has no name")
    return str(found)


class _Lines:
    """The entries of a block list as runs of whole lines."""

    def __init__(self, file: SourceFile, column: int) -> None:
        self.file, self.column = file, column
        self.lines = file.text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def pieces(self, items: Sequence[Any]) -> tuple[_Piece, ...]:
        found: list[_Piece] = []
        floor = 0
        for item in items:
            dash = self.dash(item)
            first = dash
            while first - 1 >= floor and self.comment(first - 1) == self.column:
                first -= 1
            last = max(_last_line(item), dash)
            while last > dash and not self.lines[last].strip():
                last -= 1
            while (self.comment(last + 1) or 0) > self.column:
                last += 1
            end = min(self.starts[last + 1], len(self.file.text))
            found.append(_Piece(_name(self.file, item), self.starts[first], end))
            floor = last + 1
        return tuple(found)

    def dash(self, item: Any) -> int:
        """The line of the entry's dash, which may stand above its first key."""
        line: int = item.start_mark.line
        before = " " * self.column + "-"
        while line >= 0 and not self.lines[line].lstrip("\ufeff").startswith(before):
            line -= 1
        if line < 0:
            raise _cannot(self.file, "its columns are shared by a YAML alias")
        return line

    def comment(self, line: int) -> int | None:
        """The indentation of a line that is only a comment."""
        text = self.lines[line] if 0 <= line < len(self.lines) else ""
        bare = text.lstrip(" ")
        return len(text) - len(bare) if bare.startswith("#") else None


def _last_line(node: Any) -> int:
    """The last line on which something of a node stands."""
    if node.id == "scalar" or node.flow_style:
        mark = node.end_mark
        line: int = mark.line
        return line - 1 if mark.column == 0 and line > node.start_mark.line else line
    inner = node.value[-1] if node.value else None
    if inner is None:
        return int(node.start_mark.line)
    return max(map(_last_line, inner)) if isinstance(inner, tuple) else _last_line(inner)


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _cannot(file: SourceFile, why: str) -> ProjectError:
    return file.error(
        "E140", f"{file.name} cannot be rewritten: {why}", hint="Paste the corrected block by hand."
    )


def _refuse_outside(path: Path, root: Path) -> None:
    if not path.resolve().is_relative_to(root.resolve()):
        name = shown_path(path, root)
        message = f"{name} lies outside the project and is not written"
        raise ProjectError("E140", message, where=Location(name))


def _refuse_damage(file: SourceFile, text: str, table: Table) -> None:
    """What was written must read back as the same manifest with its columns in the wanted order."""
    try:
        before = _texts(file.tree())
        after = _texts(SourceFile(file.path, file.path.parent, text).tree())
    except ProjectError:
        raise _cannot(file, "its layout is unusual") from None
    old = {c["name"]: c for c in before.pop("columns")}
    new = {c["name"]: c for c in after.pop("columns")}
    order = [name.casefold() for name in new]
    wish = [c.name.casefold() for c in table.columns]
    kept = all(new.get(name) == said for name, said in old.items())
    if before != after or not kept or order[: len(wish)] != wish:
        raise _cannot(file, "its layout is unusual")


def _texts(node: Node) -> Any:
    """A tree as plain containers around texts as they were written."""
    match node:
        case Scalar(text=text):
            return text
        case MappingNode(pairs=pairs):
            return {key.text: _texts(value) for key, value in pairs}
        case SequenceNode(items=items):
            return [_texts(item) for item in items]


def _write(path: Path, data: bytes, mark: bool) -> None:
    """In one step, so that a crash leaves the old file or the new one."""
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(b"\xef\xbb\xbf" + data if mark else data)
        os.chmod(name, target.stat().st_mode & 0o7777)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
