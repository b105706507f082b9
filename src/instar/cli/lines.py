"""Styled lines: built as values, painted last, and never a control character from someone's data."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from instar.cli.screen import Paint

Span = tuple[str, str]
"""(style, text); the empty style is plain."""

Line = Sequence[Span]

# Cc control, Cf format (bidi overrides, zero width), Zl/Zp separators: each could forge what is read.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def clean(text: str) -> str:
    """The text with everything a terminal would act on written as an escape."""
    if text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c) in _UNSAFE else c for c in text)


def _escaped(char: str) -> str:
    return (
        char.encode("unicode_escape").decode("ascii")
        if ord(char) < 0x10000
        else "\\U" + hex(ord(char))[2:]
    )


def render(lines: Iterable[Line], paint: Paint) -> str:
    return "\n".join(
        "".join(paint(style, text) for style, text in _trimmed(line)) for line in lines
    )


def _trimmed(line: Line) -> list[Span]:
    """Clean spans without white space at the end, which paint would hide from a later strip."""
    spans = [(style, clean(text)) for style, text in line]
    while spans and not spans[-1][1].strip(" "):
        spans.pop()
    if spans:
        spans[-1] = (spans[-1][0], spans[-1][1].rstrip(" "))
    return spans


def width(text: str) -> int:
    """Cells on a terminal: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def pad(text: str, cells: int) -> str:
    return text + " " * max(0, cells - width(text))


def shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


_CELL = 40
_SHOWN = 5


def witness_table(
    witnesses: Sequence[dict[str, str | None]],
    count: int | None,
    indent: str,
    *,
    every_row: bool = False,
) -> list[Line]:
    """The first offending rows (or all that are known, with whole values), and how many more there are."""
    if not witnesses:
        return []
    names = list(dict.fromkeys(name for row in witnesses for name in row))
    limit = None if every_row else _CELL
    rows = [[_cell(row.get(n), limit) for n in names] for row in witnesses]
    rows = rows if every_row else rows[:_SHOWN]
    heads = [clean(n) for n in names]
    widths = [max(width(r[i]) for r in [heads, *rows]) for i in range(len(names))]

    def row_line(cells: list[str]) -> str:
        return indent + " │ ".join(pad(c, w) for c, w in zip(cells, widths, strict=True))

    lines: list[Line] = [[("bold", row_line(heads))]]
    lines.append([("dim", indent + "─┼─".join("─" * w for w in widths))])
    lines += [[("", row_line(r))] for r in rows]
    more = max(count or 0, len(witnesses)) - len(rows)
    if more > 0:
        lines.append([("dim", f"{indent}and {more:,} more")])
    return lines


def _cell(value: str | None, limit: int | None) -> str:
    text = clean(told_apart(value))
    return text if limit is None else shorten(text, limit)


def told_apart(value: str | None) -> str:
    """A value of a row: in quotes where it would look like nothing, like another text or like NULL."""
    if value is None:
        return "NULL"
    return f"'{value}'" if value != value.strip(" ") or value in ("", "NULL") else value
