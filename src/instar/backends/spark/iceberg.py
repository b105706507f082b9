"""Iceberg tables through Spark: inspected from their metadata files, changed by SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

from instar.backends.base import NotATable, Outcome, RunContext
from instar.backends.spark.aside import NEXT_OLD, is_own
from instar.backends.spark.base import SparkBackend
from instar.backends.spark.iceberg_capability import FOLDERS
from instar.backends.spark.iceberg_metadata import table_from_metadata
from instar.backends.spark.iceberg_reader import MetadataReader, by_schema
from instar.backends.spark.iceberg_rewrite import Rewrite
from instar.backends.spark.iceberg_rules import IcebergRules
from instar.backends.spark.keepers import IcebergKeeper
from instar.core.capabilities import Rules
from instar.core.checks import Proof, ProofResult
from instar.core.plan import Cost, Job, Step
from instar.core.schema import Table, TableName
from instar.spark import SparkHandle

_REWRITE = ("copy", "swap")
_HADOOP = ".HadoopCatalog"


class IcebergBackend(SparkBackend):
    """Tables of the handle's Iceberg catalog."""

    provider = "iceberg"

    def __init__(self, handle: SparkHandle) -> None:
        super().__init__(handle)
        self.rules: Rules = IcebergRules(self.catalog)
        self.reader = MetadataReader(handle, self.catalog)

    @property
    def catalog(self) -> str:
        return self.handle.iceberg_catalog

    def inspect(self, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
        found: dict[TableName, Table | NotATable] = {}
        there: list[TableName] = []
        numbers: dict[TableName, str] = {}
        for schema, wanted in by_schema(names).items():
            tables = set(self.reader.tables(schema))
            there += [n for n in wanted if n.name in tables]
            if rest := [n for n in wanted if n.name not in tables]:
                views = set(self.reader.views(schema))
                found |= {n: NotATable(n, "view") for n in rest if n.name in views}
            numbers |= {n: str(_next_old(n.name, tables)) for n in wanted}
        for name, metadata in self.reader.read(there).items():
            table = table_from_metadata(name, metadata)
            said = {NEXT_OLD: numbers[name], **self._kind}
            extras = MappingProxyType({**table.extras, **said})
            found[name] = replace(table, extras=extras)
        return found

    @cached_property
    def _kind(self) -> dict[str, str]:
        """Whether the catalog is one of folders, which have no names to change."""
        place = f"spark.sql.catalog.{self.catalog}"
        with self.handle.errors():
            conf = self.handle.session.conf
            said = [conf.get(f"{place}.{key}", None) or "" for key in ("type", "catalog-impl")]
        return {FOLDERS: "yes"} if said[0] == "hadoop" or said[1].endswith(_HADOOP) else {}

    def list_tables(self, schema: str) -> Sequence[TableName]:
        names = (n for n in self.reader.tables(schema) if not is_own(n))
        return sorted(TableName(schema, n) for n in names)

    def keeper(self) -> IcebergKeeper:
        return IcebergKeeper(self)

    def measure(self, names: Sequence[TableName]) -> Mapping[TableName, Cost]:
        return {n: _cost(t) for n, t in self.inspect(names).items() if isinstance(t, Table)}

    def prove(self, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        assert job.live is not None, "a table that is not there has no rows to prove"
        self.handle.run(f"REFRESH TABLE {self.place(job.live.name)}")
        return super().prove(job, proofs)

    def run(self, step: Step, context: RunContext) -> None:
        if step.kind in _REWRITE:
            Rewrite(self, step, context).run()
            return
        super().run(step, context)

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        if step.kind in _REWRITE:
            return Rewrite.outcome(self, step)
        return super().outcome(step, before, memo)


def _next_old(name: str, tables: set[str]) -> int:
    number = 1
    while f"{name}__instar_old_{number}" in tables:
        number += 1
    return number


def _cost(table: Table) -> Cost:
    def number(key: str) -> int | None:
        text = table.extras.get(key)
        return int(text) if text else None

    return Cost(number("rows"), number("bytes"), number("files"))
