"""One schema of the DSQL test bed for tests."""

from __future__ import annotations

from backends.dsql.bed import DsqlBed
from backends.postgres.world import SchemaWorld
from instar.backends.dsql.backend import DsqlBackend
from instar.backends.dsql.session import DsqlSession
from instar.backends.postgres.session import Patience

QUICK = Patience(attempts=5, batch=100)


class World(SchemaWorld):
    """A client of the service, under the same limits."""

    backend: DsqlBackend

    def __init__(self, bed: DsqlBed, patience: Patience = QUICK) -> None:
        super().__init__(bed.url())
        self.bed = bed
        self.backend = DsqlBackend(DsqlSession(lambda: bed.url(), patience))

    def job(self, text: str) -> None:
        """A statement that starts a job, and the end of it."""
        self.backend.session.outside(text.format(schema=self.schema))

    def relations(self) -> list[str]:
        """The tables of the schema."""
        found = self.sql(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = "
            f"'{self.schema}'::regnamespace ORDER BY 1"
        )
        return [str(row[0]) for row in found]

    def indexes(self, table: str = "t") -> list[str]:
        found = self.sql(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
            "WHERE i.indrelid = %s::regclass AND i.indisvalid ORDER BY 1",
            [f"{self.schema}.{table}"],
        )
        return [str(row[0]) for row in found]
