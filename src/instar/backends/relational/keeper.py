"""Old tables that rewrites keep, on engines whose renames are part of a transaction."""

from __future__ import annotations

from collections.abc import Sequence

from instar.backends.base import Backend, RunContext
from instar.backends.keeping import TableKeeper, comparable
from instar.backends.sql import qualified, quote_double
from instar.core.plan import Step
from instar.core.schema import Table, TableName
from instar.core.types import Column


class TransactionalKeeper(TableKeeper):
    """The backend runs the statements of a plain step in one transaction."""

    _backend: Backend

    def there(self, names: Sequence[TableName]) -> list[bool]:
        found = self._backend.inspect(names)
        return [name in found for name in names]

    def inspect(self, name: TableName) -> Table:
        found = self._backend.inspect([name])[name]
        assert isinstance(found, Table)
        return found

    def place(self, name: TableName) -> str:
        return qualified(name)

    def quote(self, name: str) -> str:
        return quote_double(name)

    def compared(self, column: Column) -> str | None:
        """Not every type has an equality (json), and some have one that sees too little: their text tells."""
        quoted = self.quote(column.name)
        return quoted if comparable(column.type) else f"CAST({quoted} AS VARCHAR)"

    def rename_sql(self, old: TableName, new: TableName) -> str:
        return f"ALTER TABLE {qualified(old)} RENAME TO {quote_double(new.name)}"

    def execute(self, step: Step, sql: Sequence[str], context: RunContext) -> None:
        assert tuple(sql) == step.sql
        self._backend.run(step, context)
