"""Every type goes into PostgreSQL and comes back; what is kept as another type is said."""

from __future__ import annotations

import pytest

from backends.postgres.world import World
from instar.backends.postgres.types import parse_type, type_sql
from instar.core.findings import Severity
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import (
    Binary,
    Boolean,
    Column,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Json,
    Opaque,
    String,
    Time,
    Timestamp,
    Type,
    Uuid,
    Variant,
    array,
    map_of,
    struct,
    type_text,
)

KEPT: list[Type] = [
    Boolean(),
    Integer(16),
    Integer(32),
    Integer(64),
    Float(32),
    Float(64),
    Decimal(10, 2),
    Decimal(1000, 0),
    String(),
    String(10),
    String(3, fixed=True),
    Binary(),
    Date(),
    Time(),
    Timestamp(zone=True),
    Timestamp(zone=False),
    Timestamp(zone=True, precision=0),
    Timestamp(zone=False, precision=3),
    Interval(),
    Interval("DAY TO SECOND"),
    Interval("YEAR TO MONTH"),
    Uuid(),
    Json(),
    array(Integer(32)),
    array(String(7)),
    array(Decimal(10, 2)),
    array(Timestamp(zone=True)),
    Opaque("inet"),
    Opaque("numeric"),
    Opaque("point"),
]


@pytest.mark.parametrize("type_", KEPT, ids=type_text)
def test_round_trip(world: World, type_: Type) -> None:
    plan = world.apply(world.want(Column("c", type_)))
    assert plan.findings == ()
    live = world.live()
    assert live is not None
    assert live.columns[0].type == type_
    assert parse_type(type_sql(type_)) == type_


OTHER: list[tuple[Type, Type, str]] = [
    (Integer(8), Integer(16), "TINYINT (it is kept as smallint)"),
    (Integer(64, signed=False), Decimal(20, 0), "UBIGINT (it is kept as numeric(20,0))"),
    (Integer(128), Decimal(39, 0), "HUGEINT"),
    (Timestamp(zone=False, precision=9), Timestamp(zone=False), "9 digits of a second"),
    (Variant(), Json(), "VARIANT"),
    (struct(Column("a", Integer(32))), Json(), "STRUCT (it is kept as jsonb"),
    (map_of(String(), Integer(32)), Json(), "MAP"),
    (array(struct(Column("a", Integer(32)))), Json(), "an array of STRUCT"),
    (array(array(Integer(32))), Json(), "an array of ARRAY"),
    (String(20_000_000), String(), "the length 20000000"),
    (Interval("HOUR"), Interval(), "the unit HOUR"),
    (array(Integer(8)), array(Integer(16)), "TINYINT"),
]


@pytest.mark.parametrize(
    ("type_", "kept", "words"), OTHER, ids=lambda v: type_text(v) if not isinstance(v, str) else ""
)
def test_kept_as_another(world: World, type_: Type, kept: Type, words: str) -> None:
    plan = world.apply(world.want(Column("c", type_)))
    assert [f.code for f in plan.findings] == ["F602"]
    assert words in plan.findings[0].message
    live = world.live()
    assert live is not None
    assert live.columns[0].type == kept


def test_a_json_column_stays_json(world: World) -> None:
    world.sql("CREATE TABLE t (id int PRIMARY KEY, d json, n int)")
    world.sql("""INSERT INTO t VALUES (1, '{"a":1, "a":2}', 3)""")
    id_, doc = Column("id", Integer(32), nullable=False), Column("d", Json())
    assert (
        world.plan(world.want(id_, doc, Column("n", Integer(32)), primary_key=("id",))).steps == ()
    )
    world.apply(world.want(id_, doc, Column("n", Integer(64)), primary_key=("id",)))
    assert world.sql("SELECT d::text, pg_typeof(d)::text FROM t") == [('{"a":1, "a":2}', "json")]


def test_names_of_more_than_63_bytes_are_refused(world: World) -> None:
    long = "ä" * 32
    plan = world.plan(Wanted(Table(TableName(world.schema, "t"), (Column(long, Integer(32)),))))
    assert [(f.code, f.severity) for f in plan.findings] == [("F601", Severity.ERROR)]
    assert "64 bytes" in plan.findings[0].message
    assert plan.steps == ()
