"""What a project answers beside a plan: what apply did, and where live tables have drifted to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from instar.apply import TableReport
from instar.core.plan import Plan
from instar.core.schema import TableName


@dataclass(frozen=True, slots=True)
class ApplyReport:
    """What apply did. `blocks`: the corrected column block of each tracked table whose yml differs."""

    tables: tuple[TableReport, ...]
    blocks: tuple[tuple[TableName, str], ...] = ()
    written: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Drift(Plan):
    """What would bring live tables back; `undeclared`: those of the schema that no file knows."""

    undeclared: tuple[TableName, ...] = ()
