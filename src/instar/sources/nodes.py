"""YAML as a tree that remembers where everything stands; scalars keep their text as it was written.

Nothing is resolved here: whether `NO`, `0` or `2024-01-01` is a text, a number or a flag is decided by
the key it stands under, so that no column name turns into a boolean.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Scalar:
    """`text` is the value; `plain` when it stood without quotes; `shown` what a message may print."""

    text: str
    plain: bool
    line: int
    column: int
    shown: str | None = None

    @property
    def is_null(self) -> bool:
        return self.plain and self.text in NULLS


@dataclass(slots=True, eq=False)
class MappingNode:
    pairs: list[tuple[Scalar, Node]]
    line: int
    column: int


@dataclass(slots=True, eq=False)
class SequenceNode:
    items: list[Node]
    line: int
    column: int


Node = Scalar | MappingNode | SequenceNode

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
