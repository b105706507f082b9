"""The DSQL test bed for the kill suite: every table has a key, and an index that must be there in the end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from apply.worlds import Case, Row
from backends.dsql.bed import ADMIN
from instar.backends.base import Backend
from instar.backends.registry import EngineSettings, open_engine
from instar.core.schema import Table, TableName
from kill.postgres_world import PostgresWorld

URL, INSIDE = "INSTAR_TEST_DSQL_URL", "INSTAR_TEST_DSQL_INSIDE"
_VALID = """SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s::regclass AND i.indisvalid AND NOT i.indisprimary"""


def adapted(case: Case) -> Case:
    """A table without a key is never copied there."""
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
            sql.execute(f"CREATE INDEX ASYNC by_id ON {table.name} (id)")
            while sql.execute("SELECT 1 FROM sys.jobs WHERE status <> 'completed'").fetchall():
                pass

    def rows(self, root: Path, table: TableName) -> list[dict[str, Any]]:
        import psycopg

        with psycopg.connect(self.place(root), autocommit=True) as sql:
            found = sql.execute(f"SELECT * FROM {table}")
            names = [d[0] for d in found.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
            if rows:
                assert sql.execute(_VALID, [str(table)]).fetchall() == [("by_id",)]
            return rows
