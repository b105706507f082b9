"""Aurora DSQL, connected: PostgreSQL's backend where they are alike; steps made of small transactions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from instar.backends.base import NotATable, Outcome, RunContext, same_schema
from instar.backends.dsql import catalog
from instar.backends.dsql.fill import run_fill
from instar.backends.dsql.keeper import DsqlKeeper
from instar.backends.dsql.position import Position
from instar.backends.dsql.recipe import DsqlRecipe
from instar.backends.dsql.recreate import Recreation
from instar.backends.dsql.rules import DsqlRules
from instar.backends.dsql.scratch import DsqlScratch
from instar.backends.dsql.session import DsqlSession
from instar.backends.postgres.backend import PostgresBackend
from instar.backends.postgres.fill import Fill
from instar.backends.postgres.inspect import read_tables
from instar.backends.postgres.prove import prove
from instar.backends.postgres.recipe import RECIPE
from instar.backends.postgres.script import SCRIPT, load, parts_done
from instar.core.checks import Proof, ProofResult
from instar.core.findings import Finding
from instar.core.plan import Cost, Job, Step
from instar.core.schema import Table, TableName


class DsqlBackend(PostgresBackend):
    """One run at a time is the state store's lock to see to: the service has none."""

    session: DsqlSession

    def __init__(self, session: DsqlSession) -> None:
        self.session = session
        self._scratch = DsqlScratch(session)
        self.rules = DsqlRules(self._scratch)

    def inspect(self, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
        return read_tables(self.session.ask, names, catalog.READER) if names else {}

    def keeper(self) -> DsqlKeeper:
        return DsqlKeeper(self)

    def measure(self, names: Sequence[TableName]) -> Mapping[TableName, Cost]:
        if not names:
            return {}
        rows = self.session.ask(catalog.SIZES, [[n.schema for n in names], [n.name for n in names]])
        return {n: Cost(self.rows_of(n, r[2])) for r in rows for n in [TableName(r[0], r[1])]}

    def denied(self, jobs: Sequence[Job]) -> Mapping[TableName, Sequence[Finding]]:
        """Nobody has recorded that the service can be asked who may do what."""
        del jobs
        return {}

    def prove(self, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        return prove(self.session.ask, self._scratch, job, proofs, place="")

    @contextlib.contextmanager
    def alone(self, name: TableName) -> Iterator[None]:
        del name
        yield

    def _fill(self, fill: Fill, context: RunContext) -> None:
        run_fill(self.session, fill, context)

    def _recreate(self, step: Step, context: RunContext) -> None:
        Recreation(self.session, DsqlRecipe.load(step.data[RECIPE]), context).run()

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        """A step may always go on: its parts are counted, or the catalog tells them."""
        if RECIPE in step.data:
            unfinished = Position(self.session, step.after.name).there()
            return Outcome.DONE if "kept" in memo and not unfinished else Outcome.NOT_DONE
        if SCRIPT not in step.data:
            return super().outcome(step, before, memo)
        parts = load(step.data[SCRIPT])
        if all(part.once for part in parts):
            return Outcome.DONE if parts_done(parts, memo) == len(parts) else Outcome.NOT_DONE
        live = self.inspect([step.after.name]).get(step.after.name)
        done = isinstance(live, Table) and same_schema(live, step.after)
        return Outcome.DONE if done else Outcome.NOT_DONE
