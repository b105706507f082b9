"""The pure half of the Aurora DSQL backend; a cluster, where there is one, only spells expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from instar.backends.dsql import capability as table
from instar.backends.dsql.native import native_steps
from instar.backends.dsql.normalize import DsqlNormalizer
from instar.backends.dsql.recipe import recreate_step
from instar.backends.postgres.create import column_sql
from instar.backends.postgres.normalize import normalized
from instar.backends.postgres.rules import PostgresRules
from instar.backends.postgres.scratch import Speller, types_of
from instar.backends.postgres.script import SCRIPT, Part, dump, has_schema, has_table
from instar.backends.relational.create import create_step, schema_sql
from instar.backends.values import expressions_in
from instar.core.changes import Change
from instar.core.findings import Finding
from instar.core.plan import Capability, Job, Rung, Step
from instar.core.schema import Table, Wanted


class DsqlRules(PostgresRules):
    """PostgreSQL's words, another table of what is done how."""

    name = "dsql"

    def __init__(self, speller: Speller | None = None) -> None:
        super().__init__(speller)

    def normalize(self, wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
        return normalized(DsqlNormalizer(wanted, live, self._speller))

    def capability(self, change: Change, live: Table, wanted: Wanted) -> Capability:
        return table.capability(change, live, wanted)

    def steps(self, job: Job) -> tuple[Step, ...]:
        if job.live is None:
            return (_create(job.target),)
        asked = tuple(expressions_in(job.projection))
        known = types_of(self._speller, asked, job.live.columns)
        if job.rung is Rung.REWRITE:
            return (recreate_step(job, known),)
        return native_steps(job, known)


def _create(target: Table) -> Step:
    """The schema, the table and its comment, each a transaction of its own."""
    schema = target.name.schema
    made = () if schema == "public" else (schema_sql(schema),)
    step = create_step(target, column_sql, made)
    return replace(step, data={SCRIPT: dump(list(_parts(step)))})


def _parts(step: Step) -> Iterator[Part]:
    name = step.after.name
    there = {"CREATE SCHEMA": has_schema(name.schema), "CREATE TABLE ": has_table(name)}
    for sql in step.sql:
        yield Part((sql,), there.get(sql[:13], ""), once=True)
