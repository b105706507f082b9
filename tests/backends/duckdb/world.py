"""One DuckDB database for tests."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest

from backends.world import INT, TEXT, TableWorld
from instar.backends.duckdb.backend import DuckDBBackend
from instar.backends.sql import quote_double
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column, Path

T = TableName("main", "t")
ID = Column("id", INT)
NOTE = Column("note", TEXT)


@dataclass
class World(TableWorld):
    connection: duckdb.DuckDBPyConnection

    def __post_init__(self) -> None:
        self.backend = DuckDBBackend(self.connection)

    @property
    def t(self) -> TableName:
        return T

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.connection.execute(text).fetchall()
        return rows

    def clean(self) -> None:
        """Drop everything that a test made; children before the tables they refer to."""
        for schema, view in self.sql(
            "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        ):
            self.sql(f"DROP VIEW {quote_double(schema)}.{quote_double(view)}")
        while tables := self.sql(
            "SELECT schema_name, table_name FROM duckdb_tables() ORDER BY table_oid DESC"
        ):
            for schema, table in tables:
                with contextlib.suppress(duckdb.CatalogException):
                    self.sql(f"DROP TABLE {quote_double(schema)}.{quote_double(table)}")
        for (schema,) in self.sql("SELECT schema_name FROM duckdb_schemas() WHERE NOT internal"):
            if schema != "main":
                self.sql(f"DROP SCHEMA {quote_double(schema)}")


def want(
    *columns: Column,
    hints: Mapping[Path, Hint] | None = None,
    name: TableName = T,
    **rest: Any,
) -> Wanted:
    return Wanted(Table(name, columns, **rest), hints or {})


def heard(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that the backend asks the engine from now on."""
    asked: list[str] = []
    honest = world.backend._ask

    def listening(sql: str, *values: object) -> list[tuple[object, ...]]:
        asked.append(sql)
        return honest(sql, *values)

    monkeypatch.setattr(world.backend, "_ask", listening)
    return asked


def filled(world: World, ddl: str, *rows: str) -> None:
    """The table t with rows, each as SQL in brackets."""
    world.sql(f"CREATE TABLE t ({ddl})")
    if rows:
        world.sql(f"INSERT INTO t VALUES {', '.join(rows)}")


def rows(world: World) -> list[tuple[object, ...]]:
    return world.sql("SELECT * FROM t ORDER BY 1")
