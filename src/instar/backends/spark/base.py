"""What the formats on Spark share: the name rule, running of statements, proofs, listing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from instar.backends.base import Backend, NotATable, RunContext
from instar.backends.spark.catalog import entries, in_schema
from instar.backends.spark.expressions import expression_findings
from instar.backends.spark.keys import UNTOUCHED, prove_keys
from instar.backends.spark.normalizing import Normalizer
from instar.backends.spark.prove import Prover
from instar.backends.spark.views import SparkViews
from instar.backends.sql import qualified
from instar.core.checks import Proof, ProofResult
from instar.core.findings import Finding
from instar.core.plan import Cost, Job, Step
from instar.core.schema import Table, TableName, Wanted
from instar.spark import SparkHandle

__all__ = ["SparkBackend", "SparkRules", "entries"]


_EVOLVED = ("delta", "iceberg", "parquet")


class SparkRules:
    """The pure half that every format starts from."""

    name = "spark"
    dialect = "spark"
    positions = True
    one_layout = False

    def fold(self, name: str) -> str:
        """Spark compares names without regard to case."""
        return name.casefold()


class CatalogRules(SparkRules):
    """`catalog` is the Spark catalog in which the tables live."""

    normalizer: ClassVar[type[Normalizer]]

    def __init__(self, catalog: str) -> None:
        self.catalog = catalog

    def normalize(self, wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
        work = self.normalizer(wanted, live, self.fold)
        kept = work.table()
        return kept, (*expression_findings(wanted), *work.findings)


class SparkBackend(Backend):
    """One format over a shared session; a subclass says what is there and runs its own steps."""

    provider = ""

    def __init__(self, handle: SparkHandle) -> None:
        self.handle = handle

    @property
    def catalog(self) -> str:
        return self.handle.delta_catalog

    def place(self, name: TableName) -> str:
        """The table's full name in SQL."""
        return qualified(name, backtick=True, catalog=self.catalog)

    def list_tables(self, schema: str) -> Sequence[TableName]:
        there = in_schema(self.handle, self.catalog, schema)
        return sorted(e.name for e in there if e.provider == self.provider and not e.is_view)

    def foreign(self, schema: str) -> Sequence[NotATable]:
        """Tables of another provider (CSV, JSON, Hive); they stand in the main catalog."""
        if self.catalog != self.handle.delta_catalog:
            return ()
        there = in_schema(self.handle, self.catalog, schema)
        others = (e for e in there if not e.is_view and e.provider not in _EVOLVED)
        return [NotATable(e.name, f"{e.provider or 'foreign'} table") for e in others]

    def measure(self, names: Sequence[TableName]) -> Mapping[TableName, Cost]:
        return {name: self.measured(name) for name in names}

    def measured(self, name: TableName) -> Cost:
        """Rows, as a count; formats that know bytes and files say them too."""
        row = self.handle.run(f"SELECT count(*) AS n FROM {self.place(name)}")[0]
        return Cost(rows=int(row["n"]))

    def prove(self, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        assert job.live is not None
        return Prover(self.handle, self.place(job.live.name)).prove(job, proofs)

    def run(self, step: Step, context: RunContext) -> None:
        """A step of plain statements, each with a failpoint on either side."""
        prove_keys(self.handle, step, self.place(step.after.name), UNTOUCHED)
        for number, statement in enumerate(step.sql, start=1):
            context.failpoint(f"{step.kind}:{number}:before")
            self.handle.sql(statement)
            context.failpoint(f"{step.kind}:{number}:after")

    def views(self) -> SparkViews:
        return SparkViews(self.handle, self.catalog)

    def interrupt(self) -> None:
        self.handle.interrupt()

    def close(self) -> None:
        self.handle.close()
