"""Views that a change would break are named; those that bear it are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backends.duckdb.world import T, World
from instar.core.schema import Table, TableName
from instar.core.types import Column, Integer

A, B, C = (Column(name, Integer(32)) for name in "abc")


@pytest.fixture
def viewed(world: World) -> World:
    world.sql("CREATE TABLE t (a INT, b INT, c INT); CREATE TABLE other (a INT)")
    world.sql("CREATE SCHEMA s; CREATE VIEW s.named AS SELECT a, b FROM main.t")
    world.sql(
        'CREATE VIEW star AS SELECT * FROM t; CREATE VIEW "over" AS SELECT a + 1 AS n FROM s.named'
    )
    world.sql("CREATE VIEW elsewhere AS SELECT a FROM other")
    world.sql("CREATE VIEW inner_only AS SELECT x.a FROM t JOIN other x ON x.a = t.b")
    return world


@pytest.mark.parametrize(
    ("columns", "broken"),
    [
        ((A, B), []),
        ((A, B, C, Column("d", Integer(64))), []),
        ((B, A, C), []),
        ((replace(A, type=Integer(64)), B, C), []),
        ((B, C), ["main.over", "s.named"]),
        ((A, C), ["main.inner_only", "main.over", "s.named"]),
        ((replace(A, name="z"), B, C), ["main.over", "s.named"]),
    ],
)
def test_exactly_those_that_would_no_longer_work(
    viewed: World, columns: tuple[Column, ...], broken: list[str]
) -> None:
    found = viewed.backend.views().broken(Table(T, columns, "duckdb"))
    assert sorted(map(str, found)) == broken


def test_a_view_that_is_broken_already_is_nobodys_fault(viewed: World) -> None:
    viewed.sql("DROP TABLE other")
    found = viewed.backend.views().broken(Table(T, (A, C), "duckdb"))
    assert TableName("main", "inner_only") not in found
