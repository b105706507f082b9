"""Reads the case files under cases/: tables, hints and expected changes in a notation for people.

== the name of the case
names: exact                      only where upper and lower case differ (default: they do not)
live:
  id BIGINT NOT NULL #1           #1 is the engine's identity of the column
  a STRING DEFAULT 'x' COMMENT 'said'
  .address.zip COMMENT 'said'     a leading dot says more about a nested field
  primary key (id)
  check positive: a >= 0
  unique one: (a, b)
  cluster by (a)   partition by (b)   property k = v   comment 'of the table'   tracked true
wanted:
  b STRING <- a                   b is declared `renamed_from: a`
done:
  b <- a                          an earlier apply has carried this rename out
changes:
  nothing
policy: drop                        what is not declared goes (default: it stays)
findings:                           what is said of it on the memory engine, where a case asks for it
  warning F109 b: [s.t] the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath

from instar.core.schema import Check, Hint, Table, TableName, Unique, Wanted
from instar.core.types import Column, Path, children, with_children
from instar.sources.typetext import parse_type

_NAME = r"(?:`(?:[^`]|``)+`|[^\s.`()]+)"
_SUFFIXES = {
    "rename": re.compile(rf"\s*<- ({_NAME})$"),
    "identity": re.compile(r"\s*#(\d+)$"),
    "comment": re.compile(r"\s*COMMENT '([^']*)'$"),
    "default": re.compile(r"\s*DEFAULT (\S+)$"),
    "required": re.compile(r"\s*NOT NULL()$"),
}


@dataclass
class Case:
    name: str
    file: str
    exact: bool = False
    live: Table = field(default_factory=lambda: Table(TableName("s", "t"), ()))
    wanted: Wanted = field(default_factory=lambda: Wanted(Table(TableName("s", "t"), ())))
    done: frozenset[tuple[Path, str]] = frozenset()
    changes: tuple[str, ...] = ()
    drop: bool = False
    findings: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"


def read_cases(folder: FilePath) -> Iterator[Case]:
    for file in sorted(folder.glob("*.txt")):
        parts = re.split(r"^== ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for part in parts[1:]:
            yield _case(part, file.stem)


def _case(text: str, file: str) -> Case:
    title, *lines = text.splitlines()
    case = Case(title.strip(), file)
    blocks: dict[str, list[str]] = {}
    block: list[str] = []
    for raw in lines:
        line = raw.strip()
        if line == "names: exact":
            case.exact = True
        elif line == "policy: drop":
            case.drop = True
        elif re.fullmatch(r"(live|wanted|done|changes|findings):", line):
            block = blocks.setdefault(line[:-1], [])
        elif line and not line.startswith("//"):
            block.append(line)
    case.live, hints = read_table(blocks["live"])
    assert not hints, "what is live has no hints"
    case.wanted = Wanted(*read_table(blocks["wanted"]))
    case.done = frozenset(_done(line) for line in blocks.get("done", []))
    case.changes = () if blocks["changes"] == ["nothing"] else tuple(blocks["changes"])
    case.findings = tuple(blocks["findings"]) if "findings" in blocks else None
    return case


def _done(line: str) -> tuple[Path, str]:
    new, old = line.split(" <- ")
    return tuple(p.casefold() for p in _path(new)), _plain(old).casefold()


def _path(text: str) -> Path:
    return tuple(_plain(part) for part in re.findall(_NAME, text))


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def read_table(lines: list[str]) -> tuple[Table, dict[Path, Hint]]:
    """A table and its hints, from the lines of a block."""
    table = Table(TableName("s", "t"), ())
    hints: dict[Path, Hint] = {}
    for line in map(str.strip, lines):
        if (found := _about_table(table, line)) is not None:
            table = found
            continue
        rest, said = _suffixes(line)
        if line.startswith("."):
            path = _path(rest)
            table = replace(table, columns=_said(table.columns, path, said))
        else:
            match = re.match(rf"({_NAME})\s+(.+)$", rest)
            assert match, f"cannot read {line!r}"
            path = (_plain(match[1]),)
            column = _with(Column(path[0], parse_type(match[2])), said)
            table = replace(table, columns=(*table.columns, column))
        if "rename" in said:
            hints[path] = Hint(renamed_from=_plain(said["rename"]))
    return table, hints


def _suffixes(line: str) -> tuple[str, dict[str, str]]:
    said: dict[str, str] = {}
    while True:
        for kind, pattern in _SUFFIXES.items():
            if match := pattern.search(line):
                said[kind] = match[1]
                line = line[: match.start()]
                break
        else:
            return line, said


def _with(column: Column, said: dict[str, str]) -> Column:
    return replace(
        column,
        nullable=column.nullable and "required" not in said,
        default=said.get("default", column.default),
        comment=said.get("comment", column.comment),
        identity=int(said["identity"]) if "identity" in said else column.identity,
    )


def _said(columns: tuple[Column, ...], path: Path, said: dict[str, str]) -> tuple[Column, ...]:
    assert path[0] in [c.name for c in columns], f"there is no {path[0]}"
    return tuple(
        column
        if column.name != path[0]
        else _with(column, said)
        if len(path) == 1
        else replace(
            column,
            type=with_children(column.type, _said(children(column.type), path[1:], said)),
        )
        for column in columns
    )


def _about_table(table: Table, line: str) -> Table | None:
    if match := re.fullmatch(r"(primary key|cluster by|partition by) \((.*)\)", line):
        names = tuple(_path(match[2].replace(",", " ")))
        key = {"primary key": "primary_key"}.get(match[1], match[1].replace(" ", "_"))
        return replace(table, **{key: names})
    if match := re.fullmatch(r"check (\w+): (.*)", line):
        return replace(table, constraints=(*table.constraints, Check(match[1], match[2])))
    if match := re.fullmatch(r"unique (\w+): \((.*)\)", line):
        unique = Unique(match[1], tuple(_path(match[2].replace(",", " "))))
        return replace(table, constraints=(*table.constraints, unique))
    if match := re.fullmatch(r"property (\S+) = (.*)", line):
        return replace(table, properties={**table.properties, match[1]: match[2]})
    if match := re.fullmatch(r"comment '(.*)'", line):
        return replace(table, comment=match[1])
    if match := re.fullmatch(r"tracked (true|false)", line):
        return replace(table, change_tracking=match[1] == "true")
    return None
