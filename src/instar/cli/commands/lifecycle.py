"""`cleanup` and `revert`: what becomes of the old copies that rewrites keep."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from instar.cli import completing
from instar.cli import options as o
from instar.cli.ask import confirmer
from instar.cli.lines import Line, pad, render, width
from instar.cli.numbers import cost_text, seconds_text
from instar.cli.opening import opened
from instar.cli.options import DataFormat
from instar.cli.reports import exit_code, report_document, report_lines
from instar.cli.screen import Color, LogFormat, Screen, use
from instar.core.numbers import plural

if TYPE_CHECKING:
    from instar.app.lifecycle import Cleaned, OldCopy, Reverted

_DAY = 86_400


def cleanup(
    tables: o.Tables = None,
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="List the old copies; drop nothing.")
    ] = False,
    yes: o.Yes = False,
    format: o.DataFormatOption = DataFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """List the old copies that rewrites have kept, and drop them, each after its own question.

    They are found by the tables' names too, so a lost state store hides none.
    """
    screen = use(Screen(color, quiet, 0, log_format), format)
    chosen = tuple(tables or ())
    with opened(project, screen) as (work, watcher):
        found = tuple(work.copies(env, chosen))
        watcher.pause()
        if format is DataFormat.TEXT:
            screen.document(render(copy_lines(found), screen.out))
        done = None
        if found and not dry_run:
            ask = confirmer(screen, yes=yes, before=watcher.pause)
            done = work.cleanup(env, chosen, ask)
    reports = done.reports if done is not None else ()
    if format is DataFormat.JSON:
        screen.json(_cleanup_document(found, done))
    elif done is not None:
        lines = report_lines([r for r in reports if not r.ok])
        screen.document(render([*lines, [("bold", _said(done))]], screen.out))
    raise typer.Exit(exit_code(reports))


def revert(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            autocompletion=completing.tables,
            help="The table: name or schema.table.",
        ),
    ],
    to: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--to", metavar="NAME", help="Which old copy; the newest when not given."),
    ] = None,
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    yes: o.Yes = False,
    format: o.DataFormatOption = DataFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Put the old copy of a table back, after a question that says how many rows it costs.

    What is the table now is kept as an old copy in its turn, so that a revert can be reverted. The next plan
    shows what the manifest wants otherwise: after a rewrite is reverted, the change again.
    """
    screen = use(Screen(color, quiet, 0, log_format), format)
    with opened(project, screen) as (work, watcher):
        ask = confirmer(screen, yes=yes, before=watcher.pause)
        done = work.revert(table, env, to=to, confirm=ask)
    if format is DataFormat.JSON:
        screen.json(_revert_document(done))
    else:
        screen.document(render([*report_lines([done.report]), *_reverted(done)], screen.out))
    raise typer.Exit(exit_code((done.report,)))


def copy_lines(found: Sequence[OldCopy], now: float | None = None) -> list[Line]:
    """One line a copy: its name, whose it is, rows, size, age."""
    if not found:
        return [[("bold", "No old copies are kept.")]]
    names = max(width(str(c.name)) for c in found)
    lines: list[Line] = []
    for old in found:
        told = [f"of {old.table}", cost_text(old.cost), _age(old, now)]
        lines.append(
            [("bold", pad(str(old.name), names)), ("", f"  {', '.join(t for t in told if t)}")]
        )
        if old.live is None:
            lines.append([("yellow", f"    {old.table} itself is gone: run `instar recover`")])
        elif old.copy.stays:
            lines.append([("dim", f"    {old.copy.stays}")])
    return lines


def _age(old: OldCopy, now: float | None) -> str:
    if old.when is None:
        return "age unknown"
    seconds = max((time.time() if now is None else now) - old.when, 0)
    days = int(seconds // _DAY)
    return f"{plural(days, 'day')} old" if days else f"{seconds_text(seconds)} old"


def _said(done: Cleaned) -> str:
    left = f", {len(done.left):,} kept" if done.left else ""
    failed = sum(not r.ok for r in done.reports)
    more = f", {failed:,} failed" if failed else ""
    dropped = plural(len(done.dropped), "old copy", "old copies")
    return f"Cleanup: {dropped} dropped{left}{more}."


def _reverted(done: Reverted) -> list[Line]:
    if not done.report.ok:
        return []
    table = done.copy.table
    words = f"{table} is as {done.copy.name} was: {plural(done.since.old_rows, 'row')}."
    return [
        [("bold", words)],
        [("dim", "`instar plan` shows what its manifest wants otherwise, if anything.")],
    ]


def _cleanup_document(found: Sequence[OldCopy], done: Cleaned | None) -> dict[str, Any]:
    dropped = {c.name for c in done.dropped} if done is not None else set()
    return {
        "copies": [{**_copy_document(c), "dropped": c.name in dropped} for c in found],
        "tables": [report_document(r) for r in (done.reports if done is not None else ())],
    }


def _copy_document(old: OldCopy) -> dict[str, Any]:
    when = old.when and time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(old.when))
    return {
        "table": str(old.table),
        "name": str(old.name),
        "rows": old.cost.rows,
        "bytes": old.cost.bytes,
        "when": when,
        "run": old.run,
        "table_rows": old.live_rows,
        "stays": old.copy.stays or None,
    }


def _revert_document(done: Reverted) -> dict[str, Any]:
    since = done.since
    return {
        "copy": _copy_document(done.copy),
        "since": {
            "rows": since.rows,
            "old_rows": since.old_rows,
            "only_now": since.only_now,
            "only_then": since.only_then,
            "columns": list(since.columns),
            "not_compared": list(since.unseen),
        },
        "table": report_document(done.report),
    }
