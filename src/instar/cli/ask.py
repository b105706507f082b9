"""Questions: a terminal is asked, anything else needs --yes; the end of input is a no."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Protocol

from instar.cli.lines import clean
from instar.cli.screen import Screen
from instar.core.numbers import plural
from instar.errors import ConfirmationNeeded, Interrupted


class Asked(Protocol):
    """One step that needs a word; the text says which table, and what is lost."""

    @property
    def text(self) -> str: ...


def interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirmer(
    screen: Screen, *, yes: bool, before: Callable[[], None] = lambda: None
) -> Callable[[Sequence[Asked]], bool]:
    """How this run answers: `before` clears the screen of bars."""

    def confirm(questions: Sequence[Asked]) -> bool:
        before()
        if yes:
            for question in questions:
                screen.note(f"yes: {_line(question)}")
            return True
        if not interactive():
            raise needs_word(questions)
        return all(_asked(screen, question) for question in questions)

    return confirm


def needs_word(questions: Sequence[Asked]) -> ConfirmationNeeded:
    listed = "".join(f"\n  - {_line(q)}" for q in questions)
    return ConfirmationNeeded(
        "E403",
        f"needs confirmation: rerun with --yes ({plural(len(questions), 'question')}){listed}",
        hint="Nothing was touched.",
    )


def _line(question: Asked) -> str:
    return clean(question.text)


def _asked(screen: Screen, question: Asked) -> bool:
    """The prompt goes to stderr: stdout is the document. A question of yes or no takes a whole yes."""
    line = _line(question)
    whole = line.endswith("(yes/no)")
    end = "" if whole else " [y/N]" if line.endswith("?") else ". Go on? [y/N]"
    try:
        sys.stderr.write(f"{screen.err('bold yellow', '?')} {line}{end} ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        words = "interrupted at a question; what it asks about was not done"
        raise Interrupted("E406", words) from None
    if not answer:
        sys.stderr.write("\n")
    return answer.strip().lower() in (("yes",) if whole else ("y", "yes"))
