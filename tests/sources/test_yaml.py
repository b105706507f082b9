"""The quick reader and the full one agree wherever the quick one does not give up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from instar.errors import ProjectError
from instar.sources.nodes import MappingNode, Node, Scalar, SequenceNode
from instar.sources.yamlfast import parse_quickly
from instar.sources.yamlfile import SourceFile, parse_fully, redacted


def places(node: Node) -> Any:
    """A tree as plain values with the place of everything; an empty value has no place of its own."""
    match node:
        case Scalar(text="", plain=True):
            return None
        case Scalar():
            return (node.text, node.plain, node.line, node.column)
        case SequenceNode():
            return ["seq", node.line, node.column, *map(places, node.items)]
        case MappingNode():
            pairs = [(places(k), places(v)) for k, v in node.pairs]
            return ["map", node.line, node.column, *pairs]


def fully(text: str) -> Any:
    try:
        node = parse_fully(SourceFile(Path("x.yml"), Path(), text))
    except ProjectError as error:
        return error.code
    return None if node is None else places(node)


EVERYDAY = """\
# a table
table: orders        # or schema.table
primary_key: [ID, 'b c', "d"]
constraints:
  positive: {check: "AMOUNT >= 0"}
properties: {}
empty:
columns:
  - {name: ID, type: BIGINT, nullable: false}
  # between
  - name: STATUS
    type: STRUCT<a INT, b STRING>

    fields:
      a.b: {comment: it is so, nullable: true}
  - name: 'it''s'
    _default: -1
"""


def test_the_everyday_shape_is_read_quickly() -> None:
    node = parse_quickly(EVERYDAY)
    assert node is not None
    assert places(node) == fully(EVERYDAY)


def test_the_ends_of_lines_do_not_matter() -> None:
    node = parse_quickly(EVERYDAY.replace("\n", "\r\n"))
    assert node is not None
    assert places(node) == fully(EVERYDAY)


pieces = st.sampled_from(
    [
        "a",
        "b: ",
        "c:",
        "- ",
        "  ",
        "\n",
        "\n  ",
        "\n- ",
        "\n  - ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        ": ",
        "'",
        '"',
        "#",
        " # c",
        "|",
        ">",
        "&a",
        "*a",
        "!t",
        "---",
        "...",
        "?",
        "\t",
        "\\",
        "%",
        "`",
        "é",
    ]
)
scraps = st.lists(pieces, max_size=14).map("".join)
"""Anything at all; most of it is not even YAML."""

keys = st.sampled_from(["a", "b", "c.d", "'e f'"])
values = st.sampled_from(
    """x|x y|'q: r'|"s # t"|[a, b]|{a: b}|[]|{}|-1|x # y|STRUCT<a INT, b INT>||x:y|x#y|# z|- x|-x|$x
{a: 'b, c', d: [e]}|{a: b,c: d}|{a: b c , d: e}|[a b,c]|{'a': b}|{a: x#y}|{a: x #y}|(x)|a b: c""".replace(
        "\n", "|"
    ).split("|")
)


@st.composite
def documents(draw: st.DrawFn, depth: int = 0) -> str:
    """Nested mappings and lists in block style, now and then with a slip in the layout."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        pad = draw(st.sampled_from(["", "", "", "", " "]))
        key = pad + draw(keys)
        below = draw(st.integers(0, 4)) if depth < 3 else 0
        if below < 3:
            lines.append(key + draw(st.sampled_from([": ", ":  ", " : ", ":"])) + draw(values))
        elif below == 3:
            lines.append(key + draw(st.sampled_from([":", ": # c", ": &x"])))
            lines += ["  " + line for line in draw(documents(depth + 1)).split("\n")]
        else:
            lines += [key + ":", *draw(lists(depth))]
        if draw(st.integers(0, 6)) == 0:
            lines.append(draw(st.sampled_from(["", "# c", "   # d", "  "])))
    return "\n".join(lines)


@st.composite
def lists(draw: st.DrawFn, depth: int) -> list[str]:
    indent = draw(st.sampled_from(["", "  "]))
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        inner = draw(values | documents(depth + 1)).split("\n")
        lines += [f"{indent}- {inner[0]}", *(f"{indent}  {line}" for line in inner[1:])]
    return lines


@settings(max_examples=400, deadline=None)
@given(documents() | scraps)
@example("a: b\n c: d")
@example("a: x\n  y")
@example("a:\n- b\n- c: d\n  e: f")
@example("a: {b: c} d")
@example("a: {b:c}")
@example("a: [b, c,]")
@example("a: b #c\n#d\n")
@example("a: b#c")
@example("a: - b")
@example("- a")
@example("a:\n  - b\n  c: d")
@example("a: 'b' 'c'")
@example('a: {"b":c}')
@example("? a")
@example("a: {b: c, d}")
def test_the_quick_reader_agrees_or_gives_up(text: str) -> None:
    node = parse_quickly(text)
    if node is not None:
        assert places(node) == fully(text)


def test_aliases_and_merge_keys_are_followed() -> None:
    text = "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\nc: *x\n"
    node = SourceFile(Path("x.yml"), Path(), text).tree()
    assert isinstance(node, MappingNode)
    _, (_, b), (_, c) = node.pairs
    assert isinstance(b, MappingNode)
    assert isinstance(c, MappingNode)
    assert {k.text: v.text for k, v in b.pairs if isinstance(v, Scalar)} == {"l": "3", "k": "1"}
    assert {k.text: v.text for k, v in c.pairs if isinstance(v, Scalar)} == {"k": "1", "l": "2"}


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "says"),
    [
        ("", "E102", None, None, "is empty"),
        ("# only a comment\n", "E102", None, None, "is empty"),
        ("a: 1\n\tb: 2\n", "E101", 2, 1, "Indent with spaces"),
        ("a: b: c\n", "E101", 1, 5, "Put quotes around"),
        ("a: {b: c\n", "E101", 1, 4, ""),
        ("a: `b`\n", "E101", 1, 4, "backtick"),
        ("a: 1\n---\nb: 2\n", "E101", 2, 1, "one document"),
        ("a: *x\n", "E101", 1, 4, "anchor"),
        ("a: &x\n  b: *x\n", "E101", 1, 4, "contains itself"),
        ("a: 1\nb: \x07\n", "E101", 2, 4, "does not allow"),
    ],
)
def test_bad_yaml_is_named_with_its_place(
    text: str, code: str, line: int | None, column: int | None, says: str
) -> None:
    with pytest.raises(ProjectError) as caught:
        SourceFile(Path("p/x.yml"), Path("p"), text).tree()
    error = caught.value
    assert error.code == code
    assert error.where is not None
    assert (error.where.file, error.where.line, error.where.column) == ("x.yml", line, column)
    assert says in f"{error.message} {error.hint}"


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yml").write_bytes(b"a: \xff\xfe")
    with pytest.raises(ProjectError, match="UTF-8"):
        SourceFile.read(tmp_path / "x.yml", tmp_path)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("password: hunter2", "password: *****"),
        ("  prod: {type: snowflake, password: hunter2, user: x}", "  prod: {type: snowflake, password: *****, user: x}"),
        ("state: postgresql://me:pw@host/db", "state: *****"),
        ("spark.x.secret.key: abc", "spark.x.secret.key: *****"),
        ("url: jdbc://me:pw@host/db", "url: jdbc://me:*****@host/db"),
        ("name: orders", "name: orders"),
    ],
)  # fmt: skip
def test_a_shown_line_hides_secrets(line: str, shown: str) -> None:
    assert redacted(line) == shown
