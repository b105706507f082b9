"""A table's plan in the words of a model: its frontmatter, not a manifest; a view, which holds no rows."""

from __future__ import annotations

from dataclasses import replace

from instar.core.changes import (
    AddColumn,
    Change,
    CreateTable,
    DropColumn,
    ModifyColumn,
    ReorderColumns,
)
from instar.core.classify import Classified, Safety
from instar.core.findings import Finding
from instar.core.plan import TablePlan

_HINTS = {
    "F101": "Give the column a `default` in the model's frontmatter.",
    "F104": "Pass --allow-full-refresh to recompute the table.",
    "F105": "If so, say `renamed_from` for the new column in the model's frontmatter.",
    "F110": "Remove it.",
    "F201": "Mend the query so that the type stays, or pass --allow-full-refresh to recompute the table.",
    "F202": "Mend the `default` or the `backfill` of the column in the frontmatter.",
    "F203": "Give the column a `default` or a `backfill` without NULLs in the frontmatter.",
    "F204": "Look at the `default` and the `backfill` of the columns in the frontmatter.",
}
_OF_VIEW: dict[type[Change], str] = {
    CreateTable: "a new view",
    AddColumn: "the view's query computes it",
    DropColumn: "the view no longer shows it; a view holds no values",
    ModifyColumn: "the view's query gives it so",
    ReorderColumns: "only the order changes",
}
_NO_USING = " without a _using expression"
"""A model has none: its query computes the values anew."""
_KEYS = {"_using": "backfill", "_default": "default"}


def in_model_words(plan: TablePlan) -> TablePlan:
    said = tuple(
        replace(f, message=_spoken(f), hint=_HINTS.get(f.code, _gone(f.hint)))
        for f in plan.findings
    )
    if plan.backend == "parquet":
        said = tuple(replace(f, message=_without_copy(f.message)) for f in said)
    changes = tuple(
        replace(c, kept="the query no longer returns it", reason=c.reason.replace(_NO_USING, ""))
        for c in plan.changes
    )
    return replace(plan, findings=said, changes=changes)


def of_view(change: Change) -> Classified:
    """A change of a view that is replaced: it has no rows that could be lost."""
    return Classified(change, Safety.SAFE, _OF_VIEW.get(type(change), "the view is replaced"))


def _without_copy(message: str) -> str:
    """A model that is recomputed is not copied, so its writers have nothing to stop for."""
    from instar.backends.spark.parquet_capability import WRITERS

    return (
        message.replace(f"; {WRITERS}", "") if message.startswith("Schema evolution") else message
    )


def _gone(hint: str | None) -> str | None:
    return hint and hint.replace("Live and not declared", "Live and no longer returned")


def _spoken(finding: Finding) -> str:
    message = finding.message
    if finding.code == "F105":
        message = message.replace("is not declared", "is no longer returned")
    for key, word in _KEYS.items():
        message = message.replace(f"the {key} of", f"the {word} of").replace(
            f"by {key}", f"by {word}"
        )
    return message
