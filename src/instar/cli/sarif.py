"""Findings as SARIF 2.1.0, which code scanning on a forge shows beside the manifest's line."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from instar import __version__
from instar.cli.lines import render
from instar.cli.screen import PLAIN
from instar.cli.text import drift_words, drifted_lines
from instar.codes import CODES
from instar.core.findings import Finding, Severity
from instar.core.plan import Plan, TablePlan
from instar.errors import Location

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_PAGE = "docs/reference/codes.md"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def plan_sarif(plan: Plan) -> str:
    return sarif(pair for t in plan.tables for pair in _found(t))


def drift_sarif(plan: Plan) -> str:
    """Each table that has drifted is a result at its manifest, before what is said of its columns."""
    told = ((t, [_drifted(t, plan.env)] if t.changes else []) for t in plan.tables)
    return sarif(p for t, own in told for p in (*own, *_found(t)))


def _found(table: TablePlan) -> list[tuple[Finding, Location | None]]:
    return [(f, f.where or _origin(table.origin)) for f in table.findings]


def _drifted(table: TablePlan, env: str) -> tuple[Finding, Location | None]:
    lines = (" ".join(render([line], PLAIN).split()) for line in drifted_lines(table))
    back = "; ".join(line for line in lines if line.startswith(("+ ", "- ", "~ ")))
    words = f"[{table.table}] {drift_words(table)}; back to it: {back}."
    hint = f"Take it over into the manifest, or look at `instar plan --env {shlex.quote(env)}`."
    return Finding("F505", Severity.WARNING, words, hint), _origin(table.origin)


def findings_sarif(findings: Iterable[Finding], where: Location | None = None) -> str:
    return sarif((f, f.where or where) for f in findings)


def _origin(origin: str) -> Location | None:
    return Location(origin) if origin else None


def sarif(pairs: Iterable[tuple[Finding, Location | None]]) -> str:
    """One run; a rule for every code that is met, in order."""
    found = list(pairs)
    codes = sorted({f.code for f, _ in found})
    driver = {
        "name": "instar",
        "version": __version__,
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, where, codes) for f, where in found],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(code: str) -> dict[str, Any]:
    doc = CODES.get(code)
    if doc is None:
        return {"id": code}
    return {
        "id": code,
        "shortDescription": {"text": doc.title},
        "fullDescription": {"text": doc.why},
        # No helpUri: that must be an absolute address, and the page is a file of the project.
        "help": {
            "text": f"{doc.fix} `instar explain {code}` says the same; all codes: {_PAGE}.",
            "markdown": f"{doc.fix}\n\n`instar explain {code}` says the same; all codes: `{_PAGE}`.",
        },
    }


def _result(finding: Finding, where: Location | None, codes: list[str]) -> dict[str, Any]:
    end = "" if finding.message.endswith((".", "!", "?")) else "."
    text = finding.message + (f"{end} {finding.hint}" if finding.hint else "")
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
    }
    if where is not None:
        result["locations"] = [{"physicalLocation": _physical(where)}]
    if finding.count is not None:
        result["properties"] = {"rows": finding.count}
    return result


def _physical(where: Location) -> dict[str, Any]:
    # A file alone gets line 1: viewers drop results that have no region.
    region: dict[str, Any] = {"startLine": where.line or 1}
    if where.column is not None:
        region["startColumn"] = where.column
    place = {"uri": quote(PurePath(where.file).as_posix())}
    return {"artifactLocation": place, "region": region}
