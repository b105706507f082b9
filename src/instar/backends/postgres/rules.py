"""The pure half of the PostgreSQL backend; a server, where there is one, only spells expressions."""

from __future__ import annotations

from instar.backends.postgres import capability as table
from instar.backends.postgres.create import create_step
from instar.backends.postgres.native import native_steps
from instar.backends.postgres.normalize import normalize
from instar.backends.postgres.recipe import recreate_step
from instar.backends.postgres.scratch import Speller, types_of
from instar.backends.values import expressions_in
from instar.core.changes import Change
from instar.core.findings import Finding
from instar.core.plan import Capability, Job, Rung, Step
from instar.core.schema import Table, Wanted

LOCK_TIMEOUT = 5.0


class PostgresRules:
    """No table is touched: the speller looks at expressions, on columns without rows."""

    name = "postgres"
    dialect = "postgres"
    positions = False
    one_layout = False

    def __init__(self, speller: Speller | None = None, lock_timeout: float = LOCK_TIMEOUT) -> None:
        self._speller = speller
        self._timeout = lock_timeout

    def fold(self, name: str) -> str:
        return name.casefold()

    def normalize(self, wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
        return normalize(wanted, live, self._speller)

    def capability(self, change: Change, live: Table, wanted: Wanted) -> Capability:
        return table.capability(change, live, wanted)

    def steps(self, job: Job) -> tuple[Step, ...]:
        if job.live is None:
            return (create_step(job.target),)
        asked = tuple(expressions_in(job.projection))
        known = types_of(self._speller, asked, job.live.columns)
        if job.rung is Rung.REWRITE:
            return (recreate_step(job, known, self._timeout),)
        return native_steps(job, known, self._timeout)
