"""`init`, `doctor`, `import`, `validate`: a project's files and what they need."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional

import typer

from instar.cli import options as o
from instar.cli.lines import Line, render
from instar.cli.opening import opened
from instar.cli.options import DataFormat, FindingFormat
from instar.cli.problems import finding_lines
from instar.cli.reports import doctor_lines
from instar.cli.sarif import findings_sarif
from instar.cli.screen import Color, LogFormat, Screen, use
from instar.core.document import finding_document
from instar.core.findings import Finding, Severity
from instar.core.numbers import plural
from instar.errors import InstarError, ProjectError

_WORDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


class Kind(Enum):
    SPARK = "spark"
    DUCKDB = "duckdb"


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where; here when not given.")
    ] = Path("."),
    kind: Annotated[
        Kind,
        typer.Option(
            "--kind",
            metavar="spark|duckdb",
            show_default=True,
            help="The engine of the first environment.",
        ),
    ] = Kind.SPARK,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
) -> None:
    """Make a project whose first plan works: instar.yml and two tables. Nothing is overwritten."""
    screen = use(Screen(color, quiet))
    from instar import app

    written = app.init(folder, kind.value)
    if not quiet:
        screen.document("\n".join(f"wrote {path}" for path in written))
    where = "" if folder == Path(".") else f"cd {shlex.quote(str(folder))} && "
    screen.note(f"Next: {where}instar plan")


def doctor(
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    format: o.DataFormatOption = DataFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Check what a project needs, in the order a newcomer meets it. Exits 1 when something is missing."""
    screen = use(Screen(color, quiet, 0, log_format), format)
    with opened(project, screen) as (work, _):
        found = tuple(work.doctor(env))
    if format is DataFormat.JSON:
        screen.json([asdict(d) for d in found])
    else:
        screen.document(render(doctor_lines(found), screen.out))
    raise typer.Exit(0 if all(d.ok for d in found) else 1)


def validate(
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    format: o.FindingFormatOption = FindingFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Read every file and say everything that is wrong; no engine is asked, nothing is touched.

    Exits 1 when a file has a mistake, 3 when only a finding is an error.
    """
    screen = use(Screen(color, quiet, 0, log_format))
    found, code = _validated(project, env, screen, format)
    match format:
        case FindingFormat.JSON:
            rows = [finding_document(f) for f in found]
            screen.json(rows)
        case FindingFormat.SARIF:
            screen.document(findings_sarif(found))
        case FindingFormat.TEXT:
            lines: list[Line] = [line for f in found for line in [*finding_lines(f), []]]
            lines.append([("bold", _counted(found))])
            lines += [[("dim", f"More: instar explain {f.code}")] for f in found[:1]]
            screen.document(render(lines, screen.out))
    for finding in found:
        if finding.severity is Severity.ERROR:
            where = str(finding.where) if finding.where else None
            told = {"message": finding.message, "hint": finding.hint, "where": where}
            screen.event("error", code=finding.code, **told)
    raise typer.Exit(code)


def _validated(
    project: Path, env: str | None, screen: Screen, format: FindingFormat
) -> tuple[tuple[Finding, ...], int]:
    """The findings and the exit code; what is wrong with instar.yml itself ends the reading there."""
    from instar.app.doctoring import mistake

    try:
        with opened(project, screen) as (work, _):
            found = tuple(work.validate(env))
    except ProjectError as error:
        found = tuple(map(mistake, error.every))
    except InstarError as error:
        # A machine that asked for a document gets one, whatever is wrong.
        if format is FindingFormat.TEXT:
            raise
        return (mistake(error),), error.exit_code
    if any(f.code.startswith("E") for f in found):
        return found, ProjectError.exit_code
    return found, 3 if any(f.severity is Severity.ERROR for f in found) else 0


def _counted(found: Sequence[Finding]) -> str:
    """`Found 3 errors and 1 warning in 2 files.`"""
    if not found:
        return "Everything is valid."
    counts = {s: sum(f.severity is s for f in found) for s in Severity}
    words = " and ".join(plural(n, _WORDS[s]) for s, n in counts.items() if n)
    files = len({f.where.file for f in found if f.where is not None})
    return f"Found {words} in {plural(files, 'file')}."


def import_(
    tables: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Argument(metavar="TABLE", help="Names or patterns; all tables when not given."),
    ] = None,
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Print the manifests; write nothing.")
    ] = False,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Write manifests for live tables that have none, so that the next plan has nothing to do."""
    screen = use(Screen(color, quiet, 0, log_format))
    from instar.sources.scaffold import write_new

    with opened(project, screen) as (work, _):
        found = work.import_tables(env, tuple(tables or ()))
        root, schema = work.config.root, work.environment(env).schema
    for path, text in found.manifests:
        shown = path.relative_to(root) if path.is_relative_to(root) else path
        if dry_run:
            screen.document(f"# {shown}\n{text}")
        else:
            write_new(path, text)
            screen.document(f"wrote {shown}")
    for why in found.left:
        screen.note(f"note: {why}")
    if not found.manifests:
        every = (
            "Every live table has a manifest."
            if found.live
            else f"Schema '{schema}' has no tables."
        )
        screen.document("No manifest was written." if found.left else every)
