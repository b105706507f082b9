"""Scenarios: what must hold: NOT NULL, defaults, keys, constraints; and comments."""

from __future__ import annotations

from instar.core.schema import Check, Hint, Unique
from instar.core.types import struct
from instar.testing.scenario import DROP, Said, Scenario
from instar.testing.words import INT, STRING, c, keyed, required, shape

_A = shape(c("a", STRING))
_GOOD = ({"id": 1, "a": "x"}, {"id": 2, "a": "y"})
_WITH_NULL = (*_GOOD, {"id": 3, "a": None})
_DOUBLED = ({"id": 1, "a": "x"}, {"id": 2, "a": "x"}, {"id": 3, "a": None}, {"id": 4, "a": None})
_AMOUNT = shape(c("amount", INT))
_POSITIVE = Check("positive", "amount >= 0")
_ONE_A = Unique("one_a", ("a",))

_NULLS = (
    Scenario(
        "make a column NOT NULL, clean",
        _A,
        _GOOD,
        shape(required("a", STRING)),
        _GOOD,
    ),
    Scenario(
        "make a column NOT NULL, with NULLs",
        keyed(c("a", STRING)),
        _WITH_NULL,
        keyed(required("a", STRING)),
        block=Said("F203", 1, ("3",)),
    ),
    Scenario(
        "make a column NOT NULL and fill its NULLs",
        _A,
        _WITH_NULL,
        shape(required("a", STRING)),
        (*_GOOD, {"id": 3, "a": "none"}),
        hints={("a",): Hint(default="'none'")},
    ),
    Scenario(
        "a column need no longer be said",
        shape(required("a", STRING)),
        _GOOD,
        _A,
        _GOOD,
    ),
    Scenario(
        "make a field of a struct NOT NULL, with NULLs",
        keyed(c("s", struct(c("x", INT)))),
        ({"id": 1, "s": {"x": 1}}, {"id": 2, "s": {"x": None}}),
        keyed(c("s", struct(required("x", INT)))),
        block=Said("F203", 1, ("2",)),
    ),
)

_SAID = (
    Scenario("set a default", _A, _GOOD, shape(c("a", STRING, default="'d'")), _GOOD),
    Scenario(
        "change a default",
        shape(c("a", STRING, default="'d'")),
        _GOOD,
        shape(c("a", STRING, default="'e'")),
        _GOOD,
    ),
    Scenario("drop a default", shape(c("a", STRING, default="'d'")), _GOOD, _A, _GOOD),
    Scenario(
        "comment on a column",
        _A,
        _GOOD,
        shape(c("a", STRING, comment='it\'s "said" \\ here')),
        _GOOD,
    ),
    Scenario(
        "comment on a field",
        shape(c("s", struct(c("x", INT)))),
        ({"id": 1, "s": {"x": 1}},),
        shape(c("s", struct(c("x", INT, comment="an x")))),
        ({"id": 1, "s": {"x": 1}},),
    ),
    Scenario(
        "comment on the table", _A, _GOOD, shape(c("a", STRING), comment="it's a table"), _GOOD
    ),
)

_KEYED = shape(required("k", INT), c("a", STRING), key=("k",))
_KEYED_ROWS = ({"id": 1, "k": 10, "a": "x"}, {"id": 2, "k": 20, "a": "x"})

_KEYS = (
    Scenario(
        "declare a primary key, clean",
        shape(required("k", INT), c("a", STRING)),
        _KEYED_ROWS,
        _KEYED,
        _KEYED_ROWS,
    ),
    Scenario(
        "declare a primary key, rows share it",
        shape(required("k", INT)),
        ({"id": 1, "k": 10}, {"id": 2, "k": 20}, {"id": 3, "k": 10}, {"id": 4, "k": 10}),
        shape(required("k", INT), key=("k",)),
        block=Said("F301", 3, ("10",), column="k"),
    ),
    Scenario(
        "declare a primary key, NULLs in it",
        shape(c("k", INT)),
        ({"id": 1, "k": 10}, {"id": 2, "k": None}),
        shape(required("k", INT), key=("k",)),
        block=Said("F203", 1),
    ),
    Scenario(
        "change the primary key, clean",
        _KEYED,
        _KEYED_ROWS,
        shape(required("k", INT), c("a", STRING), key=("k", "a")),
        block=None,
        after=_KEYED_ROWS,
    ),
    Scenario(
        "rename a column of the primary key",
        _KEYED,
        _KEYED_ROWS,
        shape(required("key", INT), c("a", STRING), key=("key",)),
        ({"id": 1, "key": 10, "a": "x"}, {"id": 2, "key": 20, "a": "x"}),
        hints={("key",): Hint(renamed_from="k")},
    ),
    Scenario(
        "drop the primary key",
        _KEYED,
        _KEYED_ROWS,
        shape(required("k", INT), c("a", STRING)),
        _KEYED_ROWS,
        policy=DROP,
    ),
)

_CONSTRAINTS = (
    Scenario(
        "add a unique constraint, clean",
        _A,
        _WITH_NULL,
        shape(c("a", STRING), constraints=(_ONE_A,)),
        _WITH_NULL,
    ),
    Scenario(
        "add a unique constraint, two rows share a value",
        _A,
        _DOUBLED,
        shape(c("a", STRING), constraints=(_ONE_A,)),
        block=Said("F301", 2, ("x",), column="a"),
    ),
    Scenario(
        "a unique column called n, zero twice",
        shape(c("n", INT)),
        ({"id": 1, "n": 0}, {"id": 2, "n": 0}, {"id": 3, "n": 5}),
        shape(c("n", INT), constraints=(Unique("one_n", ("n",)),)),
        block=Said("F301", 2, ("0",), column="n"),
    ),
    Scenario(
        "add a check, NULL passes",
        _AMOUNT,
        ({"id": 1, "amount": 0}, {"id": 2, "amount": None}),
        shape(c("amount", INT), constraints=(_POSITIVE,)),
        ({"id": 1, "amount": 0}, {"id": 2, "amount": None}),
    ),
    Scenario(
        "add a check that a row fails",
        keyed(c("amount", INT)),
        ({"id": 1, "amount": 0}, {"id": 2, "amount": -1}, {"id": 3, "amount": None}),
        keyed(c("amount", INT), constraints=(_POSITIVE,)),
        block=Said("F302", 1, ("2",)),
    ),
    Scenario(
        "drop a check",
        shape(c("amount", INT), constraints=(_POSITIVE,)),
        ({"id": 1, "amount": 5},),
        _AMOUNT,
        ({"id": 1, "amount": 5},),
        policy=DROP,
    ),
    Scenario(
        "add a column and a check on it",
        _AMOUNT,
        ({"id": 1, "amount": 5},),
        shape(c("amount", INT), c("tax", INT), constraints=(Check("less", "tax <= amount"),)),
        ({"id": 1, "amount": 5, "tax": 1},),
        hints={("tax",): Hint(default="1")},
    ),
)

REQUIRING = (*_NULLS, *_SAID, *_KEYS, *_CONSTRAINTS)
