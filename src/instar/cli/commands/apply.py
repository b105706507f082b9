"""`apply` and `recover`: carry a plan out, or finish one that was interrupted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, Optional

import typer

from instar.cli import completing
from instar.cli import options as o
from instar.cli.ask import confirmer
from instar.cli.commands.plan import warn_of_nothing
from instar.cli.failing import failure_document
from instar.cli.lines import render
from instar.cli.opening import opened
from instar.cli.options import DataFormat
from instar.cli.progress import Watcher
from instar.cli.reports import (
    apply_document,
    apply_lines,
    exit_code,
    report_document,
    report_lines,
)
from instar.cli.screen import Color, LogFormat, Screen, use
from instar.cli.seal import Seal, moved, read_seal
from instar.cli.text import plan_text
from instar.core.document import plan_document, summary
from instar.core.findings import Severity
from instar.core.plan import Plan
from instar.core.policy import ColumnConflict, Policy
from instar.errors import Blocked, PlanMoved, UsageError

if TYPE_CHECKING:
    from instar.app import Project
    from instar.app.answers import ApplyReport
    from instar.apply import TableReport

What = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(
        metavar="PLAN|TABLE",
        autocompletion=completing.tables,
        help="A sealed plan (`instar plan --out FILE`), or the tables to apply; all when not given.",
    ),
]
WriteManifests = Annotated[
    bool,
    typer.Option(
        "--write-manifests",
        rich_help_panel=o.POLICY_PANEL,
        help="Write the corrected column order of change-tracked tables into their manifests.",
    ),
]


@dataclass(frozen=True, slots=True)
class _Order:
    """What was asked for: an environment, tables and a policy, sealed or not."""

    env: str | None
    tables: tuple[str, ...]
    policy: Policy
    seal: Seal | None = None


def apply(
    what: What = None,
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    column_conflict: o.Conflict = ColumnConflict.PRESERVE,
    allow_column_removal: o.AllowRemoval = False,
    allow_rewrite: o.AllowRewrite = False,
    allow_full_refresh: o.AllowRefresh = False,
    yes: o.Yes = False,
    write_manifests: WriteManifests = False,
    format: o.DataFormatOption = DataFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    verbose: o.Verbose = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Do what `plan` says: locked, journalled step by step, checked afterwards.

    An interrupted apply is finished first. Nothing is touched while any table is blocked.
    """
    screen = use(Screen(color, quiet, verbose, log_format), format)
    policy = Policy(column_conflict, allow_column_removal, allow_rewrite, allow_full_refresh)
    order = _ordered(tuple(what or ()), env, policy)
    began = time.monotonic()
    with opened(project, screen) as (work, watcher):
        resumed = tuple(work.resume(order.env))
        _stop_at_failures(screen, resumed)
        found, mended = _planned(work, order)
        _stop_at_failures(screen, mended)
        watcher.pause()
        if format is DataFormat.TEXT:
            screen.document(plan_text(found, screen.out, verbose=screen.verbose, advice=False))
        if found.blocked:
            _refuse(screen, format, found, _blocked(found, (*resumed, *mended)))
        ask = confirmer(screen, yes=yes, before=watcher.pause)
        report = work.apply(found, ask, write_manifests=write_manifests)
    tables = (*resumed, *mended, *report.tables)
    _tell(screen, format, found, report, tables, time.monotonic() - began)
    raise typer.Exit(exit_code(tables))


def _tell(
    screen: Screen,
    format: DataFormat,
    found: Plan,
    report: ApplyReport,
    tables: Sequence[TableReport],
    seconds: float,
) -> None:
    if format is DataFormat.JSON:
        screen.json(apply_document(found, report, tables, seconds))
    else:
        screen.document(render(apply_lines(found, report, tables, seconds), screen.out))
    warn_of_nothing(screen, found)
    screen.event("change_summary", **summary(found), applied=sum(t.ok for t in tables))


def _ordered(what: tuple[str, ...], env: str | None, policy: Policy) -> _Order:
    file = Path(what[0]) if len(what) == 1 else None
    if file is None or not (file.is_file() or file.suffix in (".plan", ".json")):
        return _Order(env, what, policy)
    seal = read_seal(file)
    if policy not in (Policy(), seal.policy):
        raise UsageError(
            "E411",
            "a sealed plan brings its own policy; it cannot be given another one here",
            hint="Leave out --column-conflict (and INSTAR_COLUMN_CONFLICT) and --allow-*, or seal a new"
            " plan with them.",
        )
    if env not in (None, seal.env):
        raise UsageError(
            "E411",
            f"the plan was sealed for '{seal.env}', not for '{env}'",
            hint=f"Leave out --env (and INSTAR_ENV), or pass --env {seal.env}.",
        )
    return _Order(seal.env, seal.tables, seal.policy, seal)


def _planned(work: Project, order: _Order) -> tuple[Plan, tuple[TableReport, ...]]:
    """The plan, and what had to be mended first where a crash left copies that no journal knows."""
    found, mended = work.plan_mended(order.env, order.policy, order.tables)
    if order.seal is not None:
        if order.seal.project != work.config.name:
            raise UsageError(
                "E411",
                f"the plan was sealed for the project '{order.seal.project}', this is"
                f" '{work.config.name}'",
                hint="Name the right folder with --project.",
            )
        _check_sealed(work, order.seal, found)
    return found, mended


def _check_sealed(work: Project, seal: Seal, found: Plan) -> None:
    try:
        work.check_sealed(found, seal.fingerprint)
    except PlanMoved as error:
        told = "; ".join(moved(seal, found))
        raise PlanMoved(
            error.code, f"{error.message}{told and f' ({told})'}", hint=error.hint
        ) from None


def _refuse(screen: Screen, format: DataFormat, found: Plan, blocked: Blocked) -> NoReturn:
    """A machine gets the plan with its findings beside the error; a person has read it by now."""
    if format is DataFormat.JSON:
        screen.json({**plan_document(found), **failure_document(blocked)})
    raise blocked


def _blocked(found: Plan, before: Sequence[TableReport]) -> Blocked:
    """`before` is what an earlier apply had begun: it was finished or mended first, and that stays."""
    names = ", ".join(str(t.table) for t in found.blocked)
    said = (f for t in found.blocked for f in t.findings)
    codes = sorted({f.code for f in said if f.severity is Severity.ERROR})
    finished = ", ".join(dict.fromkeys(str(r.table) for r in before))
    touched = "nothing was touched"
    if finished:
        touched = f"what an earlier apply had begun was ended first ({finished}), nothing else was touched"
    return Blocked(
        "E405",
        f"blocked: {names}; {touched}",
        hint=f"`instar explain {codes[0]}` says what to do about the first finding.",
    )


def _stop_at_failures(screen: Screen, reports: Sequence[TableReport]) -> None:
    failed = [r for r in reports if not r.ok]
    if failed:
        screen.problem(render(report_lines(failed), screen.err))
        raise typer.Exit(exit_code(reports))


def recover(
    env: o.Env = None,
    project: o.ProjectDir = Path("."),
    forget: Annotated[
        bool,
        typer.Option(
            "--forget",
            help="Do not finish them: forget that they were begun. A last resort, after a look at"
            " the tables.",
        ),
    ] = False,
    yes: o.Yes = False,
    format: o.DataFormatOption = DataFormat.TEXT,
    color: o.ColorOption = Color.AUTO,
    quiet: o.Quiet = 0,
    log_format: o.LogFormatOption = LogFormat.TEXT,
) -> None:
    """Finish every run that an interrupted apply left behind."""
    screen = use(Screen(color, quiet, 0, log_format), format)
    with opened(project, screen) as (work, watcher):
        left = _left_open(work, env) if forget else ()
        if left and not _sure(screen, watcher, work.environment(env).name, left, yes):
            screen.note("Nothing was forgotten.")
            raise typer.Exit(4)
        reports = tuple(work.recover(env, forget=forget))
    if format is DataFormat.JSON:
        screen.json([report_document(r) for r in reports])
    elif reports:
        screen.document(render(report_lines(reports), screen.out))
    elif not left:
        screen.document("Nothing was left unfinished.")
    raise typer.Exit(exit_code(reports))


@dataclass(frozen=True, slots=True)
class _Sure:
    text: str


def _left_open(work: Project, env: str | None) -> tuple[str, ...]:
    """The tables whose runs did not end, each once."""
    from instar.app.opening import open_state

    with open_state(work.config, reading=True) as store:
        runs = store.unfinished(work.environment(env).name)
    return tuple(dict.fromkeys(str(run.table) for run in runs))


def _sure(screen: Screen, watcher: Watcher, env: str, left: Sequence[str], yes: bool) -> bool:
    question = _Sure(
        f"Forget the unfinished runs of '{env}' ({', '.join(left)}); what they left behind stays as it is"
    )
    return confirmer(screen, yes=yes, before=watcher.pause)([question])
