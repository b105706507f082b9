"""The contract of inference: the engine's own analyser is asked about tables as they will be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from instar.core.schema import TableName
from instar.core.types import Column, Type
from instar.sources.models import Model, Target

FAILS = "an error"
"""In the place of a value."""


class CannotInfer(Exception):
    """The engine does not accept a query. `line` counts within it; `column` is what it did not find."""

    def __init__(self, message: str, line: int | None = None, column: str | None = None) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class Inferrer(Protocol):
    """A world of empty tables. Nothing of it touches the live ones."""

    dialect: str
    renames: bool
    """A declared table has another name here, and an alias so that its columns go by its own."""

    def place(self, name: TableName, called: str = "") -> str:
        """How a query names a declared table here; `called`: what its columns go by where no alias says it."""
        ...

    def declare(self, name: TableName, columns: tuple[Column, ...]) -> None:
        """A table as it will be once the plan is applied."""
        ...

    def infer(self, sql: str) -> tuple[Column, ...]:
        """The columns of a query over declared tables; `CannotInfer` where it does not compile."""
        ...

    def infer_python(self, model: Model, upstream: tuple[Target, ...]) -> tuple[Column, ...]:
        """The columns of the DataFrame that a Python model returns for empty inputs."""
        ...

    def value_problem(self, sql: str, type_: Type, row: tuple[Column, ...]) -> str | None:
        """Why an expression over such a row gives no value of the type, as far as that is certain."""
        ...

    def null(self, type_: Type) -> str:
        """No value of a type, in the engine's words."""
        ...

    def values(
        self, texts: Sequence[str], type_: Type, row: tuple[Column, ...]
    ) -> tuple[tuple[str, ...], ...]:
        """What expressions give over made-up rows, as values of the type in text ("NULL" for none).

        One row without columns where `row` is empty. What fails at a row gives `FAILS`; where all do, the
        row is left out.
        """
        ...

    def close(self) -> None: ...
