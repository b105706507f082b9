"""What `instar run` is asked for, and the words for what becomes of a model."""

from __future__ import annotations

from dataclasses import dataclass

from instar.core.numbers import plural

BUILT, SKIPPED, FAILED, BEHIND, CREATED = "built", "skipped", "failed", "behind", "created"
GOOD = frozenset((BUILT, SKIPPED, CREATED))
DONE_BEFORE = "done before the interruption"
AS_ITS_QUERY = "the view is as its query says"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What `instar run` was asked for; kept with the run so that it can be resumed.

    The work is the same then; `threads` and `fail_fast` only say how it is done, and are given anew.
    """

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    full_refresh: bool = False
    start: str | None = None
    end: str | None = None
    threads: int | None = None
    fail_fast: bool = False


def behind_text(failed: list[str]) -> str:
    """Why a model was not begun."""
    return f"behind {', '.join(failed)}" if failed else "not begun: another model failed"


def outcome_text(status: str, rows: int | None, reason: str) -> str:
    """What became of a model, in a few words; why it was not begun says that it was not."""
    if rows is not None:
        return f"{status} {plural(rows, 'row')}{f' ({reason})' if reason else ''}"
    if status == BEHIND:
        return reason
    return f"{status}: {reason}" if reason else status
