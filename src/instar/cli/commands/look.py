"""`diff`, `history`, `matrix`: look at schemas, at the past and at what engines can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from instar.cli import completing
from instar.cli import options as o
from instar.cli.lines import render
from instar.cli.opening import opened
from instar.cli.options import DataFormat, DocumentFormat
from instar.cli.reports import diff_document, diff_lines, event_document, history_lines
from instar.cli.screen import PLAIN, Color, LogFormat, Screen, use

_SIDE = "An environment (prod), a recorded version (prod@3) or a manifest file."


def diff(
    left: Annotated[
        str, typer.Argument(metavar="LEFT", autocompletion=completing.environments, help=_SIDE)
    ],
    right: Annotated[
        str, typer.Argument(metavar="RIGHT", autocompletion=completing.environments, help=_SIDE)
    ],
    project: o.ProjectDir = Path("."),
    format: o.DocumentFormatOption = DocumentFormat.TEXT,
    detailed_exit_code: o.Detailed = False,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Show what leads from one side to the other, table by table."""
    screen = use(Screen(color, quiet, 0, log_format), format)
    with opened(project, screen) as (work, _):
        found = work.diff(left, right)
    match format:
        case DocumentFormat.JSON:
            screen.json(diff_document(found))
        case DocumentFormat.MARKDOWN:
            screen.document(f"```diff\n{render(diff_lines(found), PLAIN)}\n```")
        case DocumentFormat.TEXT:
            screen.document(render(diff_lines(found), screen.out))
    raise typer.Exit(5 if detailed_exit_code and not found.same else 0)


def history(
    table: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            metavar="TABLE",
            autocompletion=completing.tables,
            help="One table, or a pattern; all when not given.",
        ),
    ] = None,
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    format: o.DataFormatOption = DataFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Show what was applied, when, and how it ended; the newest first."""
    screen = use(Screen(color, quiet, 0, log_format), format)
    with opened(project, screen) as (work, _):
        events = tuple(work.history(env, table))
        kept = tuple(work.kept(env))
    if format is DataFormat.JSON:
        rows = [event_document(e, kept) for e in events]
        screen.json(rows)
    elif events:
        screen.document(render(history_lines(events, kept), screen.out))
    else:
        to = f" to '{table}'" if table is not None else ""
        screen.document(f"Nothing was applied{to} yet.")


def matrix(
    format: o.DocumentFormatOption = DocumentFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
) -> None:
    """Show what each engine does for each kind of change: metadata, overlay, steps, rewrite, never."""
    screen = use(Screen(color, quiet), format)
    from instar import app

    screen.document(app.matrix(format.value))
