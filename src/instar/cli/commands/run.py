"""`run`: evolve the tables of models and build their data in graph order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from instar.cli import options as o
from instar.cli.ask import confirmer
from instar.cli.forecast import expected_document, forecast_lines
from instar.cli.lines import Line, render
from instar.cli.numbers import seconds_text
from instar.cli.opening import opened
from instar.cli.options import DataFormat
from instar.cli.progress import Watcher
from instar.cli.screen import Color, LogFormat, Screen, use
from instar.cli.text import plan_text
from instar.core.document import VERSION, plan_document
from instar.core.numbers import plural
from instar.core.plan import Plan
from instar.core.policy import ColumnConflict, Policy

if TYPE_CHECKING:
    from instar.app.running import RunReport

_SELECTION = "Which models"
_STYLES = {"built": ("✓", "green"), "created": ("✓", "green"), "skipped": ("=", "dim")}

Select = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--select",
        "-s",
        metavar="WHAT",
        rich_help_panel=_SELECTION,
        help="name, +name (and upstream), name+ (and downstream), tag:x, path:models/x,"
        " state:changed; may stand several times.",
    ),
]
Exclude = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--exclude", metavar="WHAT", rich_help_panel=_SELECTION, help="The same words, left out."
    ),
]
FullRefresh = Annotated[
    bool,
    typer.Option(
        "--full-refresh",
        rich_help_panel=_SELECTION,
        help="Recompute incremental models as a whole, and skip nothing.",
    ),
]
Start = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--start", metavar="TIME", rich_help_panel=_SELECTION, help="First interval to replace."
    ),
]
End = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--end", metavar="TIME", rich_help_panel=_SELECTION, help="Where to stop."),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show the plan and the order: what would be built, by which intervals, what is skipped"
        " and why; touch nothing.",
    ),
]
Threads = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--threads",
        min=1,
        metavar="N",
        envvar="INSTAR_THREADS",
        help="Models at once on Spark; unless said, as many as the session runs tasks at once."
        " DuckDB has one writer.",
    ),
]
FailFast = Annotated[
    bool, typer.Option("--fail-fast", help="Begin nothing more after the first failure.")
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on where the last run stopped, with its selection and its range;"
        " --threads and --fail-fast count anew.",
    ),
]


def run(
    select: Select = None,
    exclude: Exclude = None,
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    full_refresh: FullRefresh = False,
    start: Start = None,
    end: End = None,
    dry_run: DryRun = False,
    threads: Threads = None,
    fail_fast: FailFast = False,
    resume: Resume = False,
    column_conflict: o.Conflict = ColumnConflict.PRESERVE,
    allow_column_removal: o.AllowRemoval = False,
    allow_rewrite: o.AllowRewrite = False,
    allow_full_refresh: o.AllowRefresh = False,
    yes: o.Yes = False,
    format: o.DataFormatOption = DataFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    verbose: o.Verbose = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Bring the tables of models to their queries, then build them: parents first.

    A model that fails stops only what is behind it. Exits 1 when any failed, 3 when the plan is blocked.
    """
    from instar.run.options import RunOptions

    screen = use(Screen(color, quiet, verbose, log_format), format)
    policy = Policy(column_conflict, allow_column_removal, allow_rewrite, allow_full_refresh)
    wish = RunOptions(
        tuple(select or ()), tuple(exclude or ()), full_refresh, start, end, threads, fail_fast
    )
    with opened(project, screen) as (work, watcher):
        ask = confirmer(screen, yes=yes, before=watcher.pause)
        show = _shower(screen, watcher, format, dry_run)
        report = work.run(env, policy, wish, ask, dry_run=dry_run, resume=resume, show=show)
    _tell(screen, format, report)
    raise typer.Exit(0 if report.ok else 1)


def _shower(
    screen: Screen, watcher: Watcher, format: DataFormat, dry_run: bool
) -> Callable[[Plan], None]:
    """Prints the plan before it is carried out, where there is anything in it to see."""

    def show(found: Plan) -> None:
        watcher.pause()
        if format is DataFormat.TEXT and (found.pending or found.blocked or dry_run):
            text = plan_text(
                found, screen.out, verbose=screen.verbose, advice=False, nothing="no table changes"
            )
            screen.document(text)

    return show


def _tell(screen: Screen, format: DataFormat, report: RunReport) -> None:
    if format is DataFormat.JSON:
        screen.json(run_document(report))
    else:
        screen.document(render(run_lines(report), screen.out))


def run_lines(report: RunReport) -> list[Line]:
    """One line a model, and the sum; of a dry run, what would be done."""
    if report.dry:
        return forecast_lines(report.expected)
    lines: list[Line] = []
    for r in report.results:
        mark, style = _STYLES.get(r.status, ("✗", "bold red"))
        # A model that is behind another says so by its reason.
        said = f"  {r.status}" if r.status != "behind" else ""
        said += f"  {plural(r.rows, 'row')}" if r.rows is not None else ""
        said += f"  ({seconds_text(r.seconds)})" if r.status in ("built", "created") else ""
        lines.append(
            [(style, f"{mark} "), ("bold", str(r.table)), ("", said), ("dim", f"  {r.reason}")]
        )
        lines += [[("red", f"    {line}")] for line in (r.error or "").splitlines()]
    counts: dict[str, int] = {}
    for r in report.results:
        counts[r.status] = counts.get(r.status, 0) + 1
    told = ", ".join(f"{n:,} {status}" for status, n in counts.items()) or "nothing to do"
    rows = sum(r.rows or 0 for r in report.results)
    end = f"Run {report.run}: {told}; {plural(rows, 'row')} in {seconds_text(report.seconds)}."
    lines.append([("bold" if report.ok else "bold red", end)])
    if not report.ok:
        lines.append([("dim", "Next: mend the cause, then instar run --resume")])
    return lines


def run_document(report: RunReport) -> dict[str, Any]:
    return {
        "version": VERSION,
        "run": report.run,
        "dry_run": report.dry,
        "plan": plan_document(report.plan),
        "models": [expected_document(e) for e in report.expected]
        if report.dry
        else [
            {
                "table": str(r.table),
                "status": r.status,
                "rows": r.rows,
                "seconds": round(r.seconds, 3),
                "reason": r.reason or None,
                "error": r.error,
            }
            for r in report.results
        ],
        "seconds": round(report.seconds, 3),
    }
