"""Steps that are the same whatever the dialect: an ALTER, a copy that is swapped in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from instar.backends.relational.capability import TableFacts
from instar.backends.relational.words import losses, title
from instar.core.changes import Change, DropColumn
from instar.core.plan import Job, Rung, Step, drop_question
from instar.core.schema import Table


def numbered(steps: Iterable[Step], target: Table) -> tuple[Step, ...]:
    """In their order; the last one leaves the target behind."""
    made = [replace(s, id=f"{target.name}/{n}") for n, s in enumerate(steps, start=1)]
    if made:
        made[-1] = replace(made[-1], after=target)
    return tuple(made)


def alter_step(
    changes: Iterable[Change],
    sql: Iterable[str],
    after: Table,
    *,
    rung: Rung = Rung.METADATA,
    words: str | None = None,
    data: Mapping[str, str],
) -> Step:
    """Statements that change the table where it is; `words` are its title, if not the plain one."""
    changes = tuple(changes)
    lost = losses(changes)
    return Step(
        id=f"{after.name}/1",
        kind="alter",
        rung=rung,
        title=words or title(changes),
        sql=tuple(sql),
        after=after,
        destructive=bool(lost),
        reversible=not lost,
        confirm=drop_question(lost),
        data=data,
    )


def swap_step(
    job: Job,
    kind: str,
    how: str,
    sql: Iterable[str],
    confirm: str,
    data: Mapping[str, str],
    facts: TableFacts,
) -> Step:
    """A copy in the new shape takes the table's place; `how` ends the title, `confirm` is the question."""
    lost = losses(job.changes)
    name = job.target.name
    things = dict.fromkeys(t for c in job.changes for t in _gone_with(c, facts))
    gone = f". Not in the new table: {', '.join((*lost, *things))}" if lost else ""
    return Step(
        id=f"{name}/1",
        kind=kind,
        rung=Rung.REWRITE,
        title=f"{kind} {name}: {title(job.changes)}{how}",
        sql=tuple(sql),
        after=job.target,
        destructive=bool(lost),
        reversible=True,
        confirm=confirm + gone,
        data=data,
    )


def _gone_with(change: Change, facts: TableFacts) -> Iterable[str]:
    match change:
        case DropColumn((column,)):
            return facts.go_with(column)
        case _:
            return ()
