"""Findings with their place: the file and the line of the column or key that each is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from instar.core.findings import Finding, Severity
from instar.core.plan import TablePlan
from instar.errors import Location
from instar.sources.models import Model
from instar.sources.places import Manifest

_EXPRESSIONS = ("_using", "_default", "default", "backfill")
_ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "F101": ("nullable",),
    "F104": ("type",),
    "F107": ("renamed_from",),
    "F109": ("renamed_from",),
    "F110": ("_using", "backfill"),
    "F201": ("type",),
    "F202": _EXPRESSIONS,
    "F203": ("nullable",),
    "F204": _EXPRESSIONS,
    "F602": ("type",),
    "F603": ("nullable",),
    "F606": _EXPRESSIONS,
    "F607": _EXPRESSIONS,
}
"""Which attribute of a column a finding is about; the column itself where it has none of them."""


def placed(
    plans: Iterable[TablePlan], root: Path, models: Mapping[str, Model] | None = None
) -> tuple[TablePlan, ...]:
    """The plans with a place at every finding."""
    own = {m.origin: m for m in (models or {}).values()}
    return tuple(
        replace(p, findings=located(p.findings, p.origin, root, own.get(p.origin)))
        if p.findings and p.origin
        else p
        for p in plans
    )


def located(
    findings: Sequence[Finding], origin: str, root: Path, model: Model | None = None
) -> tuple[Finding, ...]:
    """The findings of one file with their places; what has one keeps it."""
    if all(f.where is not None for f in findings):
        return tuple(findings)
    manifest = Manifest(root, origin) if model is None else None
    found: list[Finding] = []
    for finding in findings:
        where = finding.where
        # The line itself is shown for what blocks; elsewhere its number is enough.
        shown = finding.severity is Severity.ERROR
        if where is None and manifest is not None:
            about = _ATTRIBUTES.get(finding.code, ())
            where = manifest.place(finding.path, finding.key, about, shown=shown)
        elif where is None and model is not None:
            where = _in_model(finding, model)
            where = where if shown else replace(where, column=None, text=None)
        found.append(replace(finding, where=where))
    return tuple(found)


def _in_model(finding: Finding, model: Model) -> Location:
    """What the frontmatter says of the column, else where the query begins."""
    name = finding.path[0] if finding.path else ""
    for attribute in (*_ATTRIBUTES.get(finding.code, ()), ""):
        where = model.places.get(f"columns.{name}.{attribute}".rstrip("."))
        if name and where is not None:
            return where
    return model.locate(len(model.body) - len(model.body.lstrip()))
