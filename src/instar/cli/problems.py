"""Errors and findings in words: code, place, source line with a caret, help."""

from __future__ import annotations

from instar.cli.lines import Line, Span, witness_table
from instar.core.findings import Finding, Severity
from instar.errors import InstarError, Location

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}


def error_lines(error: InstarError) -> list[Line]:
    first, *more = error.message.splitlines() or [""]
    head: list[Span] = [
        ("bold red", f"error[{error.code}]"),
        ("bold", ": "),
        *_message(first),
    ]
    rest: list[Line] = [_message(line) for line in more]
    return [head, *rest, *_place(error.where, ""), *_help(error.hint, "")]


def finding_lines(finding: Finding, indent: str = "", *, every_row: bool = False) -> list[Line]:
    style = _STYLES[finding.severity]
    label = f"{finding.severity.value}[{finding.code}]"
    rows = [dict(w) for w in finding.witnesses]
    return [
        [("", indent), (style, label), ("", ": "), *_message(finding.message)],
        *_place(finding.where, indent),
        *witness_table(rows, finding.count, indent + "    ", every_row=every_row),
        *_help(finding.hint, indent),
    ]


def _message(text: str) -> list[Span]:
    return [("", text)]


def _help(hint: str | None, indent: str) -> list[Line]:
    return [[("", indent), ("cyan", "  help: "), ("", line)] for line in (hint or "").splitlines()]


def _place(where: Location | None, indent: str) -> list[Line]:
    """` --> file:7:11`, the line itself, and a caret under the place."""
    if where is None:
        return []
    lines: list[Line] = [[("", indent), ("cyan", "  --> "), ("", str(where))]]
    if where.text is None or where.line is None:
        return lines
    number = str(where.line)
    text = where.text.rstrip("\n").expandtabs(1)
    gutter = indent + "  " + " " * len(number)
    lines.append([("cyan", f"{gutter} │")])
    lines.append([("cyan", f"{indent}  {number} │ "), ("", text)])
    if where.column is not None and 0 < where.column <= len(text) + 1:
        caret = " " * (where.column - 1) + "^" * _reach(text, where.column - 1)
        lines.append([("cyan", f"{gutter} │ "), ("bold red", caret)])
    return lines


def _reach(text: str, start: int) -> int:
    """The word under the place, so that the caret shows its whole length."""
    end = start
    while end < len(text) and (text[end].isalnum() or text[end] in "_-.$"):
        end += 1
    return max(1, end - start)
