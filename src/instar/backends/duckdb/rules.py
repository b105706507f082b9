"""The pure half of the DuckDB backend."""

from __future__ import annotations

from collections.abc import Callable

from instar.backends.duckdb import capability as table
from instar.backends.duckdb import folding
from instar.backends.duckdb.create import create_step
from instar.backends.duckdb.native import native_step
from instar.backends.duckdb.normalize import Binder, normalize
from instar.backends.duckdb.rewrite import rewrite_step
from instar.core.changes import Change
from instar.core.findings import Finding
from instar.core.plan import Capability, Job, Rung, Step
from instar.core.schema import Table, Wanted


class DuckDBRules:
    """Expressions are spelled by the engine's parser alone; a connected backend is asked what it binds."""

    name = "duckdb"
    dialect = "duckdb"
    positions = False
    one_layout = False

    def __init__(
        self, binder: Binder | None = None, too_old: Callable[[], str | None] = lambda: None
    ) -> None:
        self._binder, self._too_old = binder, too_old

    def fold(self, name: str) -> str:
        return folding.fold(name)

    def normalize(self, wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
        return normalize(wanted, live, self._binder, self._too_old)

    def capability(self, change: Change, live: Table, wanted: Wanted) -> Capability:
        return table.capability(change, live, wanted)

    def steps(self, job: Job) -> tuple[Step, ...]:
        if job.live is None:
            return (create_step(job.target),)
        if job.rung is Rung.REWRITE:
            return (rewrite_step(job),)
        return (native_step(job),)
