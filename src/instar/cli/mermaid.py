"""Edges between columns as a Mermaid flowchart, which forges draw."""

from __future__ import annotations

from collections.abc import Iterable

# What Mermaid draws unless it is told otherwise; beyond that it shows an error in place of the chart.
MOST_EDGES = 500
_CODES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": " "}


def flowchart(edges: Iterable[tuple[str, str, bool]]) -> str:
    """`from`, `to` and whether the one is surely computed from the other; else it is dotted."""
    drawn = list(dict.fromkeys(edges))
    names = dict.fromkeys(name for a, b, _ in drawn for name in (a, b))
    marks = {name: f"c{i}" for i, name in enumerate(names)}
    lines = [f'  {mark}["{_text(name)}"]' for name, mark in marks.items()]
    lines += [f"  {marks[a]} {'-->' if sure else '-.->'} {marks[b]}" for a, b, sure in drawn]
    return "\n".join(["flowchart LR", *lines])


def _text(name: str) -> str:
    return "".join(_CODES.get(letter, letter) for letter in name)
