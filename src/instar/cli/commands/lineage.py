"""`lineage`: where a column comes from and where it goes, through all models."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from instar.cli import options as o
from instar.cli.opening import opened
from instar.cli.screen import Color, LogFormat, Screen, use

if TYPE_CHECKING:
    from instar.app.lineage import Place, Web


class LineageFormat(Enum):
    TEXT = "text"
    JSON = "json"
    MERMAID = "mermaid"


What = Annotated[
    Optional[str],  # noqa: UP045
    typer.Argument(
        metavar="TABLE[.COLUMN]", help="A model or a column; everything when not given."
    ),
]
Format = Annotated[
    LineageFormat,
    typer.Option(
        "--format",
        "-f",
        metavar="text|json|mermaid",
        rich_help_panel=o.OUTPUT_PANEL,
        help="What stdout gets.",
        show_default=True,
    ),
]


def lineage(
    what: What = None,
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    format: Format = LineageFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Show the columns that a column is computed from, and those that are computed from it."""
    screen = use(Screen(color, quiet, 0, log_format), format)
    with opened(project, screen) as (work, _):
        web, places = work.lineage(what, env)
    match format:
        case LineageFormat.JSON:
            screen.json(lineage_document(web, places))
        case LineageFormat.MERMAID:
            screen.document(mermaid(web, places))
        case LineageFormat.TEXT:
            screen.document("\n".join(tree(web, places)))


def tree(web: Web, places: list[Place]) -> list[str]:
    """Each column with what it comes from (`<-`) and where it goes (`->`)."""
    lines: list[str] = []
    for place in places:
        lines.append(str(place))
        lines += _branch(web, place, "  ", up=True, seen=frozenset())
        lines += _branch(web, place, "  ", up=False, seen=frozenset())
    return lines


def _branch(web: Web, place: Place, indent: str, *, up: bool, seen: frozenset[Any]) -> list[str]:
    lines: list[str] = []
    following = sorted(web.sources(place)) if up else sorted(web.heirs(place))
    for other in following:
        lines.append(f"{indent}{'<-' if up else '->'} {other}")
        if other.key not in seen:
            lines += _branch(web, other, indent + "  ", up=up, seen=seen | {other.key})
    if up and web.unknown(place):
        lines.append(f"{indent}<- unknown")
    if not up:
        lines += [f"{indent}-> {other} (perhaps)" for other in sorted(web.perhaps(place))]
    return lines


def lineage_document(web: Web, places: list[Place]) -> dict[str, Any]:
    return {
        "version": 1,
        "columns": [
            {
                "column": str(p),
                "from": [str(s) for s in sorted(web.sources(p))],
                "from_unknown": web.unknown(p),
                "to": [str(h) for h in sorted(web.heirs(p))],
                "perhaps_to": [str(h) for h in sorted(web.perhaps(p))],
                "reaches": [str(d) for d in web.downstream([p])],
            }
            for p in places
        ],
    }


def mermaid(web: Web, places: list[Place]) -> str:
    """A flowchart for a pull request: the columns and everything up and down from them."""
    edges: dict[tuple[str, str], None] = {}
    open_, seen = list(places), set()
    while open_:
        place = open_.pop(0)
        if place.key in seen:
            continue
        seen.add(place.key)
        for source in sorted(web.sources(place)):
            edges[(str(source), str(place))] = None
            open_.append(source)
        for heir in sorted(web.heirs(place)):
            edges[(str(place), str(heir))] = None
            open_.append(heir)
        if web.unknown(place):
            edges[("unknown", str(place))] = None
    names = {n: f"c{i}" for i, n in enumerate(dict.fromkeys(n for e in edges for n in e))}
    lines = [f'  {mark}["{name}"]' for name, mark in names.items()]
    lines += [f"  {names[a]} --> {names[b]}" for a, b in edges]
    return "\n".join(["flowchart LR", *lines])
