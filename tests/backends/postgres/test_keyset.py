"""Walking a table by its key: every row once, in batches of exactly the size that was asked for."""

from __future__ import annotations

import pytest

from backends.postgres.world import World
from instar.backends.postgres.keyset import Keyset, Place


def walked(world: World, keyset: Keyset, size: int) -> list[list[tuple[object, ...]]]:
    batches: list[list[tuple[object, ...]]] = []
    place: Place | None = None
    session = world.backend.session
    while (end := keyset.end_of_batch(session, place, size)) is not None:
        rows = f"SELECT {keyset.columns} FROM {keyset.table} WHERE {keyset.between(place, end)}"
        batches.append(session.ask(f"{rows} ORDER BY {keyset.columns}"))
        place = end
    return batches


@pytest.mark.parametrize("size", [1, 3, 5, 10, 11, 100])
def test_a_batch_is_full_and_only_the_last_is_short(world: World, size: int) -> None:
    # The names are those of the walk's own aliases; the order of numbers is not that of their texts.
    world.sql("CREATE TABLE t (b text, n int, PRIMARY KEY (b, n))")
    world.sql("INSERT INTO t SELECT 'k' || i % 2, i FROM generate_series(1, 10) AS i")
    keyset = Keyset(f"{world.schema}.t", (("b", "text"), ("n", "integer")))
    batches = walked(world, keyset, size)
    rows = [row for batch in batches for row in batch]
    assert rows == world.sql("SELECT b, n FROM t ORDER BY b, n")
    assert all(len(batch) == size for batch in batches[:-1])
    assert len(batches) == -(-10 // size)


def test_an_empty_table_has_no_batch(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY)")
    assert walked(world, Keyset(f"{world.schema}.t", (("id", "integer"),)), 10) == []


def test_a_size_follows_the_time_within_its_bounds() -> None:
    assert Keyset.adapted(1000, 0.1, 0.5) == 2000
    assert Keyset.adapted(1000, 0.5, 0.5) == 1000
    assert Keyset.adapted(1000, 1.1, 0.5) == 500
    assert Keyset.adapted(50, 9.0, 0.5) == 50
    assert Keyset.adapted(90_000, 0.1, 0.5) == 100_000
    assert Keyset.adapted(90_000, 0.1, 0.5, largest=1_000_000) == 180_000
    assert Keyset.adapted(10_000, 0.1, 0.5, largest=10_000) == 10_000
