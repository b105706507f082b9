"""Old tables that DuckDB's rewrites keep: one transaction of renames puts one back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from instar.backends.base import Backend
from instar.backends.duckdb.facts import facts_of
from instar.backends.duckdb.folding import fold_sql
from instar.backends.keeping import Copy
from instar.backends.relational.keeper import TransactionalKeeper
from instar.backends.sql import qualified
from instar.core.plan import Cost
from instar.core.schema import Constraint, Table, TableName
from instar.errors import EngineError

Ask = Callable[..., list[tuple[Any, ...]]]

_OWN = f"""SELECT table_name FROM duckdb_tables() WHERE NOT internal AND NOT temporary
AND database_name = current_database() AND {fold_sql("schema_name")} = {fold_sql("?")}
AND contains(table_name, '__instar_') ORDER BY table_name"""
_BLOCKS = """SELECT count(DISTINCT block_id) * (SELECT block_size FROM pragma_database_size()
WHERE database_name = current_database()) FROM pragma_storage_info(?) WHERE block_id >= 0"""


class DuckDBKeeper(TransactionalKeeper):
    def __init__(self, backend: Backend, ask: Ask) -> None:
        self._backend, self._ask = backend, ask

    def own(self, schema: str) -> Sequence[str]:
        return [str(row[0]) for row in self._ask(_OWN, schema)]

    def ask(self, sql: str) -> Sequence[Any]:
        return self._ask(sql)

    def counted(self, copy: Copy) -> Cost:
        return Cost(rows=self.rows(copy.name), bytes=self._size(copy.name))

    def _size(self, name: TableName) -> int | None:
        """None where DuckDB cannot say: its pragma reads names by rules that know no quote in them."""
        if '"' in name.schema + name.name:
            return None
        try:
            return self._ask(_BLOCKS, qualified(name))[0][0] or None
        except EngineError:
            return None

    def revert_sql(self, copy: Copy, live: Table, old: Table, aside: TableName) -> Sequence[str]:
        """An index forbids the rename of its table: they move to the old one, where it has the columns."""
        facts = facts_of(live)
        names = tuple(c.name for c in old.columns)
        return [
            *facts.drop_indexes(live.name),
            *super().revert_sql(copy, live, old, aside),
            *(
                sql
                for i in facts.indexes
                if i.expressions is not None and set(i.columns) <= set(names)
                for sql in i.again(copy.table, names, {})
            ),
        ]

    def promised(self, old: Table, name: TableName) -> Table:
        """DuckDB makes up names of constraints from the table's."""
        renamed = tuple(_renamed(c, old.name.name, name.name) for c in old.constraints)
        return replace(old, name=name, constraints=renamed)


def _renamed(constraint: Constraint, old: str, new: str) -> Constraint:
    if not constraint.name.startswith(f"{old}_"):
        return constraint
    return replace(constraint, name=new + constraint.name[len(old) :])
