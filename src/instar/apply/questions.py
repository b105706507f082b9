"""Which steps of a plan need a person's word before anything is touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from instar.backends.keeping import Since
from instar.core.numbers import plural
from instar.core.plan import Cost, Plan, Rung, Step, TablePlan
from instar.core.schema import TableName
from instar.errors import ConfirmationNeeded


class QuestionKind(Enum):
    DESTROY = "destroy"
    REWRITE = "rewrite"
    IRREVERSIBLE = "irreversible"
    CONFIRM = "confirm"
    BACKUP = "backup"
    REVERT = "revert"
    LAST_COPY = "last_copy"


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to say yes or no to; `notes` is what cannot be undone about it."""

    table: TableName
    step: str
    kind: QuestionKind
    text: str
    notes: tuple[str, ...] = ()


def questions(plan: Plan) -> list[Question]:
    """In the order of the plan; a rewrite is asked about once, with its checkpoints, and what it loses."""
    return [question for table in plan.pending for question in _asked(table)]


def ask_all(
    asked: Sequence[Question], confirm: Callable[[Sequence[Question]], bool] | None
) -> None:
    """Every question at once; a no ends it, and so does nobody who could be asked."""
    if not asked:
        return
    if confirm is None:
        count = "1 step needs" if len(asked) == 1 else f"{len(asked):,} steps need"
        raise ConfirmationNeeded(
            "E403",
            f"{count} a word before anything is touched: {'; '.join(q.text for q in asked)}",
            hint="Pass `confirm`, which gets the questions and says yes or no (--yes says yes to all).",
        )
    if not confirm(asked):
        raise ConfirmationNeeded("E403", "not confirmed; nothing of the plan was done")


def _asked(table: TablePlan) -> Iterator[Question]:
    rewritten = False
    for step in table.steps:
        kind = _kind(step)
        if kind is None:
            continue
        if step.rung is Rung.REWRITE:
            if not rewritten:
                rewritten = True
                yield from _checkpoints(table, step)
            if not step.destructive and (step.reversible or step.confirm is None):
                continue
        elif kind is QuestionKind.REWRITE:
            if rewritten:
                continue
            rewritten = True
        yield Question(table.table, step.id, kind, _text(table, step, kind), step.irreversible)


def _checkpoints(table: TablePlan, step: Step) -> Iterator[Question]:
    """What a person is told before a table is copied, and the question about a backup."""
    said = _sized(f"[{table.table}] {step.title}: the table is rewritten", step)
    text = _CHECKPOINT.format(said=said, kept=_KEPT.get(table.backend, _KEPT[""]))
    yield Question(table.table, step.id, QuestionKind.REWRITE, text, step.irreversible)
    yield Question(table.table, step.id, QuestionKind.BACKUP, _BACKUP.format(table=table.table))


_CHECKPOINT = (
    "{said}. Every row is copied, compared and put in the place of the old ones; {kept}."
    " Dropping the original is IRREVERSIBLE. Try it on a non-production environment first"
)
_KEPT = {
    "": "the original table is kept aside until `instar cleanup` drops it",
    "delta": "the original stays a version of the table's history until VACUUM drops it",
}
_BACKUP = (
    "[{table}] is there a current backup of the table, or is the risk of losing data accepted?"
)


def cleanup_text(
    table: TableName,
    copy: TableName,
    old_rows: int | None,
    new_rows: int | None,
    *,
    original: bool = True,
) -> str:
    """The words before the last copy of some rows goes; `original`: a rewrite has put it aside."""
    one, other = ("Original table", "new table") if original else ("The copy", "the table")
    return (
        f"[{table}] {one} has {_count(old_rows)} rows, {other} has {_count(new_rows)} rows."
        f" Proceeding will DROP the {'original table' if original else 'copy'} ({copy})."
        " This action is IRREVERSIBLE. Do you want to proceed? (yes/no)"
    )


def revert_text(table: TableName, copy: TableName, since: Since, aside: str) -> str:
    """What a revert takes out of the table and what it brings back."""
    by = f"compared by {', '.join(since.columns)}" if since.columns else "by their number"
    if since.columns and since.unseen:
        by += f"; a row where only {' or '.join(since.unseen)} was changed is not counted"
    kept = f"; kept in {aside}" if aside else ""
    return (
        f"[{table}] put {copy} back ({plural(since.old_rows, 'row')} instead of {since.rows:,})."
        f" {plural(since.only_now, 'row')} written or changed since would be lost from the table"
        f" ({by}){kept}; {plural(since.only_then, 'row')} would come back"
    )


def _count(rows: int | None) -> str:
    return "an unknown number of" if rows is None else f"{rows:,}"


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
    return _sized(f"[{table.table}] {what}", step)


def _sized(text: str, step: Step) -> str:
    size = _size(step.cost)
    notes = f"; cannot be undone: {', '.join(step.irreversible)}" if step.irreversible else ""
    return f"{text}{f' ({size})' if size else ''}{notes}"


_SAYS = {
    QuestionKind.DESTROY: "{title}: the values are lost",
    QuestionKind.REWRITE: "{title}: the table is rewritten",
    QuestionKind.IRREVERSIBLE: "{title}: this cannot be undone",
    QuestionKind.CONFIRM: "{title}",
}


def _size(cost: Cost) -> str:
    counts = ((cost.rows, "row"), (cost.files, "file"), (cost.bytes, "byte"))
    return ", ".join(plural(count, word) for count, word in counts if count is not None)
