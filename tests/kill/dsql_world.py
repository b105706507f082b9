"""The DSQL test bed for the kill suite: every table has a key, and an index that must be there in the end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from apply.worlds import Case, Row
from backends.dsql.bed import ADMIN
from instar.backends.base import Backend
from instar.backends.registry import EngineSettings, open_engine
from instar.core.schema import Table, TableName
from kill.catalog import Picture
from kill.postgres_world import PostgresWorld

OTHERWISE = frozenset({"nested", "nested in an array", "key", "rewrite with _using"})
"""Structs are kept as jsonb: nothing happens to their rows; a table of this suite has its key already; the
service knows the letters of the C locale alone, in which ü has no upper case."""
URL, INSIDE = "INSTAR_TEST_DSQL_URL", "INSTAR_TEST_DSQL_INSIDE"


def adapted(case: Case) -> Case:
    """A table without a key is never copied there."""
    if case.start and case.start.primary_key:
        return case
    start = case.start and replace(case.start, primary_key=("id",))
    wish = replace(case.wish, table=replace(case.wish.table, primary_key=("id",)))
    return replace(case, start=start, wish=wish)


class DsqlWorld(PostgresWorld):
    url = URL

    def make(self, name: str, template: str) -> None:
        import psycopg

        with psycopg.connect(os.environ[INSIDE], autocommit=True) as service:
            service.execute(f"CREATE DATABASE {name} TEMPLATE {template or 'postgres'}")
            service.execute(f"GRANT ALL ON DATABASE {name} TO {ADMIN}")

    def catalog(self, root: Path) -> str:
        """Inside: the service itself does not show it all."""
        database = self.place(root).rsplit("/", 1)[1]
        return os.environ[INSIDE].rsplit("/", 1)[0] + f"/{database}"

    def open(self, root: Path) -> Backend:
        options = {"url": self.place(root), "batch_rows": "2"}
        settings = EngineSettings("dsql", "", root, options=options)
        return open_engine(settings, lambda _: None).backend("")

    def insert(self, root: Path, table: Table, rows: Sequence[Row]) -> None:
        import psycopg

        with psycopg.connect(self.place(root), autocommit=True) as sql:
            for row in rows:
                names, marks = ", ".join(row), ", ".join("%s" for _ in row)
                sql.execute(
                    f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(row.values())
                )
            (root / "filled").touch()
            sql.execute(f"CREATE INDEX ASYNC by_id ON {table.name} (id)")
            while sql.execute("SELECT 1 FROM sys.jobs WHERE status <> 'completed'").fetchall():
                pass

    def picture(self, root: Path, table: TableName) -> Picture:
        found = super().picture(root, table)
        if found["hanging"] and (root / "filled").exists():
            assert ("index", "by_id", True) in found["hanging"]
        return found
