"""The pure half of a backend: what the engine keeps, can do, and how it is said in its SQL."""

from __future__ import annotations

from typing import Protocol

from instar.core.changes import Change
from instar.core.findings import Finding
from instar.core.plan import Capability, Job, Step
from instar.core.schema import Table, Wanted


class Rules(Protocol):
    """Nothing here touches the engine: a plan can be computed and tested without one."""

    name: str
    dialect: str
    positions: bool
    """New columns can be placed, and columns moved, natively."""
    one_layout: bool
    """A table is partitioned or clustered, never both."""

    def fold(self, name: str) -> str:
        """The name rule: names that fold to the same text are the same name."""
        ...

    def normalize(self, wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
        """What the engine would report had the table been created so; a finding for what it cannot keep."""
        ...

    def capability(self, change: Change, live: Table, wanted: Wanted) -> Capability:
        """The cheapest rung for one change of this live table."""
        ...

    def steps(self, job: Job) -> tuple[Step, ...]:
        """The steps that bring the live table to the target on the job's rung."""
        ...
