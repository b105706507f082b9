"""One connection to the run's PostgreSQL, and an empty schema for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from backends.postgres.server import PostgresServer
from backends.postgres.world import World

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def shared(postgres: PostgresServer) -> Iterator[World]:
    """One connection for all tests that need no second one."""
    made = World(postgres.url())
    yield made
    made.close()


@pytest.fixture
def world(shared: World) -> World:
    """A schema of its own, in which the table `t` is free."""
    shared.enter(f"s{next(_NUMBERS)}")
    return shared


@pytest.fixture
def other(
    postgres: PostgresServer, world: World
) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A second client in the same schema."""
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"SET search_path = {world.schema}")
        yield connection
