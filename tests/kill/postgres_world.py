"""PostgreSQL for the kill suite: a database for each folder, copied from that of the folder's original.

A table with a key is also looked at by a view and referred to by a child, in a schema beside.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apply.worlds import Row
from instar.backends.base import Backend
from instar.backends.registry import EngineSettings, open_engine
from instar.core.schema import Table, TableName

URL = "INSTAR_TEST_PG_URL"
_KEY = "SELECT 1 FROM pg_constraint WHERE contype = 'p' AND conrelid = %s::regclass"
_LINK = "SELECT convalidated FROM pg_constraint WHERE contype = 'f' AND confrelid = %s::regclass"


class PostgresWorld:
    url = URL

    def make(self, name: str, template: str) -> None:
        import psycopg

        with psycopg.connect(os.environ[URL], autocommit=True) as sql:
            sql.execute(f"CREATE DATABASE {name}" + (f" TEMPLATE {template}" if template else ""))

    def place(self, root: Path) -> str:
        """The folder's database, made when it is first asked for."""
        note = root / "database"
        name, place = note.read_text().split("\n") if note.exists() else ("", "")
        server = os.environ[self.url]
        if place != str(root):
            made = f"kill_{uuid.uuid4().hex[:12]}"
            self.make(made, name)
            note.write_text(f"{made}\n{root}")
            name = made
        return server.rsplit("/", 1)[0] + f"/{name}"

    def open(self, root: Path) -> Backend:
        options = {"url": self.place(root), "batch_rows": "2", "lock_timeout": "2"}
        settings = EngineSettings("postgres", "", root, options=options)
        return open_engine(settings, lambda _: None).backend("")

    def insert(self, root: Path, table: Table, rows: Sequence[Row]) -> None:
        import psycopg

        with psycopg.connect(self.place(root), autocommit=True) as sql:
            for row in rows:
                names = ", ".join(row)
                marks = ", ".join("%s" for _ in row)
                sql.execute(
                    f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(row.values())
                )
            if sql.execute(_KEY, [str(table.name)]).fetchall():
                sql.execute(
                    f"CREATE SCHEMA beside; CREATE VIEW beside.seen AS SELECT * FROM {table.name}; "
                    f"CREATE TABLE beside.child (id bigint REFERENCES {table.name}); "
                    f"INSERT INTO beside.child SELECT id FROM {table.name}"
                )

    def rows(self, root: Path, table: TableName) -> list[dict[str, Any]]:
        import psycopg

        with psycopg.connect(self.place(root), autocommit=True) as sql:
            if sql.execute("SELECT to_regclass('beside.child') IS NOT NULL").fetchall()[0][0]:
                assert sql.execute(_LINK, [str(table)]).fetchall() == [(True,)]
                seen = sql.execute("SELECT count(*) FROM beside.seen").fetchall()
                assert seen == sql.execute(f"SELECT count(*) FROM {table}").fetchall()
            found = sql.execute(f"SELECT * FROM {table}")
            names = [d[0] for d in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
