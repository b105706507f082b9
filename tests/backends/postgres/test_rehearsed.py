"""The exchange of the cut-over is tried on the empty copy: what does not fit is found before the rows are copied."""

from __future__ import annotations

import psycopg
import pytest

from backends.postgres.world import World
from backends.world import INT, TEXT
from instar.core.plan import TablePlan
from instar.core.types import Column
from instar.errors import EngineError

Connection = psycopg.Connection[tuple[object, ...]]

KEYED = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 7)"
UNKEYED = "CREATE TABLE t (id int, n int); INSERT INTO t VALUES (1, 7)"
UNFIT = {
    "a view": "CREATE VIEW v AS SELECT n + 1 AS more FROM t",
    "a view of a view": "CREATE VIEW w AS SELECT n FROM t; CREATE VIEW v AS SELECT n + 1 AS more FROM w",
    "a trigger": (
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER g AFTER INSERT ON t FOR EACH ROW WHEN (NEW.n > 5) EXECUTE FUNCTION f()"
    ),
}


def planned(world: World, ddl: str) -> TablePlan:
    """`n` becomes a text."""
    world.sql(ddl)
    key = ("id",) if "PRIMARY" in ddl else ()
    columns = (Column("id", INT, nullable=not key), Column("n", TEXT))
    return world.plan(world.want(*columns, primary_key=key))


def relations(world: World) -> list[str]:
    rows = world.sql(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'",
        [world.schema],
    )
    return sorted(row[0] for row in rows)


@pytest.mark.parametrize("table", [KEYED, UNKEYED], ids=["with a key", "without"])
@pytest.mark.parametrize("case", UNFIT)
def test_what_does_not_fit_is_found_before_the_copy(world: World, table: str, case: str) -> None:
    plan = planned(world, f"{table}; {UNFIT[case]}")
    points: list[str] = []
    with pytest.raises(EngineError) as caught:
        world.run(plan, points.append)
    assert caught.value.code == "E254"
    assert "change or drop it" in str(caught.value.hint)
    assert not {"recreate batch", "recreate locked copy"} & set(points)
    assert relations(world) == ["t"]
    assert world.sql("SELECT pg_typeof(n)::text, n FROM t") == [("integer", 7)]


def test_where_somebody_reads_the_table_it_is_left_to_the_cut_over(
    world: World, other: Connection
) -> None:
    """A reader of hours at the beginning is no reason not to begin."""
    plan = planned(world, f"{KEYED}; CREATE VIEW v AS SELECT id, n FROM t")
    other.execute("BEGIN; SELECT * FROM t")

    def reached(point: str) -> None:
        if point == "recreate entered build":
            other.execute("ROLLBACK")

    world.run(plan, reached)
    assert world.sql("SELECT pg_typeof(n)::text, n FROM v") == [("text", "7")]
