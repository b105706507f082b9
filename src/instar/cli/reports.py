"""What was done, as lines and as documents: apply, recover, doctor, history, diff."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from instar.cli.lines import Line, pad, width
from instar.cli.numbers import seconds_text
from instar.cli.problems import error_lines
from instar.cli.tree import plain_changes
from instar.core.changes import CreateTable
from instar.core.document import VERSION, change_document, fingerprint
from instar.core.numbers import plural
from instar.core.plan import Plan

if TYPE_CHECKING:
    from instar.app.answers import ApplyReport
    from instar.app.comparing import Comparison
    from instar.app.doctoring import Diagnosis
    from instar.apply import TableReport
    from instar.state import Event, Kept

_MARKS = {
    "APPLIED": ("✓", "green"),
    "NOTHING": ("✓", "dim"),
    "FAILED": ("✗", "bold red"),
    "SKIPPED": ("·", "dim"),
}
SAVE_CREDITS = "🤑 save credits — reorder your yml."


def apply_lines(
    plan: Plan, report: ApplyReport, tables: Sequence[TableReport], seconds: float
) -> list[Line]:
    lines: list[Line] = report_lines([t for t in tables if t.result.name != "NOTHING"])
    for name, block in report.blocks:
        lines += [[], [("bold", SAVE_CREDITS), ("dim", f"  {name}, change-tracked: paste this")]]
        lines += [[("", row)] for row in block.splitlines()]
    lines += [[("green", f"wrote {os.path.relpath(path)}")] for path in report.written]
    counts, took = _counts(tables), seconds_text(seconds)
    if not any(counts[k] for k in ("done", "failed", "skipped")):
        quiet = f"Nothing to do: {plural(len(plan.tables), 'table')} as declared. ({took})"
        return [*lines, [("bold", quiet)]]
    words = [f"{plural(counts['done'], 'table')} done"]
    words += [
        f"{counts[k]:,} {w}"
        for k, w in (("failed", "failed"), ("skipped", "not begun"))
        if counts[k]
    ]
    style = "bold red" if counts["failed"] else "bold"
    return [*lines, [(style, f"Apply: {', '.join(words)} in {took}.")]]


def exit_code(reports: Sequence[TableReport]) -> int:
    """That of the first failure that has one."""
    errors = [r.error for r in reports if not r.ok]
    return next((e.exit_code for e in errors if e is not None), 1) if errors else 0


def _counts(tables: Sequence[TableReport]) -> dict[str, int]:
    names = [t.result.name for t in tables]
    words = {"done": "APPLIED", "unchanged": "NOTHING", "failed": "FAILED", "skipped": "SKIPPED"}
    return {word: names.count(name) for word, name in words.items()}


def report_lines(reports: Sequence[TableReport]) -> list[Line]:
    lines: list[Line] = []
    for report in reports:
        mark, style = _MARKS[report.result.name]
        again = ["resumed"] if report.resumed else []
        steps = [f"{report.applied}/{report.total} steps"] if report.total else []
        took = [seconds_text(report.seconds)] if report.result.name != "SKIPPED" else []
        told = f"  {report.result.value}  ({', '.join([*again, *steps, *took])})"
        lines.append([(style, f"{mark} "), ("bold", str(report.table)), ("", told)])
        lines += [[("dim", f"    note: {note}")] for note in report.notes]
        if report.error is not None:
            lines += [[("", "    "), *line] for line in error_lines(report.error)]
        if report.next:
            lines.append([("cyan", "    next: "), ("", report.next)])
    return lines


def apply_document(
    plan: Plan, report: ApplyReport, tables: Sequence[TableReport], seconds: float
) -> dict[str, Any]:
    return {
        "version": VERSION,
        "env": plan.env,
        "fingerprint": fingerprint(plan),
        "tables": [report_document(t) for t in tables],
        "columns_blocks": {str(name): block for name, block in report.blocks},
        "written": [str(path) for path in report.written],
        "summary": {**_counts(tables), "seconds": round(seconds, 3)},
    }


def report_document(report: TableReport) -> dict[str, Any]:
    error = report.error
    return {
        "table": str(report.table),
        "result": report.result.name.lower(),
        "applied": report.applied,
        "total": report.total,
        "seconds": round(report.seconds, 3),
        "resumed": report.resumed,
        "notes": list(report.notes),
        "error": error and {"code": error.code, "message": error.message, "hint": error.hint},
        "next": report.next,
    }


def doctor_lines(found: Sequence[Diagnosis]) -> list[Line]:
    names = max((width(d.name) for d in found), default=0)
    lines: list[Line] = []
    for item in found:
        mark, style = _doctor_mark(item)
        lines.append(
            [(style, f"{mark} "), ("bold", pad(item.name, names)), ("", f"  {item.detail}")]
        )
        if item.hint:
            lines.append([("cyan", "    help: "), ("", item.hint)])
    bad, warned = sum(not d.ok for d in found), sum(d.warns for d in found)
    words = [plural(bad, "problem")] if bad else []
    words += [plural(warned, "warning")] if warned else []
    return [*lines, [("bold", f"Doctor: {', '.join(words) or 'everything is there'}.")]]


def _doctor_mark(item: Diagnosis) -> tuple[str, str]:
    if item.warns:
        return "!", "bold yellow"
    return ("✓", "green") if item.ok else ("✗", "bold red")


_OUTCOMES = {"finished": "green", "failed": "bold red", "open": "yellow", "abandoned": "dim"}


def history_lines(events: Sequence[Event], kept: Sequence[Kept] = ()) -> list[Line]:
    names = max((width(str(e.table)) for e in events), default=0)
    lines: list[Line] = []
    for event in events:
        took = "" if event.seconds is None else f" in {seconds_text(event.seconds)}"
        steps = f"{event.applied}/{event.steps} steps{took}"
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.when))
        lines.append(
            [
                ("dim", f"{when}  "),
                ("bold", pad(str(event.table), names)),
                (_OUTCOMES.get(event.outcome, ""), f"  {event.outcome:<9}"),
                ("", f"  {event.what}"),
                ("dim", f"  ({steps})"),
            ]
        )
        if event.error:
            lines.append([("red", f"    {event.error}")])
        for copy in _kept(event, kept):
            end = "Delta's VACUUM takes its files" if copy.in_history else "`instar cleanup`"
            lines.append([("dim", f"    kept: {copy.kept_name}, until {end}")])
    return lines


def _kept(event: Event, kept: Sequence[Kept]) -> list[Kept]:
    """The old copies that a run has left and that are still there."""
    return [k for k in kept if (k.run, k.table) == (event.run, event.table)]


def event_document(event: Event, kept: Sequence[Kept] = ()) -> dict[str, Any]:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(event.when))
    return {
        "when": stamp,
        "table": str(event.table),
        "what": event.what,
        "outcome": event.outcome,
        "status": event.status,
        "reason": event.reason,
        "steps": event.steps,
        "applied": event.applied,
        "seconds": event.seconds,
        "rows": event.rows,
        "error": event.error,
        "command": event.command,
        "run": event.run,
        "kept": [str(k.kept_name) for k in _kept(event, kept)],
    }


def diff_lines(found: Comparison) -> list[Line]:
    lines: list[Line] = []
    for item in found.tables:
        if item.gone:
            lines += [
                [("red", "- "), ("bold", str(item.table)), ("", f"  only in {found.left}")],
                [],
            ]
            continue
        new = any(isinstance(c, CreateTable) for c in item.changes)
        mark, said = ("+", f"  only in {found.right}") if new else ("~", "")
        style = "green" if new else "yellow"
        lines.append([(style, f"{mark} "), ("bold", str(item.table)), ("", said)])
        lines += [*plain_changes(item.changes), []]
    count = plural(len(found.tables), "table")
    verb = "differs" if len(found.tables) == 1 else "differ"
    end = f"Diff: {count} {verb} from {found.left} to {found.right}."
    same = f"No difference between {found.left} and {found.right}."
    return [*lines, [("bold", same if found.same else end)]]


def diff_document(found: Comparison) -> dict[str, Any]:
    tables = [
        {
            "table": str(t.table),
            "gone": t.gone,
            "changes": [change_document(c) for c in t.changes],
        }
        for t in found.tables
    ]
    return {"version": VERSION, "left": found.left, "right": found.right, "tables": tables}
