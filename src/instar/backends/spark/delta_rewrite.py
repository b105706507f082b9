"""The rewrite of a Delta table: one overwrite that reads itself, verified, undone if it is wrong.

The overwrite with a new schema keeps the table's id, its history, properties and CHECKs, and takes
comments, defaults and text limits from the frame's schema. It loses NOT NULL and clustering: the first is
held by a CHECK from before, the second is set again after. It reads the table inside its own transaction,
so another writer's commit makes it fail and start again, and no row is lost.
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import MappingProxyType

from instar.backends.spark import delta_sql as sql
from instar.backends.spark.checksum import checksum_select
from instar.backends.spark.delta_inspect import NATIVE
from instar.backends.spark.delta_script import Script
from instar.backends.spark.delta_tables import with_nullable
from instar.backends.spark.keys import key_data
from instar.backends.spark.mismatch import naming_data
from instar.backends.spark.schemas import schema_json
from instar.backends.spark.types import value_type
from instar.backends.spark.values import SparkValues
from instar.backends.sql import literal_spark, quote_backtick
from instar.backends.values import ValueWriter
from instar.core.plan import Job, Rung, Step, drop_question
from instar.core.projection import FieldCarry, from_old
from instar.core.schema import Table
from instar.core.types import Column, Path, Struct, path_text

VERSION = "{version}"
"""In the checksum queries of a step: where the version to read goes."""


def rewrite_steps(job: Job) -> tuple[Step, ...]:
    """CHECKs out of the way, one overwrite, and back what it does not keep."""
    script = _Rewrite(job)
    script.upgrade()
    script.unblock(script.paths.touched(), script.paths.moved())
    script.hold()
    script.rewrite()
    script.constrain()
    script.settle()
    return tuple(script.steps)


def shape(columns: tuple[Column, ...]) -> str:
    """Names and types of a table, as far as every reader of it sees them."""
    return value_type(Struct(columns))


class _Rewrite(Script):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.held: set[Path] = set()

    def hold(self) -> None:
        """NOT NULL of columns that stay: as a CHECK, so that it holds through the overwrite."""
        checked = set(self.required_checks())
        for path in sql.required_paths(self.target.columns):
            old = self.paths.old(path)
            if old != path or not self._required_live(path):
                continue
            self.held.add(path)
            if path in checked and NATIVE + path_text(path) not in self.live.extras:
                continue
            name = sql.not_null_name(path)
            statements = (
                sql.drop_check_sql(self.place, name),
                sql.add_check_sql(self.place, name, sql.not_null_sql(path)),
            )
            title = f"require {path_text(path)} by a CHECK"
            self.step("hold", title, statements, self.now, rung=Rung.STEPS, repeatable=True)

    def _required_live(self, path: Path) -> bool:
        column = self.now.column(path)
        return column is not None and not column.nullable

    def rewrite(self) -> None:
        job = self.job
        columns = ", ".join(self._selected(f) for f in job.projection)
        statement = f"SELECT {columns} FROM {self.place}"
        then = f"{statement} VERSION AS OF {VERSION}"
        lost = [path_text(p) for p, _ in self.paths.dropped]
        self.step(
            "rewrite",
            f"rewrite the table in one commit: {job.why}",
            statement,
            self._rewritten(),
            rung=Rung.REWRITE,
            destructive=bool(lost),
            confirm=drop_question(lost),
            data=MappingProxyType(
                {
                    "source": shape(self.live.columns),
                    "schema": json.dumps(schema_json(self.target.columns)),
                    "partition_by": json.dumps(self.target.partition_by),
                    "rows": then,
                    **self._checksums(),
                    **key_data(job),
                    **naming_data(job.projection, self.target),
                }
            ),
        )

    def _selected(self, field: FieldCarry) -> str:
        value = ValueWriter(SparkValues()).source(field, None)
        name = field.column.name
        if not field.column.nullable:
            words = literal_spark(f"instar: {name} is to be NOT NULL, but a row has NULL")
            value = f"COALESCE({value}, raise_error({words}))"
        return f"{value} AS {quote_backtick(name)}"

    def _rewritten(self) -> Table:
        table = replace(
            self.now,
            columns=self.target.columns,
            partition_by=self.target.partition_by,
            cluster_by=(),
        )
        for path in sql.required_paths(self.target.columns):
            if path not in self.held:
                table = with_nullable(table, path, nullable=True)
        return table

    def _checksums(self) -> dict[str, str]:
        """The same checksum over the old rows, brought forward, and over the new ones."""
        stay = [f for f in self.job.projection if from_old(f)]
        writer = ValueWriter(SparkValues())
        before = [(writer.source(f, None), f.column.type) for f in stay]
        after = [(quote_backtick(f.column.name), f.column.type) for f in stay]
        source = f"{self.place} VERSION AS OF {VERSION}"
        named = ", ".join(f"{value} AS c{n}" for n, (value, _) in enumerate(before)) or "1 AS c"
        types = [(f"c{n}", type_) for n, (_, type_) in enumerate(before)]
        old = f"SELECT {checksum_select(types)} FROM (SELECT {named} FROM {source})"
        return {"old": old, "new": f"SELECT {checksum_select(after)} FROM {source}"}
