"""A project and its engine, looked at apart from Instar: everything that a command could have touched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import duckdb
import psycopg

PROJECT = "name: shop\nversion: 1\ndefault_env: dev\nenvironments:\n"


class World(Protocol):
    """One engine with nothing in it."""

    engine: str
    root: Path

    def project(self) -> str:
        """The instar.yml that fits."""
        ...

    def sql(self, text: str) -> None: ...

    def picture(self) -> object:
        """Every object, every row."""
        ...

    @contextmanager
    def held(self, text: str) -> Iterator[None]:
        """Somebody else's transaction, open."""
        ...


def files(root: Path) -> dict[str, bytes]:
    """The project's own files; what Instar keeps for itself is in .instar."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.suffix != ".duckdb" and ".instar" not in path.parts
    }


@dataclass
class DuckDBWorld:
    root: Path
    engine: str = "duckdb"

    @property
    def file(self) -> Path:
        return self.root / "dev.duckdb"

    def project(self) -> str:
        return PROJECT + "  dev: {type: duckdb, database: dev.duckdb, schema: main}\n"

    def sql(self, text: str) -> None:
        with duckdb.connect(str(self.file)) as connection:
            connection.execute(text)

    def picture(self) -> object:
        if not self.file.exists():
            return None
        with duckdb.connect(str(self.file)) as db:
            made = db.execute(
                "SELECT table_name, sql FROM duckdb_tables() UNION ALL"
                " SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
            ).fetchall()
            names = db.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
            rows = {n: db.execute(f'FROM "{n}" ORDER BY ALL').fetchall() for (n,) in names}
            return made, rows

    @contextmanager
    def held(self, text: str) -> Iterator[None]:
        with duckdb.connect(str(self.file)) as connection:
            connection.execute(f"BEGIN; {text}")
            yield


_CATALOG = """SELECT c.relname, c.relkind, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
  pg_get_expr(d.adbin, d.adrelid), c.oid
FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = %s::regnamespace ORDER BY 1, a.attnum"""
_CONSTRAINTS = """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated
FROM pg_constraint WHERE connamespace = %s::regnamespace ORDER BY 1, 2"""
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1"


@dataclass
class PostgresWorld:
    root: Path
    url: str
    schema: str = "main"
    engine: str = "postgres"

    def project(self) -> str:
        return PROJECT + (
            f'  dev: {{type: postgres, url: "${{DATABASE_URL}}", schema: {self.schema},'
            " lock_timeout: 1, lock_attempts: 1}\n"
        )

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"SET search_path = {self.schema}")
            yield connection

    def sql(self, text: str) -> None:
        with self.connected() as connection:
            connection.execute(text.encode())

    def picture(self) -> object:
        with self.connected() as db:
            names = [str(n) for (n,) in db.execute(_TABLES, [self.schema])]
            rows = {n: sorted(map(repr, db.execute(f'TABLE "{n}"'.encode()))) for n in names}
            catalog = db.execute(_CATALOG, [self.schema]).fetchall()
            return catalog, db.execute(_CONSTRAINTS, [self.schema]).fetchall(), rows

    @contextmanager
    def held(self, text: str) -> Iterator[None]:
        with self.connected() as connection, connection.transaction():
            connection.execute(text.encode())
            yield
