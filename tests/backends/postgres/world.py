"""One schema of a real PostgreSQL server for tests."""

from __future__ import annotations

from typing import Any

import psycopg

from backends.world import BIG, INT, TableWorld
from instar.backends.postgres.backend import PostgresBackend
from instar.backends.postgres.session import Patience, Session
from instar.core.plan import TablePlan
from instar.core.schema import TableName, Wanted
from instar.core.types import Column, Type

QUICK = Patience(lock_timeout=0.5, attempts=3, batch=100)


class SchemaWorld(TableWorld):
    """A client of a server, in a schema of its own."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)
        self.schema = "public"

    def enter(self, schema: str) -> None:
        self.schema = schema
        self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        self.connection.execute(f"SET search_path = {schema}")

    def close(self) -> None:
        self.backend.close()
        self.connection.close()

    @property
    def t(self) -> TableName:
        return TableName(self.schema, "t")

    def sql(self, text: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(text, values)
        return cursor.fetchall() if cursor.description else []


class World(SchemaWorld):
    backend: PostgresBackend

    def __init__(self, url: str, patience: Patience = QUICK) -> None:
        super().__init__(url)
        self.url = url
        self.backend = PostgresBackend(Session(url, patience))

    def enter(self, schema: str) -> None:
        super().enter(schema)
        self.connection.execute("SET TimeZone = 'UTC'")


def relations(world: World) -> list[str]:
    rows = world.sql(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'v') "
        "ORDER BY 1",
        [world.schema],
    )
    return [row[0] for row in rows]


def widening(world: World, rows: int) -> TablePlan:
    """A keyed table of as many rows, and the plan that makes its n a BIGINT: a recreation."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int)")
    world.sql(f"INSERT INTO t SELECT i, i FROM generate_series(1, {rows}) AS i")
    return world.plan(keyed(world, "n", BIG))


def keyed(world: World, name: str, type_: Type) -> Wanted:
    return world.want(Column("id", INT, nullable=False), Column(name, type_), primary_key=("id",))
