"""Scenarios: columns that go, take another name or another place."""

from __future__ import annotations

from instar.core.schema import Hint
from instar.core.types import array, map_of, struct
from instar.testing.scenario import DROP, REORDER, Scenario
from instar.testing.words import BIGINT, INT, STRING, c, shape

_AB = shape(c("a", STRING), c("b", STRING))
_ROW = {"id": 1, "a": "was a", "b": "was b"}
_NULLS = {"id": 2, "a": None, "b": "b2"}
_XY = struct(c("x", INT), c("y", INT))
_X1, _X2 = {"x": 1, "y": 2}, {"x": None, "y": 3}
_X = struct(c("x", INT))


def _was(name: str) -> Hint:
    return Hint(renamed_from=name)


_DROPS = (
    Scenario(
        "drop a column",
        _AB,
        (_ROW, _NULLS),
        shape(c("b", STRING)),
        ({"id": 1, "b": "was b"}, {"id": 2, "b": "b2"}),
        policy=DROP,
    ),
    Scenario(
        "a column that is not declared stays",
        _AB,
        (_ROW,),
        shape(c("b", STRING)),
        (_ROW,),
    ),
    Scenario(
        "drop a field of a struct",
        shape(c("s", _XY)),
        ({"id": 1, "s": _X1}, {"id": 2, "s": None}, {"id": 3, "s": _X2}),
        shape(c("s", _X)),
        ({"id": 1, "s": {"x": 1}}, {"id": 2, "s": None}, {"id": 3, "s": {"x": None}}),
        policy=DROP,
    ),
    Scenario(
        "drop a field of the structs in an array",
        shape(c("l", array(_XY))),
        ({"id": 1, "l": [_X1, None, _X2]}, {"id": 2, "l": []}, {"id": 3, "l": None}),
        shape(c("l", array(_X))),
        (
            {"id": 1, "l": [{"x": 1}, None, {"x": None}]},
            {"id": 2, "l": []},
            {"id": 3, "l": None},
        ),
        policy=DROP,
    ),
    Scenario(
        "drop a field of the values of a map",
        shape(c("m", map_of(STRING, _XY))),
        ({"id": 1, "m": {"k": _X1, "n": None}}, {"id": 2, "m": None}),
        shape(c("m", map_of(STRING, _X))),
        ({"id": 1, "m": {"k": {"x": 1}, "n": None}}, {"id": 2, "m": None}),
        policy=DROP,
    ),
)

_RENAMES = (
    Scenario(
        "rename a column",
        _AB,
        (_ROW, _NULLS),
        shape(c("c", STRING), c("b", STRING)),
        ({"id": 1, "c": "was a", "b": "was b"}, {"id": 2, "c": None, "b": "b2"}),
        hints={("c",): _was("a")},
    ),
    Scenario(
        "rename a chain of columns",
        _AB,
        (_ROW, _NULLS),
        shape(c("b", STRING), c("c", STRING)),
        ({"id": 1, "b": "was a", "c": "was b"}, {"id": 2, "b": None, "c": "b2"}),
        hints={("b",): _was("a"), ("c",): _was("b")},
    ),
    Scenario(
        "swap the names of two columns",
        _AB,
        (_ROW, _NULLS),
        _AB,
        ({"id": 1, "a": "was b", "b": "was a"}, {"id": 2, "a": "b2", "b": None}),
        hints={("a",): _was("b"), ("b",): _was("a")},
    ),
    Scenario(
        "swap the names of two columns of different types",
        shape(c("a", STRING), c("b", INT)),
        ({"id": 1, "a": "text", "b": 5},),
        shape(c("b", STRING), c("a", INT)),
        ({"id": 1, "b": "text", "a": 5},),
        hints={("a",): _was("b"), ("b",): _was("a")},
    ),
    Scenario(
        "three columns pass their names round",
        shape(c("a", INT), c("b", INT), c("c", INT)),
        ({"id": 1, "a": 1, "b": 2, "c": 3},),
        shape(c("a", INT), c("b", INT), c("c", INT)),
        ({"id": 1, "a": 3, "b": 1, "c": 2},),
        hints={("a",): _was("c"), ("b",): _was("a"), ("c",): _was("b")},
    ),
    Scenario(
        "rename a column by case only, declared",
        _AB,
        (_ROW,),
        shape(c("A", STRING), c("b", STRING)),
        ({"id": 1, "A": "was a", "b": "was b"},),
        hints={("A",): _was("a")},
    ),
    Scenario(
        "another case in the declaration is no change",
        _AB,
        (_ROW,),
        shape(c("A", STRING), c("B", STRING)),
        (_ROW,),
    ),
    Scenario(
        "rename a field of a struct",
        shape(c("s", _XY)),
        ({"id": 1, "s": _X1}, {"id": 2, "s": None}, {"id": 3, "s": _X2}),
        shape(c("s", struct(c("x", INT), c("z", INT)))),
        (
            {"id": 1, "s": {"x": 1, "z": 2}},
            {"id": 2, "s": None},
            {"id": 3, "s": {"x": None, "z": 3}},
        ),
        hints={("s", "z"): _was("y")},
    ),
    Scenario(
        "swap the names of two fields of a struct",
        shape(c("s", _XY)),
        ({"id": 1, "s": _X1}, {"id": 2, "s": None}),
        shape(c("s", _XY)),
        ({"id": 1, "s": {"x": 2, "y": 1}}, {"id": 2, "s": None}),
        hints={("s", "x"): _was("y"), ("s", "y"): _was("x")},
    ),
    Scenario(
        "rename a field inside a renamed struct",
        shape(c("s", _XY)),
        ({"id": 1, "s": _X1}, {"id": 2, "s": None}),
        shape(c("point", struct(c("east", INT), c("y", INT)))),
        ({"id": 1, "point": {"east": 1, "y": 2}}, {"id": 2, "point": None}),
        hints={("point",): _was("s"), ("point", "east"): _was("x")},
    ),
    Scenario(
        "rename a field of the structs in an array",
        shape(c("l", array(_XY))),
        ({"id": 1, "l": [_X1, None]}, {"id": 2, "l": None}),
        shape(c("l", array(struct(c("x", INT), c("z", INT))))),
        ({"id": 1, "l": [{"x": 1, "z": 2}, None]}, {"id": 2, "l": None}),
        hints={("l", "element", "z"): _was("y")},
    ),
    Scenario(
        "rename a field of the values of a map",
        shape(c("m", map_of(STRING, _XY))),
        ({"id": 1, "m": {"k": _X1}}, {"id": 2, "m": None}),
        shape(c("m", map_of(STRING, struct(c("x", INT), c("z", INT))))),
        ({"id": 1, "m": {"k": {"x": 1, "z": 2}}}, {"id": 2, "m": None}),
        hints={("m", "value", "z"): _was("y")},
    ),
    Scenario(
        "rename and widen a column in one go",
        shape(c("n", INT)),
        ({"id": 1, "n": 2**31 - 1}, {"id": 2, "n": None}),
        shape(c("m", BIGINT)),
        ({"id": 1, "m": 2**31 - 1}, {"id": 2, "m": None}),
        hints={("m",): _was("n")},
    ),
)

_ORDER = (
    Scenario(
        "reorder columns",
        _AB,
        (_ROW, _NULLS),
        shape(c("b", STRING), c("a", STRING)),
        (_ROW, _NULLS),
        policy=REORDER,
    ),
    Scenario(
        "the live order is kept unless asked",
        _AB,
        (_ROW, _NULLS),
        shape(c("b", STRING), c("a", STRING)),
        (_ROW, _NULLS),
    ),
    Scenario(
        "reorder the fields of a struct",
        shape(c("s", _XY)),
        ({"id": 1, "s": _X1}, {"id": 2, "s": None}),
        shape(c("s", struct(c("y", INT), c("x", INT)))),
        ({"id": 1, "s": _X1}, {"id": 2, "s": None}),
        policy=REORDER,
    ),
    Scenario(
        "reorder the fields of the structs in an array",
        shape(c("l", array(_XY))),
        ({"id": 1, "l": [_X1, None, _X2]}, {"id": 2, "l": None}),
        shape(c("l", array(struct(c("y", INT), c("x", INT))))),
        ({"id": 1, "l": [_X1, None, _X2]}, {"id": 2, "l": None}),
        policy=REORDER,
    ),
    Scenario(
        "reorder, rename and add at once",
        shape(c("a", STRING), c("b", STRING), c("z", INT)),
        ({"id": 1, "a": "was a", "b": "was b", "z": 3},),
        shape(c("z", INT), c("new", INT), c("bee", STRING), c("a", STRING)),
        ({"id": 1, "a": "was a", "bee": "was b", "z": 3, "new": None},),
        hints={("bee",): _was("b")},
        policy=REORDER,
    ),
)

MOVING = (*_DROPS, *_RENAMES, *_ORDER)
