"""Rewriting the order of a manifest's columns changes that block and no other byte."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from instar.core.schema import Table, TableName
from instar.core.types import Column, Integer, String
from instar.errors import ProjectError
from instar.sources.manifest import load_manifest
from instar.sources.project import load_project
from instar.sources.rewrite import columns_block, write_columns


def live(*names: str) -> Table:
    return Table(TableName("main", "t"), tuple(Column(n, Integer(32)) for n in names))


BLOCK = """\
# orders
table: t   # here

columns:   # in order
  # the key
  - name: A
    type: INT     # number
    comment: |
      two
      lines

  # about b
  # in two lines
  - {name: B, type: STRING, _default: "'x'"}   # short
  - name: C
    type: INT
    # inside c

  # a group
  - name: D
    fields: {}
    type: STRUCT<x INT>
# the end
primary_key: [A]
"""

BLOCK_DBCA = """\
# orders
table: t   # here

columns:   # in order
  # a group
  - name: D
    fields: {}
    type: STRUCT<x INT>

  # about b
  # in two lines
  - {name: B, type: STRING, _default: "'x'"}   # short
  - name: C
    type: INT
    # inside c

  # the key
  - name: A
    type: INT     # number
    comment: |
      two
      lines
# the end
primary_key: [A]
"""

FLOW = "columns: [{name: A, type: INT}, # first\n  {name: B, type: INT} , {name: C, type: INT}]\ntable: t\n"
FLOW_CAB = "columns: [{name: C, type: INT}, # first\n  {name: A, type: INT} , {name: B, type: INT}]\ntable: t\n"

ITEMS = (
    "table: t\ncolumns:\n- name: A\n  type: INT\n-\n  name: B\n  type: INT\n- {name: C, type: INT}"
)
ITEMS_CBA = (
    "table: t\ncolumns:\n- {name: C, type: INT}\n-\n  name: B\n  type: INT\n- name: A\n  type: INT"
)


@pytest.mark.parametrize(
    ("before", "order", "after"),
    [
        (BLOCK, "ABCD", BLOCK),
        (BLOCK, "DBCA", BLOCK_DBCA),
        (FLOW, "CAB", FLOW_CAB),
        (ITEMS, "CBA", ITEMS_CBA),
    ],
    ids=["same", "block", "flow", "no end of line"],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "BOM"])
def test_the_entries_change_places(
    root: Path, before: str, order: str, after: str, newline: str, mark: bytes
) -> None:
    path = root / "tables" / "t.yml"
    path.write_bytes(mark + before.replace("\n", newline).encode())
    assert write_columns(path, live(*order), root=root) is (before != after)
    assert path.read_bytes() == mark + after.replace("\n", newline).encode()
    assert write_columns(path, live(*order), root=root) is False
    assert path.read_bytes() == mark + after.replace("\n", newline).encode()


@pytest.mark.parametrize("text", [BLOCK, FLOW, ITEMS], ids=["block", "flow", "items"])
def test_any_order_keeps_every_entry_and_the_rest(root: Path, text: str) -> None:
    """There and back again gives the same manifest, whatever the order between."""
    path = root / "tables" / "t.yml"
    names = [n for n in "ABCD" if f"name: {n}" in text]
    path.write_text(text)
    project = load_project(root)
    first = load_manifest(project, "dev", path)
    for order in itertools.permutations(names):
        path.write_text(text)
        write_columns(path, live(*order), root=root)
        now = load_manifest(project, "dev", path)
        assert [c.name for c in now.table.columns] == list(order)
        assert {c.name: c for c in now.table.columns} == {c.name: c for c in first.table.columns}
        assert now.hints == first.hints
        write_columns(path, live(*names), root=root)
        assert load_manifest(project, "dev", path) == first


def test_names_are_the_same_whatever_their_case(root: Path) -> None:
    path = root / "tables" / "t.yml"
    path.write_text("table: t\ncolumns:\n  - {name: Aa, type: INT}\n  - {name: Bb, type: INT}\n")
    write_columns(path, live("BB", "AA"), root=root)
    assert path.read_text() == (
        "table: t\ncolumns:\n  - {name: Bb, type: INT}\n  - {name: Aa, type: INT}\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "columns:\n  - {name: A, type: INT}\ntable: t\n",
            "columns:\n  - {name: NEW, type: INT}\n  - {name: A, type: INT}\n"
            "  - {name: odd name, type: INT}\ntable: t\n",
        ),
        (
            "table: t\ncolumns:\n- name: A\n  type: INT",
            "table: t\ncolumns:\n- {name: NEW, type: INT}\n- name: A\n  type: INT\n"
            "- {name: odd name, type: INT}",
        ),
        (
            "columns: [{name: A, type: INT}]\ntable: t\n",
            "columns: [{name: NEW, type: INT}, {name: A, type: INT}, {name: odd name, type: INT}]\n"
            "table: t\n",
        ),
    ],
)
def test_columns_that_are_only_live_are_written_in(root: Path, before: str, after: str) -> None:
    path = root / "tables" / "t.yml"
    path.write_text(before)
    write_columns(path, live("NEW", "A", "odd name"), root=root)
    assert path.read_text() == after
    assert write_columns(path, live("NEW", "A", "odd name"), root=root) is False


def test_the_block_to_print() -> None:
    table = Table(
        TableName("main", "t"),
        (Column("ID", Integer(64), nullable=False), Column("S", String(), comment="x")),
    )
    assert columns_block(table) == (
        "columns:\n"
        "  - {name: ID, type: BIGINT, nullable: false}\n"
        "  - {name: S, type: STRING, comment: x}\n"
    )


def test_the_block_to_print_with_the_words_of_the_manifest(root: Path) -> None:
    path = root / "tables" / "t.yml"
    path.write_text(BLOCK)
    block = columns_block(live("D", "B", "C", "A"), path)
    assert block == BLOCK_DBCA[BLOCK_DBCA.index("columns:") : BLOCK_DBCA.index("# the end")]
    assert path.read_text() == BLOCK


@pytest.mark.parametrize(
    "text",
    [
        "table: t\nx: &c\n  - {name: A, type: INT}\n  - {name: B, type: INT}\ncolumns: *c\n",
        "table: t\nx: &a {name: A, type: INT}\ncolumns:\n  - {name: B, type: INT}\n  - *a\n",
        "table: t\rcolumns:\r  - {name: B, type: INT}\r  - {name: A, type: INT}\r",
        "table: t\ncolumns: 1\n",
        "table: t\n",
        "- a\n",
        "table: t\ncolumns:\n  - {nome: A}\n",
    ],
)
def test_what_cannot_be_rewritten_safely_is_left_alone(root: Path, text: str) -> None:
    path = root / "tables" / "t.yml"
    path.write_bytes(text.encode())
    with pytest.raises(ProjectError) as caught:
        write_columns(path, live("A", "B"), root=root)
    assert caught.value.code == "E140"
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("linked", [False, True])
def test_nothing_outside_the_project_is_written(
    root: Path, tmp_path_factory: pytest.TempPathFactory, linked: bool
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "t.yml"
    outside.write_text(ITEMS)
    path = root / "tables" / "t.yml" if linked else outside
    if linked:
        path.symlink_to(outside)
    with pytest.raises(ProjectError, match="outside the project"):
        write_columns(path, live("C", "B", "A"), root=root)
    assert outside.read_text() == ITEMS
