"""One test bed for the whole run, and an empty schema for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from backends.dsql.bed import DsqlBed
from backends.dsql.world import World

Client = psycopg.Connection[tuple[object, ...]]

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def bed() -> Iterator[DsqlBed]:
    made = DsqlBed()
    yield made
    made.stop()


@pytest.fixture
def client(bed: DsqlBed) -> Iterator[Client]:
    """A client of the service in a schema of its own; limits are as the service has them."""
    bed.limit()
    bed.conflict()
    with psycopg.connect(bed.url(), autocommit=True) as connection:
        schema = f"c{next(_NUMBERS)}"
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}")
        yield connection


@pytest.fixture(scope="session")
def shared(bed: DsqlBed) -> Iterator[World]:
    """One connection for all tests that need no second one."""
    made = World(bed)
    yield made
    made.close()


@pytest.fixture
def world(shared: World) -> World:
    """A schema of its own, in which the table `t` is free."""
    shared.bed.limit()
    shared.bed.conflict()
    shared.enter(f"s{next(_NUMBERS)}")
    return shared
