"""Operations on the columns of a table: new ones, names, order, types."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

from instar.core.schema import Hint
from instar.core.types import Variant
from instar.testing.operations.kit import S_VALUE, S, X, plain, typed
from instar.testing.scenario import DROP, REORDER, Row, Scenario
from instar.testing.words import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    WALL_CLOCK,
    c,
    dec,
    required,
    shape,
    varchar,
)

_V3 = {"format-version": "3"}


def columns() -> tuple[Scenario, ...]:
    return (*_added(), *_added_types(), *_moved(), *_types())


def _wide(value: object) -> tuple[Row, ...]:
    return ({"id": 1, "x": 1, "n": value}, {"id": 2, "x": None, "n": value})


def _added() -> tuple[Scenario, ...]:
    return (
        plain("add a nullable column", shape(X), shape(X, c("n", STRING)), after=_wide(None)),
        plain(
            "add a column at a position",
            shape(X),
            shape(c("n", STRING), X),
            after=_wide(None),
            policy=REORDER,
        ),
        plain(
            "add a NOT NULL column with a default",
            shape(X),
            shape(X, required("n", STRING)),
            after=_wide("u"),
            hints={("n",): Hint(default="'u'")},
        ),
        plain(
            "add a column computed from the row",
            shape(X),
            shape(X, c("n", INT)),
            after=({"id": 1, "x": 1, "n": 2}, {"id": 2, "x": None, "n": 3}),
            hints={("n",): Hint(using="id + 1")},
        ),
    )


def _added_types() -> tuple[Scenario, ...]:
    return (
        plain(
            "add a column that keeps its default",
            shape(X),
            shape(X, c("n", INT, default="9")),
            after=_wide(9),
        ),
        plain("add a struct column", shape(X), shape(X, c("n", S)), after=_wide(None)),
        plain(
            "add a TIMESTAMP_NTZ column", shape(X), shape(X, c("n", WALL_CLOCK)), after=_wide(None)
        ),
        plain("add a VARIANT column", shape(X), shape(X, c("n", Variant())), after=_wide(None)),
        plain(
            "add a VARIANT column, Iceberg's format version is 3",
            replace(shape(X), properties=_V3),
            replace(shape(X, c("n", Variant())), properties=_V3),
            after=_wide(None),
        ),
    )


def _moved() -> tuple[Scenario, ...]:
    both = shape(X, c("y", INT))
    pair: tuple[Row, ...] = ({"id": 1, "x": 1, "y": 2}, {"id": 2, "x": None, "y": 3})
    swapped: tuple[Row, ...] = ({"id": 1, "x": 2, "y": 1}, {"id": 2, "x": 3, "y": None})
    return (
        plain("remove a column", both, shape(X), rows=pair, policy=DROP),
        plain(
            "rename a column",
            shape(X),
            shape(c("n", INT)),
            after=({"id": 1, "n": 1}, {"id": 2, "n": None}),
            hints={("n",): Hint(renamed_from="x")},
        ),
        plain(
            "rename a column by case only",
            shape(X),
            shape(c("X", INT)),
            after=({"id": 1, "X": 1}, {"id": 2, "X": None}),
            hints={("X",): Hint(renamed_from="x")},
        ),
        plain(
            "swap the names of two columns",
            both,
            both,
            rows=pair,
            after=swapped,
            hints={("x",): Hint(renamed_from="y"), ("y",): Hint(renamed_from="x")},
        ),
        plain(
            "reorder columns", both, shape(c("y", INT), X), rows=pair, after=pair, policy=REORDER
        ),
    )


def _types() -> tuple[Scenario, ...]:
    price = Decimal("1.50")
    return (
        typed(INT, BIGINT, 7, 7, "widen INT → BIGINT"),
        typed(FLOAT, DOUBLE, 1.5, 1.5, "widen FLOAT → DOUBLE"),
        typed(INT, DOUBLE, 7, 7.0, "widen INT → DOUBLE"),
        typed(INT, dec(12, 2), 7, Decimal("7.00"), "widen INT → DECIMAL(12, 2)"),
        typed(dec(10, 2), dec(12, 2), price, price, "widen DECIMAL(10, 2) → (12, 2)"),
        typed(dec(10, 2), dec(14, 4), price, Decimal("1.5000"), "widen DECIMAL(10, 2) → (14, 4)"),
        typed(varchar(5), varchar(9), "ab", "ab", "widen VARCHAR(5) → VARCHAR(9)"),
        typed(
            DATE, WALL_CLOCK, date(2020, 1, 2), datetime(2020, 1, 2), "widen DATE → TIMESTAMP_NTZ"
        ),
        typed(BIGINT, dec(20, 0), 7, Decimal(7), "widen BIGINT → DECIMAL(20, 0)"),
        typed(varchar(5), STRING, "ab", "ab", "widen VARCHAR(5) → STRING"),
        typed(STRING, varchar(9), "ab", "ab", "limit STRING → VARCHAR(9), every value fits"),
        typed(INT, STRING, 7, "7", "convert INT → STRING"),
        typed(BIGINT, INT, 7, 7, "narrow BIGINT → INT, every value fits"),
        typed(STRING, INT, "7", 7, "convert STRING → INT, every value parses"),
        typed(
            STRING,
            DATE,
            "2020-01-02",
            date(2020, 1, 2),
            "convert STRING → DATE, every value parses",
        ),
        typed(S, INT, S_VALUE, None, "turn a struct into a number"),
    )
