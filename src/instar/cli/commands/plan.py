"""`plan` and `drift`: look, compare, say; nothing is touched."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Optional, assert_never

import typer

from instar.cli import options as o
from instar.cli.markdown import drift_markdown, plan_markdown
from instar.cli.numbers import seconds_text
from instar.cli.opening import opened
from instar.cli.options import PlanFormat
from instar.cli.sarif import drift_sarif, plan_sarif
from instar.cli.screen import Color, LogFormat, Paint, Screen, use
from instar.cli.seal import write_seal
from instar.cli.text import drift_text, plan_text
from instar.core.document import plan_document, summary
from instar.core.numbers import plural
from instar.core.plan import Plan
from instar.core.policy import ColumnConflict, Policy

Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        rich_help_panel=o.OUTPUT_PANEL,
        help="Seal the plan into a file, for `instar apply FILE`.",
    ),
]


def plan(
    tables: o.Tables = None,
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    column_conflict: o.Conflict = ColumnConflict.PRESERVE,
    allow_column_removal: o.AllowRemoval = False,
    allow_rewrite: o.AllowRewrite = False,
    allow_full_refresh: o.AllowRefresh = False,
    out: Out = None,
    format: o.PlanFormatOption = PlanFormat.TEXT,
    detailed_exit_code: o.Detailed = False,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    verbose: o.Verbose = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Say what would happen, what it costs and what stands in the way. Nothing is touched.

    Exits 3 when a table is blocked.
    """
    screen = use(Screen(color, quiet, verbose, log_format), format)
    policy = Policy(column_conflict, allow_column_removal, allow_rewrite, allow_full_refresh)
    chosen = tuple(tables or ())
    began = time.monotonic()
    with opened(project, screen) as (work, _):
        found = work.plan(env, policy, chosen)
        name = work.config.name
    sealed = None
    if out is not None and not found.blocked:
        write_seal(out, found, name, chosen)
        sealed = str(out)
    screen.document(_shown(found, format, screen, name, sealed, chosen))
    told(screen, found, began)
    if out is not None and sealed is None:
        screen.warn(f"a blocked plan is not sealed; {out} was not written")
    raise typer.Exit(exit_code(found, detailed=detailed_exit_code))


def exit_code(found: Plan, *, detailed: bool) -> int:
    if found.blocked:
        return 3
    return 5 if detailed and (found.pending or found.unfinished) else 0


def told(screen: Screen, found: Plan, began: float) -> None:
    warn_of_nothing(screen, found)
    screen.event("change_summary", **summary(found))
    took = seconds_text(time.monotonic() - began)
    if screen.log_format is LogFormat.TEXT:
        screen.note(f"Looked at {plural(len(found.tables), 'table')} in {took}.")


def warn_of_nothing(screen: Screen, found: Plan) -> None:
    """A folder that was moved or misspelled must not look like tables that are as they should be."""
    if not found.tables:
        screen.warn(
            "nothing is declared: no manifest in tables/, and no model that this environment runs"
        )


def _shown(
    found: Plan,
    format: PlanFormat,
    screen: Screen,
    project: str,
    sealed: str | None,
    tables: tuple[str, ...],
) -> str:
    match format:
        case PlanFormat.TEXT:
            return plan_text(
                found, screen.out, verbose=screen.verbose, sealed=sealed, tables=tables
            )
        case _:
            return machine(found, format, project)


def machine(found: Plan, format: PlanFormat, project: str) -> str:
    """The document for machines and forges."""
    match format:
        case PlanFormat.JSON:
            return json.dumps(plan_document(found), indent=2, ensure_ascii=False)
        case PlanFormat.MARKDOWN:
            return plan_markdown(found, project)
        case PlanFormat.SARIF:
            return plan_sarif(found)
        case PlanFormat.TEXT:
            return plan_text(found, Paint(on=False))
        case _:
            assert_never(format)


def drift(
    tables: o.Tables = None,
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    format: o.PlanFormatOption = PlanFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    verbose: o.Verbose = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Show where live tables have left their manifests, whatever a plan would do about it.

    Exits 5 when any has.
    """
    screen = use(Screen(color, quiet, verbose, log_format), format)
    began = time.monotonic()
    with opened(project, screen) as (work, _):
        found = work.drift(env, tuple(tables or ()))
        name = work.config.name
    match format:
        case PlanFormat.TEXT:
            screen.document(drift_text(found, screen.out, found.undeclared))
        case PlanFormat.JSON:
            names = [str(table) for table in found.undeclared]
            screen.json({**plan_document(found), "undeclared": names})
        case PlanFormat.MARKDOWN:
            screen.document(drift_markdown(found, name, found.undeclared))
        case PlanFormat.SARIF:
            screen.document(drift_sarif(found))
        case _:
            assert_never(format)
    told(screen, found, began)
    drifted = bool(found.unfinished) or any(t.changes for t in found.tables)
    raise typer.Exit(5 if drifted else 0)
