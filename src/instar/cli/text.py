"""The plan for people: per table what happens, why, what it costs, what stands in the way."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from instar.app.naming import named
from instar.cli.lines import Line, Span, render
from instar.cli.numbers import cost_text
from instar.cli.problems import finding_lines
from instar.cli.screen import Paint
from instar.cli.tree import change_lines
from instar.core.document import rung, summary, verb
from instar.core.findings import Finding, Severity
from instar.core.numbers import plural
from instar.core.plan import Cost, Plan, Rung, Status, Step, TablePlan
from instar.core.policy import ColumnConflict, Policy
from instar.core.reach import REACHES, reach_words
from instar.core.schema import TableName
from instar.core.types import path_text

_HEADS = {
    "create": ("+", "bold green"),
    "change": ("~", "bold yellow"),
    "rewrite": ("-/+", "bold yellow"),
    "blocked": ("!", "bold red"),
    "unfinished": ("!", "bold yellow"),
    "unchanged": ("=", "dim"),
}
_BY_RUNG = {
    Rung.METADATA: "will be altered in place (metadata)",
    Rung.OVERLAY: "will get a new definition over the same files (overlay)",
    Rung.STEPS: "will be altered in place, in several statements",
    Rung.REWRITE: "will be rewritten",
    Rung.REFRESH: "will be recomputed from its query",
    Rung.NEVER: "cannot be changed so",
}
_SUMMARY = ("create", "change", "rewrite")
_MODELS = "models/"
_NAMED = 12
"""More reached columns than this are counted, not named; `-v` names them all."""


def plan_text(
    plan: Plan,
    paint: Paint,
    *,
    verbose: int = 0,
    sealed: str | None = None,
    tables: Sequence[str] = (),
    advice: bool = True,
    nothing: str = "nothing to do",
) -> str:
    """All of it; unchanged tables are only counted unless they have something to say."""
    blocks = [
        table_lines(t, verbose=verbose)
        for t in plan.tables
        if t.status is not Status.NO_CHANGE or t.findings or t.changes or verbose
    ]
    lines: list[Line] = [line for block in blocks for line in [*block, []]]
    lines.append([("bold", summary_line(plan, nothing))])
    if advice:
        lines += [[("dim", line)] for line in next_lines(plan, sealed=sealed, tables=tables)]
    return render(lines, paint)


def table_lines(table: TablePlan, *, verbose: int = 0) -> list[Line]:
    lines: list[Line] = [_head(table)]
    lines += change_lines(table.changes, table.live, table.target)
    why: str | None = None
    for number, step in enumerate(table.steps, start=1):
        again = step.why_not_cheaper == why
        lines += _step_lines(
            number, replace(step, why_not_cheaper=None) if again else step, verbose
        )
        why = step.why_not_cheaper or why
    said = {note for step in table.steps for note in step.irreversible}
    for finding in table.findings:
        repeated = finding.code == "F502" and any(note in finding.message for note in said)
        if not repeated:
            told = finding if verbose else _shortened(table, finding)
            lines += finding_lines(told, "  ", every_row=verbose > 1)
    if table.normalized_columns:
        lines.append(
            [("dim", "  note: change-tracked, so the live column order stays; apply prints")]
        )
        lines.append([("dim", "        the corrected column block, --write-manifests saves it")])
    return lines


def _shortened(table: TablePlan, finding: Finding) -> Finding:
    """What a change reaches, cut after the first columns."""
    if finding.code != REACHES:
        return finding
    same = (c for c in table.changes if getattr(c.change, "path", None) == finding.path)
    reached = next((c.reaches for c in same if c.reaches), ())
    words = reach_words(str(table.table), path_text(finding.path), reached, _NAMED)
    return replace(finding, message=words)


def _head(table: TablePlan) -> Line:
    marker, style = _HEADS[verb(table)]
    kind = next((t.format for t in (table.target, table.live) if t and t.format), table.backend)
    line: list[Span] = [(style, f"{marker} "), ("bold", str(table.table)), ("dim", f"  {kind}  ")]
    line.append((style, outcome(table)))
    if table.origin:
        line.append(("dim", f"  ({table.origin})"))
    return line


def outcome(table: TablePlan) -> str:
    """What will become of the table, in words."""
    match verb(table):
        case "create":
            return "will be created"
        case "blocked":
            errors = sum(f.severity is Severity.ERROR for f in table.findings)
            return f"blocked: {plural(errors, 'error')}"
        case "unchanged":
            return "stays as it is"
        case "unfinished":
            return "an earlier apply is finished first"
        case _:
            highest = rung(table)
            cost = cost_text(_largest(table.steps)) if highest is not Rung.METADATA else ""
            final = ", cannot be undone" if any(not s.reversible for s in table.steps) else ""
            return _BY_RUNG[highest] + (f": {cost}" if cost else "") + final


def _largest(steps: Sequence[Step]) -> Cost:
    """The steps of one table touch the same rows again: the largest is told, not the sum."""

    def most(values: list[int | None]) -> int | None:
        return max((v for v in values if v is not None), default=None)

    costs = [s.cost for s in steps]
    return Cost(
        most([c.rows for c in costs]),
        most([c.bytes for c in costs]),
        most([c.files for c in costs]),
    )


def _step_lines(number: int, step: Step, verbose: int) -> list[Line]:
    style = "red" if step.destructive else ""
    lines: list[Line] = [
        [("dim", f"    {number}. "), (style, step.title), ("dim", f"  [{step.rung.value}]")]
    ]
    facts = [
        ("why not cheaper", step.why_not_cheaper or ""),
        ("cost", cost_text(step.cost)),
        ("cannot be undone", "; ".join(step.irreversible) or _bare_loss(step)),
        ("asks first", step.confirm or ""),
    ]
    for name, text in facts:
        if text:
            warns = "yellow" if name in ("cannot be undone", "asks first") else "dim"
            lines.append([(warns, f"       {name}: "), ("", text)])
    if verbose:
        for statement in step.sql:
            lines += [[("cyan", f"         {row}")] for row in f"{statement};".splitlines()]
    return lines


def _bare_loss(step: Step) -> str:
    return "" if step.reversible else "there is no way back from this step"


def summary_line(plan: Plan, nothing: str = "nothing to do") -> str:
    """`Plan: 2 to create, 1 to change, 1 to rewrite, 1 blocked, 3 unchanged.`"""
    counts = summary(plan)
    parts = [f"{counts[name]:,} to {name}" for name in _SUMMARY if counts[name]]
    if counts["unfinished"]:
        parts.append(f"{counts['unfinished']:,} to finish first")
    if not parts and not counts["blocked"]:
        parts = [nothing]
    parts += [f"{counts[name]:,} {name}" for name in ("blocked", "unchanged") if counts[name]]
    return f"Plan: {', '.join(parts)}."


def next_lines(plan: Plan, *, sealed: str | None = None, tables: Sequence[str] = ()) -> list[str]:
    """The next command to type."""
    lines: list[str] = []
    if plan.blocked:
        codes = sorted({f.code for t in plan.blocked for f in t.findings if _is_error(f.severity)})
        lines.append(
            f"Blocked: mend the errors above (`instar explain {codes[0]}`), then plan again."
        )
    elif sealed is not None:
        lines.append(
            f"Saved the plan to {sealed}. To do exactly this: instar apply {shlex.quote(sealed)}"
        )
    elif plan.pending or plan.unfinished:
        lines.append(f"Next: {_next_command(plan, tables)}")
    return lines


def _is_error(severity: Severity) -> bool:
    return severity is Severity.ERROR


def _next_command(plan: Plan, tables: Sequence[str]) -> str:
    """A plan with models is carried out by a run, which builds their rows too."""
    models = [t for t in plan.pending if t.origin.startswith(_MODELS)]
    declared = [t.table for t in plan.pending if t not in models]
    if plan.unfinished or not models or any(named(name, tables) for name in declared):
        return apply_command(plan.env, plan.policy, tables)
    names = [word for t in models if tables for word in ("--select", PurePath(t.origin).stem)]
    return _command(["instar", "run", *names], plan.env, plan.policy)


def apply_command(env: str, policy: Policy, tables: Sequence[str] = ()) -> str:
    """What to type so that the same is done."""
    return _command(["instar", "apply", *tables], env, policy)


def _command(begin: Sequence[str], env: str, policy: Policy) -> str:
    words = [*begin, "--env", env]
    if policy.column_conflict is not ColumnConflict.PRESERVE:
        words += ["--column-conflict", policy.column_conflict.value]
    flags = {
        "--allow-column-removal": policy.allow_column_removal,
        "--allow-rewrite": policy.allow_rewrite,
        "--allow-full-refresh": policy.allow_full_refresh,
    }
    return shlex.join([*words, *(flag for flag, on in flags.items() if on)])


def drift_text(plan: Plan, paint: Paint, undeclared: Sequence[TableName] = ()) -> str:
    """Where live tables and manifests differ; read from live to declared."""
    apart = [t for t in plan.tables if t.changes]
    lines: list[Line] = []
    for table in apart:
        marker = "~" if table.live else "+"
        said = f"  {drift_words(table)}"
        lines.append([("bold yellow", f"{marker} "), ("bold", str(table.table)), ("", said)])
        lines += [*drifted_lines(table), []]
    for table in plan.unfinished:
        said = f"  {drift_words(table)}"
        lines.append([("bold yellow", "! "), ("bold", str(table.table)), ("", said)])
    lines.append([("bold", drift_summary(plan))])
    if undeclared:
        lines.append([("cyan", "info: "), ("", undeclared_text(plan, undeclared))])
    if apart or plan.unfinished:
        lines.append([("dim", f"Next: instar plan --env {shlex.quote(plan.env)}")])
    return render(lines, paint)


def drift_words(table: TablePlan) -> str:
    if not table.changes:
        return "has an unfinished run; nobody can tell before `instar recover`"
    said = "differs from" if table.live else "is missing, declared in"
    return f"{said} {table.origin or 'its manifest'}"


def drifted_lines(table: TablePlan) -> list[Line]:
    seen = [replace(c, accepted=True, reason="") for c in table.changes]
    return change_lines(seen, table.live, table.target)


def drift_summary(plan: Plan) -> str:
    apart = [*plan.unfinished, *(t for t in plan.tables if t.changes)]
    same = len(plan.tables) - len(apart)
    if not apart:
        return f"No drift: {plural(same, 'table')} as declared."
    return f"Drift: {plural(len(apart), 'table')} apart, {same:,} as declared."


def undeclared_text(plan: Plan, undeclared: Sequence[TableName]) -> str:
    names = ", ".join(map(str, undeclared[:_NAMED]))
    more = f" and {len(undeclared) - _NAMED:,} more" if len(undeclared) > _NAMED else ""
    told = f"{plural(len(undeclared), 'live table')} that no file declares: {names}{more}"
    return f"{told} (`instar import --env {shlex.quote(plan.env)}`)"
