"""Operations inside structs, arrays and maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from instar.core.schema import Hint
from instar.core.types import ELEMENT, VALUE, Struct, Type, array, map_of, struct
from instar.testing.operations.kit import S_MORE, S_VALUE, S, nested
from instar.testing.scenario import DROP, REORDER, Row, Scenario
from instar.testing.words import BIGINT, DOUBLE, FLOAT, INT, STRING, c, required, shape


def insides() -> tuple[Scenario, ...]:
    held = (_Holder("an array of structs", ELEMENT), _Holder("a map of structs", VALUE))
    inside = (scenario for holder in held for scenario in _inside(holder))
    return (*_structs(), *_fields(), *_fields_said(), *_collections(), *inside, *_keys())


def _structs() -> tuple[Scenario, ...]:
    row = S_VALUE
    return (
        nested("add a struct field", S, S_MORE, row, {**row, "n": None}),
        nested("remove a struct field", S, struct(c("a", INT)), row, {"a": 1}, policy=DROP),
        nested(
            "rename a struct field",
            S,
            struct(c("a", INT), c("n", STRING)),
            row,
            {"a": 1, "n": "u"},
            hints={("s", "n"): Hint(renamed_from="b")},
        ),
        nested("widen in a struct", S, struct(c("a", BIGINT), c("b", STRING)), row, row),
        nested(
            "widen and add in one struct",
            S,
            struct(c("a", BIGINT), c("b", STRING), c("n", INT)),
            row,
            {**row, "n": None},
        ),
        nested(
            "reorder struct fields",
            S,
            struct(c("b", STRING), c("a", INT)),
            row,
            row,
            policy=REORDER,
        ),
    )


def _collections() -> tuple[Scenario, ...]:
    row, more = S_VALUE, {**S_VALUE, "n": None}
    return (
        nested("widen an array's elements", array(INT), array(BIGINT), [1, None], [1, None]),
        nested(
            "add a field to an array of structs",
            array(S),
            array(S_MORE),
            [row],
            [more],
        ),
        nested(
            "widen a map's values", map_of(STRING, INT), map_of(STRING, BIGINT), {"k": 1}, {"k": 1}
        ),
        nested(
            "add a field to a map of structs",
            map_of(STRING, S),
            map_of(STRING, S_MORE),
            {"k": row},
            {"k": more},
        ),
        nested("change a map's keys", map_of(INT, INT), map_of(BIGINT, INT), {1: 2}, {1: 2}),
    )


def _fields() -> tuple[Scenario, ...]:
    """What may happen to one field of a struct."""
    row = S_VALUE
    return (
        nested(
            "add a struct field at a position",
            S,
            struct(c("n", STRING), c("a", INT), c("b", STRING)),
            row,
            {**row, "n": None},
            policy=REORDER,
        ),
        nested(
            "fill old rows of a new struct field",
            S,
            S_MORE,
            row,
            {**row, "n": "v"},
            hints={("s", "n"): Hint(default="'v'")},
        ),
        nested(
            "swap the names of two struct fields",
            struct(c("a", INT), c("b", INT)),
            struct(c("a", INT), c("b", INT)),
            {"a": 1, "b": 2},
            {"a": 2, "b": 1},
            hints={("s", "a"): Hint(renamed_from="b"), ("s", "b"): Hint(renamed_from="a")},
        ),
        nested(
            "widen FLOAT → DOUBLE in a struct", _one(FLOAT), _one(DOUBLE), {"a": 1.5}, {"a": 1.5}
        ),
        nested("convert INT → STRING in a struct", _one(INT), _one(STRING), {"a": 7}, {"a": "7"}),
    )


def _fields_said() -> tuple[Scenario, ...]:
    row = S_VALUE
    strict = struct(c("a", INT), required("b", STRING))
    return (
        _full("set NOT NULL on a struct field", S, strict),
        _full("drop NOT NULL on a struct field", strict, S),
        nested(
            "set a default on a struct field",
            S,
            struct(c("a", INT, default="5"), c("b", STRING)),
            row,
            row,
        ),
        nested(
            "set a comment on a struct field",
            S,
            struct(c("a", INT, comment="said"), c("b", STRING)),
            row,
            row,
        ),
    )


def _one(type_: Type) -> Struct:
    return struct(c("a", type_))


def _full(name: str, old: Type, new: Type) -> Scenario:
    """Delta holds a NOT NULL field against a NULL struct too: no struct is NULL here."""
    rows: tuple[Row, ...] = ({"id": 1, "s": S_VALUE}, {"id": 2, "s": {"a": None, "b": "v"}})
    return Scenario(name, shape(c("s", old)), rows, shape(c("s", new)), rows)


@dataclass(frozen=True, slots=True)
class _Holder:
    """A collection of structs."""

    whose: str
    part: str

    def change(self, name: str, new: Type, after: object, **more: Any) -> Scenario:
        title = f"{name} in {self.whose}"
        return nested(
            title, self._of(S), self._of(new), self._held(S_VALUE), self._held(after), **more
        )

    def _of(self, type_: Type) -> Type:
        return array(type_) if self.part == ELEMENT else map_of(STRING, type_)

    def _held(self, value: object) -> object:
        return [value] if self.part == ELEMENT else {"k": value}


def _inside(held: _Holder) -> tuple[Scenario, ...]:
    """What may happen to a field of the structs that a collection holds."""
    at = ("s", held.part, "n")
    renamed, swapped = struct(c("a", INT), c("n", STRING)), struct(c("b", STRING), c("a", INT))
    return (
        held.change("remove a field", _one(INT), {"a": 1}, policy=DROP),
        held.change(
            "rename a field", renamed, {"a": 1, "n": "u"}, hints={at: Hint(renamed_from="b")}
        ),
        held.change("widen a field", struct(c("a", BIGINT), c("b", STRING)), S_VALUE),
        held.change("reorder the fields", swapped, S_VALUE, policy=REORDER),
        held.change(
            "fill old rows of a new field",
            S_MORE,
            {**S_VALUE, "n": "v"},
            hints={at: Hint(default="'v'")},
        ),
        held.change("set NOT NULL on a field", struct(c("a", INT), required("b", STRING)), S_VALUE),
        held.change(
            "set a comment on a field", struct(c("a", INT, comment="said"), c("b", STRING)), S_VALUE
        ),
    )


def _keys() -> tuple[Scenario, ...]:
    return (
        nested("convert an array's elements INT → STRING", array(INT), array(STRING), [7], ["7"]),
        nested(
            "convert a map's keys INT → STRING",
            map_of(INT, INT),
            map_of(STRING, INT),
            {7: 2},
            {"7": 2},
        ),
    )
