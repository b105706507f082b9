"""Every core type goes into DuckDB and comes back as itself, or as what DuckDB keeps of it."""

from __future__ import annotations

import pytest

from backends.duckdb.world import World, want
from instar.backends.duckdb.types import parse_type, type_sql
from instar.core.findings import Severity
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
)

KEPT: list[Type] = [
    Boolean(),
    *(Integer(bits, signed) for bits in (8, 16, 32, 64, 128) for signed in (True, False)),
    Float(32),
    Float(64),
    Decimal(1, 0),
    Decimal(18, 3),
    Decimal(38, 38),
    String(),
    Binary(),
    Date(),
    Time(),
    *(Timestamp(zone=False, precision=p) for p in (0, 3, 6, 9)),
    Timestamp(zone=True),
    Interval(),
    Uuid(),
    Json(),
    Variant(),
    Opaque("BIT"),
    Opaque("TIME WITH TIME ZONE"),
    Opaque("ENUM('a', 'b''c', 'd, (e')"),
    Opaque("UNION(num INTEGER, str VARCHAR)"),
    Opaque("INTEGER[3]"),
    Opaque("BIGNUM"),
    array(Integer(32)),
    array(array(String())),
    map_of(String(), struct(Column("x", Decimal(4, 1)))),
    struct(
        Column("plain", Integer(32)),
        Column("a b", String()),
        Column('q"q', array(Opaque("ENUM('x')"))),
        Column("a.b", map_of(Integer(64), array(Timestamp(zone=True)))),
        Column("select", struct(Column("ä", Boolean()))),
    ),
]


@pytest.mark.parametrize("type_", KEPT, ids=type_sql)
def test_a_type_that_duckdb_has_comes_back_as_itself(world: World, type_: Type) -> None:
    plan = world.apply(want(Column("c", type_)))
    live = world.live()
    assert live is not None
    assert live.columns == (Column("c", type_),)
    assert plan.findings == ()


@pytest.mark.parametrize(
    ("wanted", "kept", "code"),
    [
        (String(10), String(), "F602"),
        (String(5, fixed=True), String(), "F602"),
        (Timestamp(zone=True, precision=9), Timestamp(zone=True), "F602"),
        (Interval("DAY TO SECOND"), Interval(), "F602"),
        (
            struct(Column("x", Integer(32), nullable=False)),
            struct(Column("x", Integer(32))),
            "F603",
        ),
        (array(Integer(32), nullable=False), array(Integer(32)), "F603"),
        (
            struct(Column("x", Integer(32), comment="why")),
            struct(Column("x", Integer(32))),
            "F604",
        ),
    ],
)
def test_what_duckdb_cannot_keep_is_said_and_is_no_change_later(
    world: World, wanted: Type, kept: Type, code: str
) -> None:
    plan = world.apply(want(Column("c", wanted)))
    live = world.live()
    assert live is not None
    assert live.columns == (Column("c", kept),)
    assert [f.code for f in plan.findings] == [code]


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        (Timestamp(zone=False, precision=1), Timestamp(zone=False, precision=3)),
        (Timestamp(zone=False, precision=4), Timestamp(zone=False, precision=6)),
        (Timestamp(zone=True, precision=3), Timestamp(zone=True)),
        (Opaque("enum('a','b')"), Opaque("ENUM('a', 'b')")),
        (Opaque("INT4"), Integer(32)),
    ],
)
def test_another_spelling_of_a_type_is_the_same_type(
    world: World, wanted: Type, kept: Type
) -> None:
    plan = world.apply(want(Column("c", wanted)))
    live = world.live()
    assert live is not None
    assert live.columns == (Column("c", kept),)
    assert plan.findings == ()


@pytest.mark.parametrize("wanted", [Decimal(50, 2), Opaque("NOT_A_TYPE")])
def test_a_type_that_cannot_be_had_blocks(world: World, wanted: Type) -> None:
    plan = world.plan(want(Column("c", wanted)))
    assert plan.steps == ()
    assert [(f.code, f.severity) for f in plan.findings] == [("F601", Severity.ERROR)]


@pytest.mark.parametrize("text", ["", "STRANGE(", "STRUCT", "INTEGER[", "GEOMETRY('a(b')"])
def test_text_that_nobody_expected_is_kept_as_it_is(text: str) -> None:
    assert parse_type(text) == Opaque(text)
