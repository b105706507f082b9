"""`server`: the warm local Spark of a project."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from instar.cli import options as o
from instar.cli.help import Command
from instar.cli.numbers import seconds_text
from instar.cli.options import DataFormat
from instar.cli.screen import Screen, current, use

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback(help="See or stop the project's local Spark server. It ends on its own when idle.")
def _server(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        current().problem(context.get_help())
        raise typer.Exit(2)


def _root(folder: Path) -> Path:
    from instar.sources.project import find_root

    return find_root(folder) / ".instar"


@app.command("status", cls=Command)
def status(project: o.ProjectDir = Path("."), format: o.DataFormatOption = DataFormat.TEXT) -> None:
    """Say whether the server runs, since when, and where its log is."""
    from instar.spark.server import server_status

    screen = use(Screen(), format)
    found = server_status(_root(project))
    if format is DataFormat.JSON:
        told = found and {
            "pid": found.pid,
            "port": found.port,
            "started": found.started,
            "log": str(found.log),
        }
        screen.json({"running": found is not None, "server": told})
    elif found is None:
        screen.document("No local Spark server runs for this project.")
    else:
        age = seconds_text(max(0.0, time.time() - found.started))
        screen.document(
            f"Runs since {age} (process {found.pid}, port {found.port}).\nLog: {found.log}"
        )


@app.command("stop", cls=Command)
def stop(project: o.ProjectDir = Path(".")) -> None:
    """Stop the server, whoever uses it."""
    from instar.spark.server import stop_server

    stopped = stop_server(_root(project))
    use(Screen()).document(
        "Stopped." if stopped else "No local Spark server runs for this project."
    )
