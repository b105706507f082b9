"""Parquet tables in Spark's own catalog: inspected from the catalog, changed by ALTER, overlay or copy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from instar.backends.base import NotATable, Outcome, RunContext
from instar.backends.spark import parquet_ddl as ddl
from instar.backends.spark.aside import NEXT_OLD, aside_name, is_own, out_name
from instar.backends.spark.base import SparkBackend
from instar.backends.spark.catalog import entries
from instar.backends.spark.keepers import ParquetKeeper
from instar.backends.spark.parquet_capability import BUCKETS, EXISTS, EXTERNAL, NEVER_OVERLAY
from instar.backends.spark.parquet_files import FileReader
from instar.backends.spark.parquet_normalize import DECLARED, partitions_first, partitions_last
from instar.backends.spark.parquet_recreate import REFUSED
from instar.backends.spark.parquet_rewrite import Rewrite, refuse
from instar.backends.spark.parquet_rules import ParquetRules
from instar.backends.spark.types import columns_from_json
from instar.backends.sql import literal_spark, quote_backtick
from instar.core.capabilities import Rules
from instar.core.checks import Proof, ProofResult
from instar.core.plan import Cost, Job, Step
from instar.core.schema import Table, TableName
from instar.core.types import Column
from instar.spark import SparkHandle

_REWRITE = ("overlay", "copy", "swap")
_REFRESH = "refresh"
_LAST = 2
"""The statements of a refresh that follow when the old table has given up its name."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table's files lie, and whether they outlive its definition."""

    location: str
    is_external: bool


class ParquetBackend(SparkBackend):
    """Tables of the handle's main catalog whose provider is Parquet."""

    provider = "parquet"

    def __init__(self, handle: SparkHandle) -> None:
        super().__init__(handle)
        self.rules: Rules = ParquetRules(self.catalog)
        self.files = FileReader(handle)

    def inspect(self, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
        """One statement a schema, then two questions a table that no job answers: the catalog does."""
        found: dict[TableName, Table | NotATable] = {}
        olds: dict[str, set[str]] = {}
        for name, entry in entries(self.handle, self.catalog, names).items():
            if entry.is_view or entry.provider != self.provider:
                kind = "view" if entry.is_view else f"{entry.provider or 'foreign'} table"
                found[name] = NotATable(name, kind)
                continue
            if name.schema not in olds:
                olds[name.schema] = self._named(name.schema, "*__instar_old_*")
            found[name] = self._table(name, _next_old(name.name, olds[name.schema]))
        return found

    def list_tables(self, schema: str) -> Sequence[TableName]:
        return [name for name in super().list_tables(schema) if not is_own(name.name)]

    def shown(self, table: Table) -> Table:
        """Partition columns stand last where nobody said how the table was declared."""
        if table.extras.get(DECLARED) == "yes":
            return table
        return replace(table, columns=partitions_last(table.columns, table.partition_by))

    def keeper(self) -> ParquetKeeper:
        return ParquetKeeper(self)

    def measured(self, name: TableName) -> Cost:
        self.handle.run(f"REFRESH TABLE {self.place(name)}")
        rows = super().measured(name).rows
        files = self.files.listed(self.entry(name).location)
        return Cost(rows, sum(f.size for f in files), len(files))

    def prove(self, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        assert job.live is not None
        # Files that another session wrote are not seen before.
        self.handle.run(f"REFRESH TABLE {self.place(job.live.name)}")
        return super().prove(job, proofs)

    def run(self, step: Step, context: RunContext) -> None:
        if step.kind in _REWRITE:
            Rewrite(self, step, context).run()
        elif step.kind == "create":
            self._create(step, context)
        elif step.kind == "add":
            self._add(step, context)
        elif step.kind == _REFRESH and self._half_renamed(step.after.name):
            super().run(replace(step, sql=step.sql[-_LAST:]), context)
        else:
            super().run(step, context)

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        if step.kind in _REWRITE:
            return Rewrite.outcome(self, step)
        if step.kind == _REFRESH and self._half_renamed(step.after.name):
            return Outcome.NOT_DONE
        return super().outcome(step, before, memo)

    def _half_renamed(self, name: TableName) -> bool:
        """A refresh was cut off between its renames: the name is gone, the new table is built."""
        return self.exist([name, aside_name(name), out_name(name)]) == [False, True, True]

    # --- what a rewrite asks ---

    def exist(self, names: Sequence[TableName]) -> list[bool]:
        """Whether there is anything under these names, all of one schema."""
        there = self._named(names[0].schema, "|".join(n.name for n in names))
        return [name.name.lower() in there for name in names]

    def own_properties(self, name: TableName) -> dict[str, str]:
        said: dict[str, str] = self._described(name).get("table_properties", {})
        return {k: v for k, v in said.items() if k.startswith(ddl.OWN)}

    def entry(self, name: TableName) -> Place:
        said = self._described(name)
        return Place(str(said["location"]), said["type"] == "EXTERNAL")

    # --- inside ---

    def _create(self, step: Step, context: RunContext) -> None:
        """In a folder without files: what a dropped table left there would be read as rows."""
        schema = step.after.name.schema
        context.failpoint("create:schema")
        self.handle.run(ddl.create_schema(self.catalog, schema))
        place = f"{quote_backtick(self.catalog)}.{quote_backtick(schema)}"
        said = {r[0]: r[1] for r in self.handle.run(f"DESCRIBE SCHEMA EXTENDED {place}")}
        folder, number = step.data["folder"], 1
        while self.files.listed(f"{said['Location'].rstrip('/')}/{folder}"):
            number += 1
            folder = f"{step.data['folder']}__{number}"
        made = ddl.Definition(step.data["head"], step.data["tail"])
        context.failpoint("create:statement")
        self.handle.run(made.at(f"{said['Location'].rstrip('/')}/{folder}"))
        context.failpoint("create:stated")

    def _named(self, schema: str, pattern: str) -> set[str]:
        place = f"{quote_backtick(self.catalog)}.{quote_backtick(schema)}"
        rows = self.handle.run(f"SHOW TABLES IN {place} LIKE {literal_spark(pattern)}")
        return {row["tableName"].lower() for row in rows if not row["isTemporary"]}

    def _add(self, step: Step, context: RunContext) -> None:
        """A name that files already hold would bring back what was under it once."""
        names = json.loads(step.data["new"])
        location = self.entry(step.after.name).location
        for schema in self.files.schemas(location, self.files.listed(location)):
            held = {c.name.casefold() for c in schema}
            if found := next((n for n in names if n.casefold() in held), None):
                refuse(self, step.after.name, f"files already hold another '{found}'", context)
        super().run(step, context)

    def _table(self, name: TableName, next_old: int) -> Table:
        said = self._described(name)
        schema = json.loads(self.handle.schema(self.place(name)))
        columns = columns_from_json(schema)
        properties: dict[str, str] = said.get("table_properties", {})
        partitions = tuple(said.get("partition_columns", ()))
        declared = json.loads(properties.get(ddl.COLUMNS, "[]"))
        exists = [f["name"] for f in schema["fields"] if "EXISTS_DEFAULT" in f["metadata"]]
        extras = {
            "location": str(said["location"]),
            EXTERNAL: "yes" if said["type"] == "EXTERNAL" else "no",
            EXISTS: ", ".join(exists),
            NEVER_OVERLAY: properties.get(REFUSED, ""),
            NEXT_OLD: str(next_old),
            DECLARED: "yes" if declared or not partitions else "no",
            BUCKETS: _buckets(said),
        }
        return Table(
            name,
            _in_order(columns, partitions, declared),
            self.provider,
            primary_key=tuple(json.loads(properties.get(ddl.PRIMARY_KEY, "[]"))),
            partition_by=partitions,
            properties=MappingProxyType(
                {k: v for k, v in properties.items() if not k.startswith(ddl.OWN)}
            ),
            change_tracking=None,
            comment=said.get("comment"),
            extras=MappingProxyType(extras),
        )

    def _described(self, name: TableName) -> dict[str, Any]:
        row = self.handle.run(f"DESCRIBE EXTENDED {self.place(name)} AS JSON")[0]
        said: dict[str, Any] = json.loads(row[0])
        return said


def _buckets(said: Mapping[str, Any]) -> str:
    columns = said.get("bucket_columns") or ()
    return f"{', '.join(columns)} into {said.get('num_buckets')}" if columns else ""


def _in_order(
    columns: tuple[Column, ...], partitions: tuple[str, ...], declared: list[str]
) -> tuple[Column, ...]:
    if not declared:
        return partitions_first(columns, partitions, str.casefold)
    place = {name: at for at, name in enumerate(declared)}
    return tuple(sorted(columns, key=lambda c: place.get(c.name, len(place))))


def _next_old(name: str, tables: set[str]) -> int:
    number = 1
    while f"{name.lower()}__instar_old_{number}" in tables:
        number += 1
    return number
