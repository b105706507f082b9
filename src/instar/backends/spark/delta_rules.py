"""The pure half of Delta: what it keeps, what it can do to a table, and how it is said."""

from __future__ import annotations

from instar.backends.spark.base import SparkRules
from instar.backends.spark.delta_capability import Judge
from instar.backends.spark.delta_normalize import normalize_delta
from instar.backends.spark.delta_rewrite import rewrite_steps
from instar.backends.spark.delta_script import native_steps, place_of
from instar.backends.spark.delta_sql import create_sql
from instar.backends.sql import quote_backtick
from instar.core.changes import Change
from instar.core.findings import Finding
from instar.core.plan import Capability, Job, Rung, Step
from instar.core.schema import Table, Wanted
from instar.spark.conf import DELTA_CATALOG


class DeltaRules(SparkRules):
    """Delta 4.4 on Spark 4.1."""

    name = "delta"
    one_layout = True

    def normalize(self, wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
        return normalize_delta(wanted, live)

    def capability(self, change: Change, live: Table, wanted: Wanted) -> Capability:
        return Judge(live, wanted).capability(change)

    def steps(self, job: Job) -> tuple[Step, ...]:
        if job.live is None:
            return (_create(job.target),)
        if job.rung is Rung.REWRITE:
            return rewrite_steps(job)
        return native_steps(job)


def _create(table: Table) -> Step:
    schema = f"{quote_backtick(DELTA_CATALOG)}.{quote_backtick(table.name.schema)}"
    statements = (
        f"CREATE SCHEMA IF NOT EXISTS {schema}",
        create_sql(place_of(table), table),
    )
    title = f"create table {table.name}"
    return Step("1-create", "create", Rung.METADATA, title, statements, table)
