"""`lineage`: where a column comes from and where it goes, through all models."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from instar.cli import options as o
from instar.cli.mermaid import flowchart
from instar.cli.opening import opened
from instar.cli.screen import Color, LogFormat, Screen, use

if TYPE_CHECKING:
    from instar.app.lineage import Web
    from instar.app.tracing import Place


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
        lines += _above(web, place, "  ", frozenset((place.key,)), set())
        lines += _below(web, place, "  ", frozenset((place.key,)), set())
    return lines


def _above(
    web: Web, place: Place, indent: str, seen: frozenset[Any], told: set[Place]
) -> list[str]:
    """Whose rows were told once (`told`) is told by name alone: every column of a table has the same."""
    lines: list[str] = []
    for other in web.above(place):
        if other.key not in seen:
            lines.append(f"{indent}<- {other}{' (as above)' if other in told else ''}")
            if other not in told:
                told.update((other,) if other.is_rows else ())
                lines += _above(web, other, indent + "  ", seen | {other.key}, told)
    return [*lines, f"{indent}<- unknown"] if web.unknown(place) else lines


def _below(
    web: Web,
    place: Place,
    indent: str,
    seen: frozenset[Any],
    told: set[Place],
    *,
    perhaps: bool = False,
) -> list[str]:
    """What is behind a query that cannot be traced is as uncertain as that query's columns."""
    lines: list[str] = []
    steps = [(other, perhaps) for other in _rows_last(web.heirs(place))]
    for other, unsure in (*steps, *((other, True) for other in sorted(web.perhaps(place)))):
        if other.key in seen:
            continue
        again = " (as above)" if other in told else ""
        lines.append(f"{indent}-> {other}{' (perhaps)' if unsure else ''}{again}")
        if not again:
            told.update((other,) if other.is_rows else ())
            more = seen | {other.key}
            lines += _below(web, other, indent + "  ", more, told, perhaps=unsure)
    return lines


def _rows_last(places: Iterable[Place]) -> list[Place]:
    return sorted(places, key=lambda p: (p.is_rows, p))


def lineage_document(web: Web, places: list[Place]) -> dict[str, Any]:
    return {"version": 1, "columns": [_column(web, place) for place in places]}


def _column(web: Web, place: Place) -> dict[str, Any]:
    """`from` and `to` are one step away; ancestors and descendants are all of them, nearest first.

    What decides rows is named apart: by its columns on the way up, by the tables on the way down.
    """
    above, below = [h.place for h in web.origins(place, rows=False)], web.reach([place])
    deciding = [h.place for h in web.origins(place) if h.place not in above]
    heirs = web.heirs(place)
    tables = [(str(h.place.table), h.perhaps) for h in below if h.place.is_rows]
    return {
        "column": str(place),
        "from": [str(s) for s in sorted(web.sources(place))],
        "from_unknown": web.unknown(place),
        "to": [str(h) for h in sorted(heirs) if not h.is_rows],
        "perhaps_to": [str(h) for h in sorted(web.perhaps(place))],
        "decides_rows_of": [str(h.table) for h in sorted(heirs) if h.is_rows],
        "rows_decided_by": sorted(str(p) for p in web.decides(place) if not p.is_rows),
        "ancestors": [str(p) for p in above],
        "ancestors_unknown": any(web.unknown(p) for p in (place, *above)),
        "ancestors_by_rows": [str(p) for p in deciding if not p.is_rows],
        "descendants": [str(h.place) for h in below if not h.perhaps and not h.place.is_rows],
        "perhaps_descendants": [str(h.place) for h in below if h.perhaps and not h.place.is_rows],
        "descendants_by_rows": [table for table, perhaps in tables if not perhaps],
        "perhaps_descendants_by_rows": [table for table, perhaps in tables if perhaps],
    }


def mermaid(web: Web, places: list[Place]) -> str:
    """A flowchart for a pull request: everything up from the columns, and everything down."""
    edges: list[tuple[str, str, bool]] = []
    for place in places:
        above = web.origins(place)
        edges += [_edge(h.place, to) for h in above for to in h.sources]
        unsure = (p for p in (place, *(h.place for h in above)) if web.unknown(p))
        edges += [("unknown", str(p), True) for p in unsure]
        edges += [
            _edge(source, h.place, h.perhaps) for h in web.reach([place]) for source in h.sources
        ]
    return flowchart(edges)


def _edge(one: Place, two: Place, perhaps: bool = False) -> tuple[str, str, bool]:
    """What decides rows is no value that flows: drawn like what is uncertain."""
    return str(one), str(two), not (perhaps or one.is_rows or two.is_rows)
