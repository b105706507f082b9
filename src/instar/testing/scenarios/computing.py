"""Scenarios: values from expressions over the old row, and many changes at once."""

from __future__ import annotations

from decimal import Decimal

from instar.core.schema import Hint
from instar.core.types import array, struct
from instar.testing.scenario import DROP, REORDER, Said, Scenario
from instar.testing.words import BIGINT, INT, STRING, c, dec, required, shape

_FULL = shape(c("full_name", STRING))
_SPLIT = shape(c("first_name", STRING), c("last_name", STRING))

COMPUTING = (
    Scenario(
        "split a column in two and drop it",
        _FULL,
        (
            {"id": 1, "full_name": "Ada Lovelace"},
            {"id": 2, "full_name": "Cher"},
            {"id": 3, "full_name": None},
        ),
        _SPLIT,
        (
            {"id": 1, "first_name": "Ada", "last_name": "Lovelace"},
            {"id": 2, "first_name": "Cher", "last_name": ""},
            {"id": 3, "first_name": None, "last_name": None},
        ),
        hints={
            ("first_name",): Hint(using="split_part(full_name, ' ', 1)"),
            ("last_name",): Hint(using="split_part(full_name, ' ', 2)"),
        },
        policy=DROP,
    ),
    Scenario(
        "merge two columns into one and drop them",
        _SPLIT,
        (
            {"id": 1, "first_name": "Ada", "last_name": "Lovelace"},
            {"id": 2, "first_name": "Cher", "last_name": None},
        ),
        _FULL,
        ({"id": 1, "full_name": "Ada Lovelace"}, {"id": 2, "full_name": "Cher"}),
        hints={("full_name",): Hint(using="first_name || COALESCE(' ' || last_name, '')")},
        policy=DROP,
    ),
    Scenario(
        "another type by an expression",
        shape(c("v", STRING)),
        ({"id": 1, "v": "12 kg"}, {"id": 2, "v": None}),
        shape(c("v", INT)),
        ({"id": 1, "v": 12}, {"id": 2, "v": None}),
        hints={("v",): Hint(using="split_part(v, ' ', 1)")},
    ),
    Scenario(
        "another type, NULL for some values",
        shape(c("v", STRING)),
        ({"id": 1, "v": "12"}, {"id": 2, "v": "x"}, {"id": 3, "v": None}),
        shape(c("v", INT)),
        ({"id": 1, "v": 12}, {"id": 2, "v": None}, {"id": 3, "v": None}),
        warn=Said("F205", count=1, keys=("x",), column="v"),
        hints={("v",): Hint(using="CASE WHEN v <> 'x' THEN v END")},
    ),
    Scenario(
        "several changes at once",
        shape(
            c("a", INT),
            c("b", STRING),
            c("old", STRING),
            c("s", struct(c("x", INT), c("y", STRING))),
            c("l", array(struct(c("k", INT)))),
        ),
        (
            {
                "id": 1,
                "a": 5,
                "b": "1.25",
                "old": "gone",
                "s": {"x": 1, "y": "why"},
                "l": [{"k": 7}, None],
            },
            {"id": 2, "a": None, "b": None, "old": None, "s": None, "l": None},
        ),
        shape(
            c("a", BIGINT),
            c("price", dec(10, 2)),
            c("s", struct(c("x", BIGINT), c("z", STRING), c("new", INT))),
            c("l", array(struct(c("k", BIGINT), c("n", STRING)))),
            required("status", STRING),
        ),
        (
            {
                "id": 1,
                "a": 5,
                "price": Decimal("1.25"),
                "s": {"x": 1, "z": "why", "new": None},
                "l": [{"k": 7, "n": None}, None],
                "status": "UNDEFINED",
            },
            {"id": 2, "a": None, "price": None, "s": None, "l": None, "status": "UNDEFINED"},
        ),
        hints={
            ("price",): Hint(renamed_from="b"),
            ("s", "z"): Hint(renamed_from="y"),
            ("status",): Hint(default="'UNDEFINED'"),
        },
        policy=DROP,
    ),
    Scenario(
        "several changes at once, in a new order",
        shape(c("a", INT), c("b", STRING), c("s", struct(c("x", INT), c("y", STRING)))),
        (
            {"id": 1, "a": 5, "b": "bee", "s": {"x": 1, "y": "why"}},
            {"id": 2, "a": None, "b": None, "s": None},
        ),
        shape(
            c("s", struct(c("y", STRING), c("x", BIGINT))),
            c("bee", STRING),
            c("twice", INT),
            c("a", BIGINT),
        ),
        (
            {"id": 1, "a": 5, "bee": "bee", "s": {"x": 1, "y": "why"}, "twice": 10},
            {"id": 2, "a": None, "bee": None, "s": None, "twice": None},
        ),
        hints={("bee",): Hint(renamed_from="b"), ("twice",): Hint(using="a * 2")},
        policy=REORDER,
    ),
)
