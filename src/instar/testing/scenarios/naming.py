"""Scenarios: names that must be quoted, at every depth and in every kind of change."""

from __future__ import annotations

from instar.core.schema import Hint
from instar.core.types import struct
from instar.testing.scenario import DROP, REORDER, Scenario
from instar.testing.words import BIGINT, INT, STRING, c, shape, varchar

ODD_NAMES = (
    "select",
    "a b",
    "a.b",
    'dou"ble',
    "back`tick",
    "sing'le",
    "ünï",
    "CamelCase",
    "da-sh",
    "new\tline",
    "🦋",
    "100%",
    "a;b",
    "(x,y)",
)
_ODD = shape(*(c(name, INT) for name in ODD_NAMES))
_VALUES = {name: i for i, name in enumerate(ODD_NAMES)}
_ROW = {"id": 1, **_VALUES}
_FIELDS = struct(*(c(name, INT) for name in ODD_NAMES))
_ADDED = "new `col.\"umn'"

_PARTS = ("key", "value", "element")
"""Names that paths also use for the parts of arrays and maps."""
_PART_ROW = {"id": 1, "key": "7", "value": "8", "element": "9"}
_PART_FIELDS = {"key": "7", "value": "8", "element": "9"}
_PART_NUMBERS = {"key": 7, "value": 8, "element": 9}

NAMING = (
    Scenario(
        "columns called key, value and element",
        shape(*(c(name, STRING) for name in _PARTS)),
        (_PART_ROW, {"id": 2, "key": None, "value": None, "element": None}),
        shape(*(c(name, INT) for name in _PARTS)),
        ({"id": 1, **_PART_NUMBERS}, {"id": 2, "key": None, "value": None, "element": None}),
    ),
    Scenario(
        "fields called key, value and element",
        shape(c("s", struct(*(c(name, STRING) for name in _PARTS)))),
        ({"id": 1, "s": _PART_FIELDS}, {"id": 2, "s": None}),
        shape(c("s", struct(*(c(name, INT) for name in _PARTS)))),
        ({"id": 1, "s": _PART_NUMBERS}, {"id": 2, "s": None}),
    ),
    Scenario(
        "add beside odd names",
        _ODD,
        (_ROW,),
        shape(*_ODD.columns[1:], c(_ADDED, STRING)),
        ({**_ROW, _ADDED: None},),
    ),
    Scenario(
        "widen columns with odd names",
        _ODD,
        (_ROW,),
        shape(*(c(name, BIGINT) for name in ODD_NAMES)),
        (_ROW,),
    ),
    Scenario(
        "rename odd names to odd names",
        _ODD,
        (_ROW,),
        shape(*(c(f"{name} 2", INT) for name in ODD_NAMES)),
        ({"id": 1, **{f"{name} 2": v for name, v in _VALUES.items()}},),
        hints={(f"{name} 2",): Hint(renamed_from=name) for name in ODD_NAMES},
    ),
    Scenario(
        "drop odd names",
        _ODD,
        (_ROW,),
        shape(),
        ({"id": 1},),
        policy=DROP,
    ),
    Scenario(
        "reorder odd names",
        _ODD,
        (_ROW,),
        shape(*(c(name, INT) for name in reversed(ODD_NAMES))),
        (_ROW,),
        policy=REORDER,
    ),
    Scenario(
        "change fields with odd names",
        shape(c("s t", _FIELDS)),
        ({"id": 1, "s t": _VALUES}, {"id": 2, "s t": None}),
        shape(
            c(
                "s t",
                struct(*(c(name, BIGINT) for name in ODD_NAMES), c(_ADDED, STRING)),
            )
        ),
        ({"id": 1, "s t": {**_VALUES, _ADDED: None}}, {"id": 2, "s t": None}),
    ),
    Scenario(
        "rename fields with odd names",
        shape(c("s.t", _FIELDS)),
        ({"id": 1, "s.t": _VALUES}, {"id": 2, "s.t": None}),
        shape(c("s.t", struct(*(c(f"{name} 2", INT) for name in ODD_NAMES)))),
        (
            {"id": 1, "s.t": {f"{name} 2": v for name, v in _VALUES.items()}},
            {"id": 2, "s.t": None},
        ),
        hints={("s.t", f"{name} 2"): Hint(renamed_from=name) for name in ODD_NAMES},
    ),
    Scenario(
        "add text with a limit beside fields with odd names",
        shape(c("s", _FIELDS)),
        ({"id": 1, "s": _VALUES}, {"id": 2, "s": None}),
        shape(c("s", struct(*_FIELDS.fields, c("short", varchar(3))))),
        ({"id": 1, "s": {**_VALUES, "short": None}}, {"id": 2, "s": None}),
    ),
)
