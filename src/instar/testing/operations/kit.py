"""Short ways to write an operation: two rows before, the same two rows after."""

from __future__ import annotations

from typing import Any

from instar.core.types import Type, struct
from instar.testing.scenario import Row, Scenario, Shape
from instar.testing.words import INT, STRING, c, shape

X = c("x", INT)
S = struct(c("a", INT), c("b", STRING))
S_MORE = struct(c("a", INT), c("b", STRING), c("n", STRING))
S_VALUE = {"a": 1, "b": "u"}


def plain(name: str, live: Shape, wanted: Shape, **more: Any) -> Scenario:
    """Two rows with x = 1 and NULL, which every operation here must keep."""
    rows: tuple[Row, ...] = ({"id": 1, "x": 1}, {"id": 2, "x": None})
    after = more.pop("after", rows)
    return Scenario(name, live, more.pop("rows", rows), wanted, after, **more)


def typed(old: Type, new: Type, before: object, after: object, name: str) -> Scenario:
    rows: tuple[Row, ...] = ({"id": 1, "x": before}, {"id": 2, "x": None})
    then: tuple[Row, ...] = ({"id": 1, "x": after}, {"id": 2, "x": None})
    return Scenario(name, shape(c("x", old)), rows, shape(c("x", new)), then)


def nested(name: str, old: Type, new: Type, before: object, after: object, **more: Any) -> Scenario:
    rows: tuple[Row, ...] = ({"id": 1, "s": before}, {"id": 2, "s": None})
    then: tuple[Row, ...] = ({"id": 1, "s": after}, {"id": 2, "s": None})
    return Scenario(name, shape(c("s", old)), rows, shape(c("s", new)), then, **more)
