"""The plan as Markdown, for a comment under a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from instar.cli.lines import clean, render, shorten, told_apart
from instar.cli.mermaid import MOST_EDGES, flowchart
from instar.cli.numbers import cost_text
from instar.cli.screen import PLAIN
from instar.cli.text import (
    drift_summary,
    drift_words,
    drifted_lines,
    outcome,
    summary_line,
    undeclared_text,
)
from instar.cli.tree import change_lines
from instar.core.document import fingerprint, verb
from instar.core.findings import Finding, Severity
from instar.core.numbers import plural
from instar.core.plan import Plan, Status, Step, TablePlan
from instar.core.schema import TableName

_ICONS = {Severity.ERROR: "🛑", Severity.WARNING: "⚠️", Severity.INFO: "ℹ️"}
_SHOWN = 5
# GitHub takes 65,536 characters in a comment.
_LIMIT = 60_000


def plan_markdown(plan: Plan, project: str = "") -> str:
    shown = [t for t in plan.tables if t.status is not Status.NO_CHANGE or t.findings or t.changes]
    parts = _head("plan", plan, project, summary_line(plan))
    if shown:
        parts += [*_overview(shown), ""]
    parts += _fitting([_table(table) for table in shown], sum(map(len, parts)), "plan")
    parts.append(f"<sub>fingerprint `{fingerprint(plan)}`</sub>")
    return "\n".join(parts)


def drift_markdown(plan: Plan, project: str = "", undeclared: Sequence[TableName] = ()) -> str:
    """Where live tables have left their manifests; what a plan would do about it is not its subject."""
    parts = _head("drift", plan, project, drift_summary(plan))
    if undeclared:
        parts += [f"ℹ️ {escape(undeclared_text(plan, undeclared))}", ""]
    apart = [t for t in plan.tables if t.changes or t in plan.unfinished]
    parts += _fitting([_drifted(table) for table in apart], sum(map(len, parts)), "drift")
    return "\n".join(parts)


def _head(what: str, plan: Plan, project: str, summary: str) -> list[str]:
    title = f"## Instar {what} for `{_code(plan.env)}`"
    title += f" · {escape(project)}" if project else ""
    return [title, "", f"**{escape(summary)}**", ""]


def _fitting(blocks: Sequence[Sequence[str]], before: int, command: str) -> list[str]:
    """As many blocks as a comment takes."""
    taken: list[str] = []
    for lines in blocks:
        block = "\n".join(lines)
        if before + sum(map(len, taken)) + len(block) > _LIMIT:
            rest = f"_The rest is too long for a comment: run `instar {command}` to read it._\n"
            return [*taken, rest]
        taken.append(block)
    return taken


def _drifted(table: TablePlan) -> list[str]:
    lines = [f"### `{_code(str(table.table))}` {escape(drift_words(table))}", ""]
    changes = drifted_lines(table)
    return [*lines, *_fence(render(changes, PLAIN), "diff")] if changes else lines


def _overview(tables: Sequence[TablePlan]) -> list[str]:
    rows = ["| | table | what happens |", "|---|---|---|"]
    marks = {
        "create": "➕",
        "change": "✏️",
        "rewrite": "♻️",
        "unfinished": "⏳",
        "blocked": "🛑",
        "unchanged": "➖",
    }
    rows += [
        f"| {marks[verb(t)]} | `{_code_cell(str(t.table))}` | {escape(outcome(t))} |"
        for t in tables
    ]
    return rows


def _table(table: TablePlan) -> list[str]:
    lines = [f"### `{_code(str(table.table))}` {escape(outcome(table))}", ""]
    changes = change_lines(table.changes, table.live, table.target)
    if changes:
        lines += _fence(render(changes, PLAIN), "diff")
    for finding in table.findings:
        lines += _finding(finding)
    lines += _reach(table)
    if table.steps:
        lines += ["<details><summary>Steps</summary>", ""]
        for number, step in enumerate(table.steps, start=1):
            lines += _step(number, step)
        lines += ["</details>", ""]
    return lines


def _reach(table: TablePlan) -> list[str]:
    """A chart of the columns that the changes of a table reach."""
    reached = [r for item in table.changes for r in item.reaches]
    edges = dict.fromkeys(
        (a, str(r), not r.perhaps and r.column is not None) for r in reached for a in r.sources
    )
    if not edges:
        return []
    if len(edges) > MOST_EDGES:
        name = _code(str(table.table))
        return [f"_Too much to draw: `instar lineage {name} --format mermaid` has the chart._", ""]
    columns = len({str(r) for r in reached if r.column is not None})
    tables = len({str(r) for r in reached if r.column is None})
    told = [plural(columns, "column")] if columns else []
    told += [f"the rows of {plural(tables, 'table')}"] if tables else []
    head = f"<details><summary>Reaches {' and '.join(told)}</summary>"
    return [head, "", *_fence(clean_sql(flowchart(edges)), "mermaid"), "</details>", ""]


def _step(number: int, step: Step) -> list[str]:
    lines = [f"{number}. {escape(step.title)} _({step.rung.value})_"]
    facts = {
        "why not cheaper": step.why_not_cheaper or "",
        "cost": cost_text(step.cost),
        "cannot be undone": "; ".join(step.irreversible),
        "asks first": step.confirm or "",
    }
    lines += [f"   - {name}: {escape(text)}" for name, text in facts.items() if text]
    lines.append("")
    if step.sql:
        lines += _fence("\n".join(f"{clean_sql(s)};" for s in step.sql), "sql")
    return lines


def clean_sql(statement: str) -> str:
    return "\n".join(clean(line) for line in statement.splitlines())


def _finding(finding: Finding) -> list[str]:
    place = f" (`{_code(str(finding.where))}`)" if finding.where else ""
    head = f"{_ICONS[finding.severity]} **{finding.code}** {escape(finding.message)}{place}"
    lines = [head, ""]
    rows = [dict(w) for w in finding.witnesses[:_SHOWN]]
    if rows:
        names = list(dict.fromkeys(n for row in rows for n in row))
        lines.append("| " + " | ".join(_cell(n) for n in names) + " |")
        lines.append("|" + "---|" * len(names))
        for row in rows:
            cells = [_cell(told_apart(row.get(n))) for n in names]
            lines.append("| " + " | ".join(cells) + " |")
        more = max(finding.count or 0, len(finding.witnesses)) - len(rows)
        lines += ["", f"and {more:,} more"] if more > 0 else []
        lines.append("")
    if finding.hint:
        lines += [f"> {escape(finding.hint)}", ""]
    return lines


def _fence(text: str, language: str) -> list[str]:
    """A fence longer than any inside, so that no content can end it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return [f"{ticks}{language}", text, ticks, ""]


def _code(text: str) -> str:
    return clean(text).replace("`", "'")


def _code_cell(text: str) -> str:
    return _code(text).replace("|", "\\|")


def _cell(text: str) -> str:
    return escape(shorten(text, 80)).replace("|", "\\|")


def escape(text: str) -> str:
    """Text that Markdown shows as it is: no links, mentions, markup or line breaks from anyone's data."""
    safe = html.escape(clean(text), quote=False)
    safe = re.sub(r"([\\`*_\[\]#~])", r"\\\1", safe)
    return safe.replace("@", "@\u200b")
