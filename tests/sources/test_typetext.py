"""Type text of both families means one type; what cannot be read says where."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from instar.core.types import (
    Binary,
    Boolean,
    Column,
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
from instar.sources.typetext import TypeTextError, parse_type
from sources.strategies import types

INT, TEXT = Integer(32), String()
ZONED, UNZONED = Timestamp(zone=True), Timestamp(zone=False)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("STRUCT<a INT>", struct(Column("a", INT))),
        ("STRUCT<a: INT>", struct(Column("a", INT))),
        ("STRUCT(a INTEGER)", struct(Column("a", INT))),
        ("struct< a:int , B string >", struct(Column("a", INT), Column("B", TEXT))),
        ("STRUCT<>", struct()),
        ('STRUCT<`a,b` INT, "c>d" INT>', struct(Column("a,b", INT), Column("c>d", INT))),
        ('STRUCT<`x``y` INT, "p""q" INT>', struct(Column("x`y", INT), Column('p"q', INT))),
        ("STRUCT<a INT NOT NULL>", struct(Column("a", INT, nullable=False))),
        ("STRUCT<a INT COMMENT 'it''s'>", struct(Column("a", INT, comment="it's"))),
        (
            "STRUCT<a INT NOT NULL COMMENT 'x', not INT>",
            struct(Column("a", INT, nullable=False, comment="x"), Column("not", INT)),
        ),
        ("ARRAY<INT>", array(INT)),
        ("INTEGER[]", array(INT)),
        ("INTEGER[][]", array(array(INT))),
        ("STRUCT(a INTEGER)[]", array(struct(Column("a", INT)))),
        ("ARRAY<ARRAY<INT>>", array(array(INT))),
        ("ARRAY<INT NOT NULL>", array(INT, nullable=False)),
        ("ARRAY", array(Variant())),
        ("MAP<STRING, INT>", map_of(TEXT, INT)),
        ("MAP(VARCHAR, INTEGER)", map_of(TEXT, INT)),
        ("MAP<STRING,ARRAY<MAP<STRING,INT>>>", map_of(TEXT, array(map_of(TEXT, INT)))),
        ("NUMBER(10,2)", Decimal(10, 2)),
        ("DECIMAL(10)", Decimal(10, 0)),
        ("DECIMAL", Decimal(10, 0)),
        ("NUMBER", Decimal(38, 0)),
        ("VARCHAR(255)", String(255)),
        ("character varying (40)", String(40)),
        ("VARCHAR(MAX)", TEXT),
        ("TEXT", TEXT),
        ("CHAR(3)", String(3, fixed=True)),
        ("TIMESTAMP", ZONED),
        ("TIMESTAMPTZ", ZONED),
        ("TIMESTAMP WITH TIME ZONE", ZONED),
        ("TIMESTAMP_LTZ", ZONED),
        ("TIMESTAMP_NTZ", UNZONED),
        ("DATETIME", UNZONED),
        ("TIMESTAMP WITHOUT TIME ZONE", UNZONED),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", Timestamp(zone=False, precision=3)),
        ("TIMESTAMP_NS", Timestamp(zone=False, precision=9)),
        ("TIME", Time()),
        ("TIME WITH TIME ZONE", Opaque("TIME WITH TIME ZONE")),
        ("INT8", Integer(64)),
        ("INT64", Integer(64)),
        ("BYTE", Integer(8)),
        ("UTINYINT", Integer(8, signed=False)),
        ("UINTEGER", Integer(32, signed=False)),
        ("HUGEINT", Integer(128)),
        ("FLOAT", Float(32)),
        ("FLOAT(53)", Float(64)),
        ("DOUBLE PRECISION", Float(64)),
        ("real", Float(32)),
        ("bool", Boolean()),
        ("BYTEA", Binary()),
        ("UUID", Uuid()),
        ("JSONB", Json()),
        ("VARIANT", Variant()),
        ("INTERVAL", Interval()),
        ("INTERVAL day to second", Interval("DAY TO SECOND")),
        ("ENUM('a', 'b)')", Opaque("ENUM('a', 'b)')")),
        ("INTEGER[3]", Opaque("INTEGER[3]")),
        ("OBJECT", Opaque("OBJECT")),
        ("NATIVE('Nullable(Int8)')", Opaque("Nullable(Int8)")),
    ],
)
def test_a_text_means_a_type(text: str, type_: Type) -> None:
    assert parse_type(text) == type_


@pytest.mark.parametrize(
    ("text", "code", "position", "says"),
    [
        ("", "E120", 0, "a type is expected"),
        ("VARHCAR", "E121", 0, "Did you mean VARCHAR?"),
        ("STRUCT<a STRIGN>", "E121", 9, "Did you mean STRING?"),
        ("FROBNICATE", "E121", 0, "NATIVE("),
        ("ARRAY<INT", "E120", 9, "'>' is expected, the end was found"),
        ("INT>", "E120", 3, "'>' is left over"),
        ("STRUCT<a INT b INT>", "E120", 13, "',' or '>' is expected"),
        ("STRUCT<a-b INT>", "E120", 8, "a type is expected, '-'"),
        ("STRUCT<1 INT>", "E120", 7, "backticks"),
        ("STRUCT<a INT, A INT>", "E120", 14, "stands twice"),
        ("STRUCT", "E120", 0, "needs its fields"),
        ("MAP<INT>", "E120", 7, "',' is expected"),
        ("DECIMAL(5,7)", "E120", 0, "precision"),
        ("DECIMAL(x)", "E120", 8, "a number is expected"),
        ("CHAR", "E120", 0, "needs a length"),
        ("VARCHAR(0)", "E120", 0, "at least 1"),
        ("INT(11)", "E120", 0, "nothing in parentheses"),
        ("TIMESTAMP(12)", "E120", 0, "fraction digits"),
        ("ENUM('a'", "E120", 8, "')' is expected"),
        ("ARRAY<" * 200 + "INT" + ">" * 200, "E120", 6 * 150, "nested deeper"),
    ],
)
def test_what_cannot_be_read_says_where(text: str, code: str, position: int, says: str) -> None:
    with pytest.raises(TypeTextError) as caught:
        parse_type(text)
    error = caught.value
    assert (error.code, error.position) == (code, position)
    assert says in f"{error.message} {error.hint}"


@settings(max_examples=100, deadline=None)
@given(types)
def test_what_is_written_is_read_back(type_: Type) -> None:
    assert parse_type(type_text(type_)) == type_
