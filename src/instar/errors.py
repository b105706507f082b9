"""Every error a person can meet: one tree, each with a stable code, a message and a hint.

InstarError                      exit 1
├── UsageError                   exit 2   the command line says something impossible
├── ProjectError                          a file of the project is wrong (file and line)
├── EnvironmentProblem                    a variable, a driver, Java, a server is missing
├── EngineError                           the engine refused or broke a statement
│   └── OutcomeUnknown                    the connection was lost while a statement ran
├── StateError                            the state store is broken, locked or of another version
├── PlanMoved                    exit 3   a sealed plan no longer fits the world
├── Blocked                      exit 3   findings stand in the way; nothing was touched
├── ConfirmationNeeded           exit 4   a word is needed and nobody can be asked
├── VerificationFailed                    the table is not what the plan promised
└── Interrupted                  exit 130 stopped by the user; the journal knows where
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file of the project, with the text of that line where it is known."""

    file: str
    line: int | None = None
    column: int | None = None
    text: str | None = None

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


class InstarError(Exception):
    """The root: `code` is stable and documented by `instar explain CODE`."""

    exit_code: ClassVar[int] = 1

    def __init__(
        self, code: str, message: str, *, hint: str | None = None, where: Location | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.where = where


class UsageError(InstarError):
    exit_code = 2


class ProjectError(InstarError):
    """`others`: what else is wrong, as the same reading has found."""

    others: tuple[ProjectError, ...] = ()

    @property
    def every(self) -> tuple[ProjectError, ...]:
        return (self, *self.others)


class EnvironmentProblem(InstarError):
    pass


class EngineError(InstarError):
    pass


class OutcomeUnknown(EngineError):
    pass


class StateError(InstarError):
    pass


class PlanMoved(InstarError):
    exit_code = 3


class Blocked(InstarError):
    exit_code = 3


class ConfirmationNeeded(InstarError):
    exit_code = 4


class VerificationFailed(InstarError):
    pass


class Interrupted(InstarError):
    exit_code = 130


_NO_ROOM = ("No space left on device", "File too large", "Disk quota exceeded")


def no_room(said: str) -> EngineError | None:
    """The error of an engine whose disk is full, from its own words; None where they say nothing of it."""
    line = next((line for line in said.splitlines() if any(s in line for s in _NO_ROOM)), None)
    if line is None:
        return None
    return EngineError(
        "E228",
        f"there is no room on the disk: {line.strip().removeprefix('Caused by: ')}",
        hint="Nothing of the step is kept. Free some space, then run the command again.",
    )
