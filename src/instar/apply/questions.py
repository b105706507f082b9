"""Which steps of a plan need a person's word before anything is touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from instar.core.plan import Cost, Plan, Rung, Step, TablePlan
from instar.core.schema import TableName


class QuestionKind(Enum):
    DESTROY = "destroy"
    REWRITE = "rewrite"
    IRREVERSIBLE = "irreversible"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to say yes or no to; `notes` is what cannot be undone about it."""

    table: TableName
    step: str
    kind: QuestionKind
    text: str
    notes: tuple[str, ...] = ()


def questions(plan: Plan) -> list[Question]:
    """In the order of the plan; one question a step at most, and one for a table's rewrite."""
    return [question for table in plan.pending for question in _asked(table)]


def _asked(table: TablePlan) -> Iterator[Question]:
    rewritten = False
    for step in table.steps:
        kind = _kind(step)
        if kind is None or (kind is QuestionKind.REWRITE and rewritten):
            continue
        rewritten = rewritten or kind is QuestionKind.REWRITE
        yield Question(table.table, step.id, kind, _text(table, step, kind), step.irreversible)


def _kind(step: Step) -> QuestionKind | None:
    if step.destructive:
        return QuestionKind.DESTROY
    if step.confirm is not None:
        return QuestionKind.CONFIRM
    if step.rung in (Rung.REWRITE, Rung.REFRESH):
        return QuestionKind.REWRITE
    return QuestionKind.IRREVERSIBLE if step.irreversible or not step.reversible else None


def _text(table: TablePlan, step: Step, kind: QuestionKind) -> str:
    what = step.confirm or _SAYS[kind].format(title=step.title)
    size = _size(step.cost)
    notes = f"; cannot be undone: {', '.join(step.irreversible)}" if step.irreversible else ""
    return f"[{table.table}] {what}{f' ({size})' if size else ''}{notes}"


_SAYS = {
    QuestionKind.DESTROY: "{title}: the values are lost",
    QuestionKind.REWRITE: "{title}: the table is rewritten",
    QuestionKind.IRREVERSIBLE: "{title}: this cannot be undone",
    QuestionKind.CONFIRM: "{title}",
}


def _size(cost: Cost) -> str:
    counts = ((cost.rows, "row"), (cost.files, "file"), (cost.bytes, "byte"))
    return ", ".join(
        f"{count:,} {word}{'' if count == 1 else 's'}"
        for count, word in counts
        if count is not None
    )
