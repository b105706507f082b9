"""The pure half of the Iceberg backend: what it keeps, can do, and how it is said in Spark SQL."""

from __future__ import annotations

from dataclasses import replace

from instar.backends.spark import iceberg_ddl as ddl
from instar.backends.spark.base import CatalogRules
from instar.backends.spark.iceberg_capability import capability
from instar.backends.spark.iceberg_native import Native
from instar.backends.spark.iceberg_normalize import IcebergNormalizer
from instar.backends.spark.iceberg_recreate import recreate_steps
from instar.backends.spark.statements import full_name
from instar.core.changes import Change
from instar.core.plan import Capability, Job, Rung, Step
from instar.core.schema import Table, Wanted
from instar.spark.conf import ICEBERG_CATALOG


class IcebergRules(CatalogRules):
    name = "iceberg"
    normalizer = IcebergNormalizer

    def __init__(self, catalog: str = ICEBERG_CATALOG) -> None:
        super().__init__(catalog)

    def capability(self, change: Change, live: Table, wanted: Wanted) -> Capability:
        return capability(change, live, wanted, self.fold)

    def steps(self, job: Job) -> tuple[Step, ...]:
        full = full_name(self.catalog, job.target.name)
        if job.live is None:
            return create_steps(self.catalog, job.target)
        if job.rung is Rung.REWRITE:
            return recreate_steps(self.catalog, job)
        return Native(job, full, self.fold).steps()


def create_steps(catalog: str, target: Table) -> tuple[Step, ...]:
    """The table first; its sort order and identifier fields cannot be said with it."""
    full = full_name(catalog, target.name)
    by_identifier = ddl.identifiable(target)
    after = replace(target, cluster_by=(), primary_key=() if by_identifier else target.primary_key)
    first = ddl.create_namespace(catalog, target.name.schema)
    sql = (first, ddl.create_table(full, target))
    steps = [Step("1-create", "create", Rung.METADATA, f"create {target.name}", sql, after)]
    if target.cluster_by:
        after = replace(after, cluster_by=target.cluster_by)
        title = f"sort files by ({', '.join(target.cluster_by)})"
        order = ddl.write_order(full, target)
        steps.append(Step("2-order", "order", Rung.METADATA, title, order, after, repeatable=True))
    if by_identifier:
        title = f"identify rows by ({', '.join(target.primary_key)})"
        key = (ddl.set_key(full, target),)
        number = len(steps) + 1
        steps.append(
            Step(f"{number}-key", "key", Rung.METADATA, title, key, target, repeatable=True)
        )
    return tuple(steps)
