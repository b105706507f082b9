"""Asks Aurora DSQL how it spells expressions, and whether an index could have other types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from instar.backends.postgres.indexes import index_parts
from instar.backends.postgres.scratch import NotTaken, Scratch
from instar.backends.postgres.types import type_sql
from instar.core.schema import Table
from instar.core.types import Boolean, Column, Type


class DsqlScratch(Scratch):
    """There are no temporary tables: a plain one, whose transaction is rolled back all the same."""

    kind: ClassVar[str] = "TABLE"
    table: ClassVar[str] = "public.__instar_scratch"

    def _try(self, make: str, read: str) -> str | None:
        return self._session.patiently(lambda: super(DsqlScratch, self)._try(make, read))

    def of_a_row(self, sql: str, columns: Sequence[Column]) -> None:
        """Not asked: what its CHECK takes is less than what a query may compute."""
        del sql, columns

    def index(self, body: str, table: Table, types: Mapping[str, Type]) -> None:
        """One DDL a transaction: no index can be tried, but a key over the same types comes with its table."""
        columns = tuple(replace(c, type=types.get(c.name, c.type)) for c in table.columns)
        elements, condition = index_parts(body)
        if condition and self.type_of(condition, columns) not in (Boolean(), None):
            raise NotTaken("its condition would no longer be one")
        found = [self.type_of(element, columns) for element in elements]
        sorts = [type_sql(type_) for type_ in found if type_ is not None]
        names = [f"c{n}" for n in range(1, len(sorts) + 1)]
        if names:
            made = ", ".join(f"{n} {t}" for n, t in zip(names, sorts, strict=True))
            key = f"UNIQUE ({', '.join(names)})"
            self._try(f"CREATE {self.kind} {self.table} ({made}, {key})", "SELECT NULL")
