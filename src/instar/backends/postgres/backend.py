"""PostgreSQL, connected: inspects, proves, and runs steps that a crash cannot leave half-done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

from instar.backends.base import Backend, NotATable, Outcome, RunContext, same_schema
from instar.backends.postgres import catalog
from instar.backends.postgres.allowed import denied
from instar.backends.postgres.fill import FILL, Fill, run_fill
from instar.backends.postgres.inspect import HELPER, read_tables
from instar.backends.postgres.keeper import PostgresKeeper
from instar.backends.postgres.names import POS, beside
from instar.backends.postgres.prove import prove
from instar.backends.postgres.recipe import RECIPE, Recipe
from instar.backends.postgres.recreate import Recreation, left_behind
from instar.backends.postgres.revert import REVERSION, Reversion, run_reversion
from instar.backends.postgres.rules import PostgresRules
from instar.backends.postgres.scratch import Scratch
from instar.backends.postgres.script import SCRIPT, Part, load, run_script
from instar.backends.postgres.session import Session
from instar.backends.sql import qualified
from instar.core.checks import Proof, ProofResult
from instar.core.findings import Finding
from instar.core.plan import Cost, Job, Step
from instar.core.schema import Table, TableName
from instar.errors import EngineError, InstarError

_ADVISORY = "SELECT pg_advisory_lock(hashtextextended(%s, 0))"
_RELEASE = "SELECT pg_advisory_unlock(hashtextextended(%s, 0))"


class PostgresBackend(Backend):
    """One session; its time zone is UTC and its search path empty."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._scratch = Scratch(session)
        self.rules = PostgresRules(self._scratch, session.patience.lock_timeout)

    def inspect(self, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
        return read_tables(self.session.ask, names) if names else {}

    def list_tables(self, schema: str) -> Sequence[TableName]:
        return sorted(name for name in self._names(schema) if HELPER not in name.name)

    def unfinished(self, names: Sequence[TableName]) -> frozenset[TableName]:
        """A recreation's position is there from its first transaction to its last."""
        marks = {beside(name, POS): name for name in names}
        if not marks:
            return frozenset()
        asked = [[m.schema for m in marks], [m.name for m in marks]]
        rows = self.session.ask(catalog.NAMED, asked)
        return frozenset(marks[TableName(row[1], row[2])] for row in rows)

    def keeper(self) -> PostgresKeeper:
        return PostgresKeeper(self)

    def _names(self, schema: str) -> list[TableName]:
        return [TableName(row[0], row[1]) for row in self.session.ask(catalog.LIST, [schema])]

    def measure(self, names: Sequence[TableName]) -> Mapping[TableName, Cost]:
        if not names:
            return {}
        rows = self.session.ask(catalog.SIZES, [[n.schema for n in names], [n.name for n in names]])
        return {n: Cost(self.rows_of(n, r[2]), r[3]) for r in rows for n in [TableName(r[0], r[1])]}

    def rows_of(self, name: TableName, believed: int) -> int | None:
        """What the engine believes; a count where it never looked: nobody is asked about a table of unknown size."""
        if believed >= 0:
            return believed
        with contextlib.suppress(EngineError), self.session.patient_transaction():
            return int(self.session.ask(f"SELECT count(*) FROM {qualified(name)}")[0][0])
        return None

    def denied(self, jobs: Sequence[Job]) -> Mapping[TableName, Sequence[Finding]]:
        return denied(self.session.ask, jobs)

    def prove(self, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        return prove(self.session.ask, self._scratch, job, proofs)

    def run(self, step: Step, context: RunContext) -> None:
        """A zombie of a killed client is waited for: it holds the table's advisory lock."""
        with self.alone(step.after.name):
            context.failpoint("begin")
            if RECIPE in step.data:
                self._recreate(step, context)
            elif FILL in step.data:
                self._fill(Fill.load(step.data[FILL]), context)
            elif REVERSION in step.data:
                run_reversion(self.session, Reversion.load(step.data[REVERSION]), context)
            else:
                text = step.data.get(SCRIPT)
                parts = load(text) if text else (Part(step.sql),)
                run_script(self.session, parts, context)
            context.failpoint("end")

    def _fill(self, fill: Fill, context: RunContext) -> None:
        run_fill(self.session, fill, context)

    def _recreate(self, step: Step, context: RunContext) -> None:
        recipe = Recipe.load(step.data[RECIPE])
        work = Recreation(self.session, recipe, context)
        # Where the indexes are does not depend on who builds them.
        self.session.execute("SET default_tablespace = ''")
        try:
            work.run() if recipe.key else work.run_locked()
        finally:
            with contextlib.suppress(InstarError):
                self.session.rollback()
                self.session.execute("RESET default_tablespace")

    @contextlib.contextmanager
    def alone(self, name: TableName) -> Iterator[None]:
        """No other run of Instar is at the table, whatever state store it has."""
        key = [f"instar {name}"]

        def take() -> None:
            timeout = round(self.session.patience.lock_timeout * 1000)
            self.session.execute(f"SET lock_timeout = '{timeout}ms'")
            try:
                self.session.ask(_ADVISORY, key)
            finally:
                self.session.execute("SET lock_timeout = 0")

        self.session.patiently(take)
        try:
            yield
        finally:
            with contextlib.suppress(InstarError):
                self.session.rollback()
                self.session.ask(_RELEASE, key)

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        """Steps of several transactions look at the catalog themselves: they may simply go on."""
        if RECIPE in step.data:
            unfinished = left_behind(self.session, Recipe.load(step.data[RECIPE]))
            return Outcome.DONE if "kept" in memo and not unfinished else Outcome.NOT_DONE
        if SCRIPT in step.data and len(load(step.data[SCRIPT])) > 1:
            live = self.inspect([step.after.name]).get(step.after.name)
            done = isinstance(live, Table) and same_schema(live, step.after)
            return Outcome.DONE if done else Outcome.NOT_DONE
        return super().outcome(step, before, memo)

    def interrupt(self) -> None:
        self.session.cancel()

    def close(self) -> None:
        self.session.close()
