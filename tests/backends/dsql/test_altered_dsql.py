"""Others alter a table while DSQL's recreation is at it: the table keeps what they did, and has its name."""

from __future__ import annotations

import psycopg
import pytest

from backends.dsql.bed import DsqlBed
from backends.dsql.world import World
from backends.world import BIG, INT, TEXT
from instar.backends.base import RunContext
from instar.backends.postgres.definition import Parts, definition
from instar.core.plan import TablePlan
from instar.core.schema import TableName, Wanted
from instar.core.types import Column
from instar.errors import VerificationFailed

ID, W = Column("id", INT, nullable=False), Column("w", TEXT)
OLD = "t__instar_old_1"

MOMENTS = {
    "before it begins": ("recreate begin", "t"),
    "during the copy": ("recreate batch done", "t"),
    "between a kill and the resume": ("recreate batch done", "t"),
    "right before the swap": ("recreate swap", "t"),
    "between the renames": ("recreate renamed aside", OLD),
    "between the renames and a kill": ("recreate renamed aside", OLD),
    "after the last comparison": ("recreate compared again", OLD),
}
"""The point that is reached, and the name that the table has then."""

DDL = {
    "a new column": ("ALTER TABLE {t} ADD COLUMN extra int", "column 'extra' is new: integer"),
    "a renamed column": ("ALTER TABLE {t} RENAME COLUMN w TO ww", "column 'ww' is new: text"),
    "a renamed key column": ("ALTER TABLE {t} RENAME COLUMN id TO no", "column 'no' is new"),
    "a default": ("ALTER TABLE {t} ALTER COLUMN w SET DEFAULT 'x'", "DEFAULT 'x'"),
    "an index": ("CREATE INDEX ASYNC by_w ON {t} (w)", "index 'by_w' is new: USING btree (w)"),
    "a view": ("CREATE VIEW v AS SELECT id FROM {t}", "would go on reading the old table"),
    "privileges": ("GRANT SELECT ON {t} TO PUBLIC", "privileges is new: {"),
    "privileges on a column": ("GRANT SELECT (w) ON {t} TO PUBLIC", "w{=r/"),
    "a comment": ("COMMENT ON TABLE {t} IS 'hello'", "comment is new: hello"),
}
"""What others do, and what the error says of it."""


def wider(world: World, *more: Column) -> Wanted:
    return world.want(ID, Column("n", BIG), W, *more, primary_key=("id",))


def made(world: World) -> TablePlan:
    """A table whose column `n` is to become wider."""
    world.sql("CREATE TABLE t (id int PRIMARY KEY, n int, w text)")
    world.sql("INSERT INTO t SELECT i, i * 2, 'w' || i FROM generate_series(1, 250) AS i")
    return world.plan(wider(world))


def defined(world: World) -> Parts:
    live = world.live()
    assert live is not None
    return definition(live)


def recreate(world: World, plan: TablePlan, moment: str, ddl: str) -> None:
    """Run the plan; another connection runs a statement at the moment, once."""
    point, table = MOMENTS[moment]
    reached: list[str] = []

    def others(name: str) -> None:
        reached.append(name)
        if name == point and reached.count(name) == 1:
            world.sql(ddl.format(t=table))
            if "kill" in moment:
                raise KeyboardInterrupt

    context = RunContext({}, lambda *_: None, others)
    if "kill" in moment:
        with pytest.raises(KeyboardInterrupt):
            world.backend.run(plan.steps[0], context)
        world.backend.session.rollback()
    world.backend.run(plan.steps[0], context)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("kind", DDL)
def test_what_would_be_left_behind_is_refused(world: World, kind: str, moment: str) -> None:
    ddl, words = DDL[kind]
    plan = made(world)
    before = defined(world)
    with pytest.raises(VerificationFailed) as caught:
        recreate(world, plan, moment, ddl)
    assert caught.value.code == "E229"
    assert words in caught.value.message
    assert world.relations() == ["t"]
    assert defined(world) != before, "the table is as the others left it"
    assert world.sql("SELECT count(*), sum(n), pg_typeof(min(n))::text FROM t") == [
        (250, 62750, "integer")
    ]


@pytest.mark.parametrize("moment", MOMENTS)
def test_planned_again_the_new_column_is_there(world: World, moment: str) -> None:
    plan = made(world)
    with pytest.raises(VerificationFailed):
        recreate(world, plan, moment, DDL["a new column"][0])
    world.sql("UPDATE t SET extra = 7")
    world.apply(wider(world, Column("extra", INT)))
    assert world.sql("SELECT count(*), sum(n), sum(extra) FROM t") == [(250, 62750, 1750)]
    assert world.relations() == ["t", OLD]


def test_a_table_that_has_another_name_by_now_is_left_there(world: World) -> None:
    plan = made(world)
    with pytest.raises(VerificationFailed, match="there is no") as caught:
        recreate(world, plan, "during the copy", "ALTER TABLE {t} RENAME TO t9")
    assert caught.value.code == "E229"
    assert world.relations() == ["t9"]
    assert world.live(TableName(world.schema, "t9")) is not None


def test_what_a_grantee_has_granted_on_blocks(world: World, bed: DsqlBed) -> None:
    """No session of the service has been seen to act as another role."""
    made(world)
    t = f"{world.schema}.t"
    with psycopg.connect(bed.inside(), autocommit=True) as service:
        service.execute(f"GRANT USAGE ON SCHEMA {world.schema} TO pg_monitor")
        service.execute(f"GRANT SELECT ON {t} TO pg_monitor WITH GRANT OPTION")
        service.execute(f"SET ROLE pg_monitor; GRANT SELECT ON {t} TO PUBLIC")
    plan = world.plan(wider(world))
    (said,) = (f.message for f in plan.findings if f.code == "F601")
    assert "'pg_monitor' granted privileges on it, which would become its owner's" in said
