"""Findings: what a change means for the people who own the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from instar.core.types import Path
from instar.errors import Location


class Severity(Enum):
    """An error blocks, a warning is worth a look, an info is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


Witness = Mapping[str, str | None]
"""One offending row: its key columns and the value, as text."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An error blocks the table's plan. `count` rows stand in the way, the first ones shown.

    `key` is what the finding is about where that is no column: `primary_key`, `constraints.positive`.
    """

    code: str
    severity: Severity
    message: str
    hint: str | None = None
    path: Path = ()
    count: int | None = None
    witnesses: tuple[Witness, ...] = ()
    where: Location | None = None
    key: str = ""
