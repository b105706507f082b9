"""Old tables that rewrites of Iceberg and Parquet tables keep: two renames put one back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from instar.backends.base import RunContext
from instar.backends.keeping import Copy, RenamingKeeper
from instar.backends.spark.aside import COPY_OF
from instar.backends.spark.base import SparkBackend
from instar.backends.spark.catalog import in_schema
from instar.backends.spark.iceberg_metadata import own_properties
from instar.backends.spark.statements import rename_table
from instar.backends.sql import quote_backtick
from instar.core.plan import Cost
from instar.core.schema import Table, TableName

if TYPE_CHECKING:
    from instar.backends.spark.iceberg import IcebergBackend
    from instar.backends.spark.parquet import ParquetBackend


class SparkKeeper(RenamingKeeper):
    """What both formats share."""

    _backend: SparkBackend

    def inspect(self, name: TableName) -> Table:
        found = self._backend.inspect([name])[name]
        assert isinstance(found, Table)
        return found

    def ask(self, sql: str) -> Sequence[Any]:
        return self._backend.handle.run(sql)

    def place(self, name: TableName) -> str:
        return self._backend.place(name)

    def quote(self, name: str) -> str:
        return quote_backtick(name)

    def rename_sql(self, old: TableName, new: TableName) -> str:
        return rename_table(self._backend.catalog, old, new)

    def rows(self, name: TableName) -> int:
        self._backend.handle.run(f"REFRESH TABLE {self.place(name)}")
        return super().rows(name)

    def counted(self, copy: Copy) -> Cost:
        rows = self.rows(copy.name)
        size = self._backend.measure([copy.name]).get(copy.name, Cost())
        return Cost(rows, size.bytes, size.files)

    def do(self, what: str, sql: str, context: RunContext) -> None:
        context.failpoint(what)
        self._backend.handle.run(sql)
        context.failpoint(f"{what}-done")

    def is_ours(self, new: TableName) -> bool:
        return COPY_OF in self.marks(new)

    def source_of(self, new: TableName, olds: Sequence[TableName]) -> TableName | None:
        """The copy says which table it was made from."""
        wish = self.marks(new).get(COPY_OF)
        return next((old for old in olds if self.identity(old) == wish), None)

    @abstractmethod
    def marks(self, name: TableName) -> dict[str, str]:
        """The properties that a copy carries about where it came from."""

    @abstractmethod
    def identity(self, name: TableName) -> str:
        """What tells this table from another one that had its name."""


class IcebergKeeper(SparkKeeper):
    """Dropping purges: the files of an old table belong to it alone."""

    def __init__(self, backend: IcebergBackend) -> None:
        self._backend: IcebergBackend = backend

    def own(self, schema: str) -> Sequence[str]:
        return sorted(n for n in self._backend.reader.tables(schema) if "__instar_" in n)

    def there(self, names: Sequence[TableName]) -> list[bool]:
        tables = set(self._backend.reader.tables(names[0].schema))
        return [name.name in tables for name in names]

    def drop_sql(self, name: TableName) -> str:
        return f"{super().drop_sql(name)} PURGE"

    def marks(self, name: TableName) -> dict[str, str]:
        return dict(own_properties(self._backend.reader.read([name])[name]))

    def identity(self, name: TableName) -> str:
        return str(self._backend.reader.read([name])[name]["table-uuid"])


class ParquetKeeper(SparkKeeper):
    """An old table that was created over files of somebody else is dropped without them."""

    def __init__(self, backend: ParquetBackend) -> None:
        self._backend: ParquetBackend = backend

    def own(self, schema: str) -> Sequence[str]:
        backend = self._backend
        found = in_schema(backend.handle, backend.catalog, schema, "*__instar_*")
        return sorted(e.name.name for e in found if e.provider == backend.provider)

    def there(self, names: Sequence[TableName]) -> list[bool]:
        return self._backend.exist(names)

    def marks(self, name: TableName) -> dict[str, str]:
        return self._backend.own_properties(name)

    def identity(self, name: TableName) -> str:
        return self._backend.entry(name).location
