"""PostgreSQL for the kill suite: a database for each folder, copied from that of the folder's original.

A table whose key is `id` is also looked at by a view and referred to by a child, in a schema beside.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from apply.worlds import Row
from instar.backends.base import Backend
from instar.backends.keeping import Copy
from instar.backends.registry import EngineSettings, open_engine
from instar.core.schema import Table, TableName
from kill.catalog import POSTGRES, Picture, Words, picture

URL = "INSTAR_TEST_PG_URL"
OTHERWISE = frozenset({"nested", "nested in an array"})
"""Structs are kept as jsonb there: nothing happens to their rows."""
_COLUMNS = """SELECT attname, format_type(atttypid, atttypmod), NOT attnotnull, pg_get_expr(adbin, adrelid)
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = %(table)s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
_CONSTRAINTS = """SELECT CASE contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' ELSE 'CHECK' END,
(SELECT array_agg(attname::text ORDER BY n) FROM unnest(conkey) WITH ORDINALITY AS k(num, n)
  JOIN pg_attribute ON attrelid = conrelid AND attnum = num)
FROM pg_constraint WHERE conrelid = %(table)s::regclass AND contype IN ('p', 'u', 'c')"""
_HANGING = """SELECT 'constraint', conname::text, convalidated FROM pg_constraint
  WHERE conrelid = %(table)s::regclass AND contype IN ('p', 'u', 'c', 'n')
UNION ALL SELECT 'refers to it', conname, convalidated FROM pg_constraint
  WHERE confrelid = %(table)s::regclass
UNION ALL SELECT 'index', relname, indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid
  WHERE indrelid = %(table)s::regclass
UNION ALL SELECT 'trigger', tgname, true FROM pg_trigger
  WHERE tgrelid = %(table)s::regclass AND NOT tgisinternal
ORDER BY 1, 2"""


class PostgresWorld:
    url = URL
    words: ClassVar[Words] = POSTGRES

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

    def catalog(self, root: Path) -> str:
        """Where the catalog is read."""
        return self.place(root)

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
            if table.primary_key == ("id",):
                sql.execute(
                    f"CREATE SCHEMA beside; CREATE VIEW beside.seen AS SELECT * FROM {table.name}; "
                    f"CREATE TABLE beside.child (id bigint REFERENCES {table.name}); "
                    f"INSERT INTO beside.child SELECT id FROM {table.name}"
                )

    def rows(self, root: Path, copy: Copy) -> list[dict[str, Any]]:
        import psycopg

        with psycopg.connect(self.place(root), autocommit=True) as sql:
            found = sql.execute(f"SELECT * FROM {copy.name}")
            names = [d[0] for d in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def picture(self, root: Path, table: TableName) -> Picture:
        """And what hangs on the table, by the names of its indexes, foreign keys and views."""
        import psycopg

        with psycopg.connect(self.catalog(root), autocommit=True) as sql:
            columns, constraints, hanging = (
                sql.execute(question, {"table": str(table)}).fetchall()
                for question in (_COLUMNS, _CONSTRAINTS, _HANGING)
            )
            if sql.execute("SELECT to_regclass('beside.seen') IS NOT NULL").fetchall()[0][0]:
                seen = sql.execute("SELECT count(*) FROM beside.seen").fetchall()
                assert seen == sql.execute(f"SELECT count(*) FROM {table}").fetchall()
        return picture(columns, constraints, hanging=hanging)

    def tables(self, root: Path, schema: str) -> list[str]:
        import psycopg

        asked = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1"
        with psycopg.connect(self.catalog(root), autocommit=True) as sql:
            return [name for (name,) in sql.execute(asked, [schema]).fetchall()]
