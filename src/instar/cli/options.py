"""The options that commands share: one spelling, one help text, one environment variable each."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from instar.cli import completing
from instar.cli.screen import Color, LogFormat
from instar.core.policy import ColumnConflict

PROJECT_PANEL = "Project"
POLICY_PANEL = "What may be done"
OUTPUT_PANEL = "Output"


class PlanFormat(Enum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    SARIF = "sarif"


class FindingFormat(Enum):
    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


class DocumentFormat(Enum):
    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class DataFormat(Enum):
    TEXT = "text"
    JSON = "json"


_FORMAT = {
    "rich_help_panel": OUTPUT_PANEL,
    "help": "What stdout gets.",
    "show_default": True,
}

Env = Annotated[
    Optional[str],  # noqa: UP045 - typer reads it so in every version
    typer.Option(
        "--env",
        "-e",
        metavar="NAME",
        envvar="INSTAR_ENV",
        autocompletion=completing.environments,
        rich_help_panel=PROJECT_PANEL,
        help="The environment of instar.yml; its default_env when not given.",
    ),
]
ProjectDir = Annotated[
    Path,
    typer.Option(
        "--project",
        metavar="DIR",
        envvar="INSTAR_PROJECT",
        rich_help_panel=PROJECT_PANEL,
        help="Where to look for instar.yml, here and upwards.",
    ),
]
Tables = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        metavar="TABLE",
        autocompletion=completing.tables,
        help="Only these tables: names, schema.table, or patterns such as 'sales.*'.",
    ),
]
Conflict = Annotated[
    ColumnConflict,
    typer.Option(
        "--column-conflict",
        metavar="preserve|reorder|drop",
        envvar="INSTAR_COLUMN_CONFLICT",
        rich_help_panel=POLICY_PANEL,
        show_default=True,
        help="preserve: keep undeclared columns and the live order. reorder: take the declared order."
        " drop: drop undeclared columns, after a word.",
    ),
]
AllowRemoval = Annotated[
    bool,
    typer.Option(
        "--allow-column-removal",
        rich_help_panel=POLICY_PANEL,
        help="Undeclared columns may be dropped; still asks.",
    ),
]
AllowRewrite = Annotated[
    bool,
    typer.Option(
        "--allow-rewrite",
        rich_help_panel=POLICY_PANEL,
        help="Tables may be copied and swapped where no cheaper way exists.",
    ),
]
AllowRefresh = Annotated[
    bool,
    typer.Option(
        "--allow-full-refresh",
        rich_help_panel=POLICY_PANEL,
        help="Models may be recomputed from their query, and may take over what no model made (F706).",
    ),
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes", "-y", rich_help_panel=POLICY_PANEL, help="Answer every question with yes."
    ),
]
Detailed = Annotated[
    bool,
    typer.Option(
        "--detailed-exit-code",
        rich_help_panel=OUTPUT_PANEL,
        help="Exit 5, not 0, when changes are pending.",
    ),
]
ColorOption = Annotated[
    Color,
    typer.Option(
        "--color",
        metavar="auto|always|never",
        envvar="INSTAR_COLOR",
        rich_help_panel=OUTPUT_PANEL,
        show_default=True,
        help="auto: on a terminal; NO_COLOR and FORCE_COLOR are heeded.",
    ),
]
Quiet = Annotated[
    int,
    typer.Option(
        "--quiet",
        "-q",
        count=True,
        rich_help_panel=OUTPUT_PANEL,
        help="No notes and progress; -qq: nothing but errors.",
    ),
]
Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        rich_help_panel=OUTPUT_PANEL,
        help="Show the SQL, and tables that stay as they are; -vv: every row that a finding names.",
    ),
]
LogFormatOption = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        metavar="text|json",
        envvar="INSTAR_LOG_FORMAT",
        rich_help_panel=OUTPUT_PANEL,
        help="json: stderr is one JSON object per line.",
    ),
]
PlanFormatOption = Annotated[
    PlanFormat, typer.Option("--format", "-f", metavar="text|json|markdown|sarif", **_FORMAT)
]
FindingFormatOption = Annotated[
    FindingFormat, typer.Option("--format", "-f", metavar="text|json|sarif", **_FORMAT)
]
DocumentFormatOption = Annotated[
    DocumentFormat, typer.Option("--format", "-f", metavar="text|json|markdown", **_FORMAT)
]
DataFormatOption = Annotated[
    DataFormat, typer.Option("--format", "-f", metavar="text|json", **_FORMAT)
]
