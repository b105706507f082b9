"""Scenarios: new columns, at every depth and with every kind of value for old rows."""

from __future__ import annotations

from decimal import Decimal

from instar.core.schema import Hint
from instar.core.types import array, map_of, struct
from instar.testing.scenario import REORDER, Said, Scenario
from instar.testing.words import (
    BIGINT,
    INT,
    STRING,
    c,
    dec,
    keyed,
    required,
    shape,
)

_ONE, _TWO = {"id": 1, "a": "x"}, {"id": 2, "a": None}
_PLAIN = shape(c("a", STRING))
_PERSON = struct(c("name", STRING), c("age", INT))
_PERSON_CITY = struct(c("name", STRING), c("age", INT), c("city", STRING))
_ANN, _NOBODY = {"name": "Ann", "age": 30}, {"name": None, "age": None}

ADDING = (
    Scenario(
        "add a nullable column",
        _PLAIN,
        (_ONE, _TWO),
        shape(c("a", STRING), c("b", BIGINT)),
        ({**_ONE, "b": None}, {**_TWO, "b": None}),
    ),
    Scenario(
        "add columns of nested types",
        _PLAIN,
        (_ONE,),
        shape(
            c("a", STRING),
            c("s", _PERSON),
            c("l", array(_PERSON)),
            c("m", map_of(STRING, _PERSON)),
        ),
        ({**_ONE, "s": None, "l": None, "m": None},),
    ),
    Scenario(
        "add a column with a lasting default",
        _PLAIN,
        (_ONE, _TWO),
        shape(c("a", STRING), c("b", INT, default="7")),
        ({**_ONE, "b": 7}, {**_TWO, "b": 7}),
    ),
    Scenario(
        "add a nullable column with a fill",
        _PLAIN,
        (_ONE, _TWO),
        shape(c("a", STRING), c("b", STRING)),
        ({**_ONE, "b": "new"}, {**_TWO, "b": "new"}),
        hints={("b",): Hint(default="'new'")},
    ),
    Scenario(
        "add a NOT NULL column with a fill",
        _PLAIN,
        (_ONE, _TWO),
        shape(c("a", STRING), required("b", STRING)),
        ({**_ONE, "b": "UNDEFINED"}, {**_TWO, "b": "UNDEFINED"}),
        hints={("b",): Hint(default="'UNDEFINED'")},
    ),
    Scenario(
        "add a NOT NULL column with no value for old rows",
        _PLAIN,
        (_ONE, _TWO),
        shape(c("a", STRING), required("b", STRING)),
        block=Said("F101", 2),
    ),
    Scenario(
        "add a NOT NULL field with no value for old rows",
        shape(c("s", struct(c("x", INT)))),
        ({"id": 1, "s": {"x": 1}}, {"id": 2, "s": None}),
        shape(c("s", struct(c("x", INT), required("y", INT)))),
        block=Said("F101", 2),
    ),
    Scenario(
        "add a NOT NULL column whose fill is NULL in one row",
        keyed(c("a", STRING)),
        (_ONE, _TWO),
        keyed(c("a", STRING), required("b", STRING)),
        hints={("b",): Hint(default="a")},
        block=Said("F203", 1, ("2",)),
    ),
    Scenario(
        "add a column computed from the old row",
        shape(c("price", dec(10, 2)), c("pieces", INT)),
        (
            {"id": 1, "price": Decimal("2.50"), "pieces": 4},
            {"id": 2, "price": None, "pieces": 1},
        ),
        shape(c("price", dec(10, 2)), c("pieces", INT), c("total", dec(12, 2))),
        (
            {"id": 1, "price": Decimal("2.50"), "pieces": 4, "total": Decimal("10.00")},
            {"id": 2, "price": None, "pieces": 1, "total": None},
        ),
        hints={("total",): Hint(using="price * pieces")},
    ),
    Scenario(
        "add a column whose expression gives no value of its type",
        keyed(c("a", STRING)),
        ({"id": 1, "a": "12"}, {"id": 2, "a": "twelve"}, {"id": 3, "a": None}),
        keyed(c("a", STRING), c("n", INT)),
        hints={("n",): Hint(using="a")},
        block=Said("F202", 1, ("2",)),
    ),
    Scenario(
        "add a field to a struct",
        shape(c("p", _PERSON)),
        ({"id": 1, "p": _ANN}, {"id": 2, "p": None}, {"id": 3, "p": _NOBODY}),
        shape(c("p", _PERSON_CITY)),
        (
            {"id": 1, "p": {**_ANN, "city": None}},
            {"id": 2, "p": None},
            {"id": 3, "p": {**_NOBODY, "city": None}},
        ),
    ),
    Scenario(
        "add a field with a fill to a struct",
        shape(c("p", _PERSON)),
        ({"id": 1, "p": _ANN}, {"id": 2, "p": None}),
        shape(c("p", _PERSON_CITY)),
        ({"id": 1, "p": {**_ANN, "city": "Rome"}}, {"id": 2, "p": None}),
        hints={("p", "city"): Hint(default="'Rome'")},
    ),
    Scenario(
        "add a field two levels down",
        shape(c("o", struct(c("k", INT), c("p", _PERSON)))),
        (
            {"id": 1, "o": {"k": 1, "p": _ANN}},
            {"id": 2, "o": {"k": 2, "p": None}},
            {"id": 3, "o": None},
        ),
        shape(c("o", struct(c("k", INT), c("p", _PERSON_CITY)))),
        (
            {"id": 1, "o": {"k": 1, "p": {**_ANN, "city": None}}},
            {"id": 2, "o": {"k": 2, "p": None}},
            {"id": 3, "o": None},
        ),
    ),
    Scenario(
        "add a field to the structs of an array",
        shape(c("l", array(_PERSON))),
        ({"id": 1, "l": [_ANN, None, _NOBODY]}, {"id": 2, "l": []}, {"id": 3, "l": None}),
        shape(c("l", array(_PERSON_CITY))),
        (
            {"id": 1, "l": [{**_ANN, "city": None}, None, {**_NOBODY, "city": None}]},
            {"id": 2, "l": []},
            {"id": 3, "l": None},
        ),
    ),
    Scenario(
        "add a field to the values of a map",
        shape(c("m", map_of(STRING, _PERSON))),
        ({"id": 1, "m": {"x": _ANN, "y": None}}, {"id": 2, "m": {}}, {"id": 3, "m": None}),
        shape(c("m", map_of(STRING, _PERSON_CITY))),
        (
            {"id": 1, "m": {"x": {**_ANN, "city": None}, "y": None}},
            {"id": 2, "m": {}},
            {"id": 3, "m": None},
        ),
    ),
    Scenario(
        "add a column in the middle, live order kept",
        shape(c("a", STRING), c("z", INT)),
        ({"id": 1, "a": "x", "z": 9},),
        shape(c("a", STRING), c("b", INT), c("z", INT)),
        ({"id": 1, "a": "x", "b": None, "z": 9},),
    ),
    Scenario(
        "add a column in the middle and take over the order",
        shape(c("a", STRING), c("z", INT)),
        ({"id": 1, "a": "x", "z": 9},),
        shape(c("a", STRING), c("b", INT), c("z", INT)),
        ({"id": 1, "a": "x", "b": None, "z": 9},),
        policy=REORDER,
    ),
    Scenario(
        "add a first field to a struct and take over the order",
        shape(c("p", _PERSON)),
        ({"id": 1, "p": _ANN}, {"id": 2, "p": None}),
        shape(c("p", struct(c("city", STRING), c("name", STRING), c("age", INT)))),
        ({"id": 1, "p": {**_ANN, "city": None}}, {"id": 2, "p": None}),
        policy=REORDER,
    ),
)
