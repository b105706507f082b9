"""What DuckDB and Spark write alike and compute differently, where no translation tells the two apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from instar.core.types import Binary, Date, Float, Map, String, Struct, Timestamp, Type
from instar.dialects import reading
from instar.sources.models_words import calls

TypeOf = Callable[[Any], Type | None]
"""The type that the engine gives to a part of an expression; None where it does not say."""
_BYTES = 256


@dataclass(frozen=True, slots=True)
class Part:
    """One call or operator of an expression, and what can be asked about it."""

    node: Any
    calls: frozenset[tuple[str, int]]
    type_of: TypeOf

    def argument(self, place: int) -> Any:
        found = list(self.node.iter_expressions())
        return found[place] if len(found) > place else None


@dataclass(frozen=True, slots=True)
class Difference:
    """In what the two dialects differ, how to say it alike, and when that matters."""

    words: str
    hint: str
    when: Callable[[Part], bool] = lambda part: True


def _is_negative(value: Any) -> bool:
    return value is not None and str(value).startswith("-")


def _from_behind(part: Part) -> bool:
    start = part.node.args.get("start")
    return str(start) == "0" or (_is_negative(start) and "length" in part.node.args)


def _backwards(part: Part) -> bool:
    return _is_negative(part.argument(1))


def _of(*units: str) -> Callable[[Part], bool]:
    def named(part: Part) -> bool:
        unit = part.argument(0)
        return unit is not None and unit.name.casefold() in units

    return named


def _not_whole_days(part: Part) -> bool:
    """Only days between two dates are counted alike."""
    unit = part.node.args.get("unit")
    if unit is not None and unit.name.casefold() not in ("day", "days"):
        return True
    sides = (part.node.this, part.node.expression)
    return not all(isinstance(part.type_of(side), Date) for side in sides)


def _not_all_alike(part: Part) -> bool:
    """DuckDB's flag g says all; what stands for a group in the new text differs even then."""
    args = part.node.args
    flags, new = args.get("modifiers") or args.get("position"), args.get("replacement")
    plain = new is not None and new.is_string and not set(new.name) & {"\\", "$"}
    return "g" not in str(flags) or not plain


def _whole_match(part: Part) -> bool:
    pattern = part.node.expression
    grouped = pattern is None or not pattern.is_string or "(" in pattern.name
    return grouped and ("regexp_extract", 2) in part.calls


def _alone(part: Part) -> bool:
    return part.node.expression is None or str(part.node.expression) == ""


def _with_a_backslash(part: Part) -> bool:
    from sqlglot import exp

    pattern = part.node.expression
    escaped = isinstance(part.node.parent, exp.Escape)
    return not escaped and bool(pattern.is_string) and "\\" in pattern.name


def _beyond_bytes(part: Part) -> bool:
    code = part.argument(0)
    return code is None or not (code.is_int and 0 <= int(code.name) < _BYTES)


def _as_text(part: Part) -> bool:
    from sqlglot import exp

    to = part.node.args["to"]
    is_text = to.this in exp.DataType.TEXT_TYPES
    return is_text and _written_differently(part.type_of(part.node.this))


def _written_differently(type_: Type | None) -> bool:
    zoned = isinstance(type_, Timestamp) and type_.zone
    return zoned or isinstance(type_, Float | Struct | Map | Binary)


_SUNDAY = Difference(
    "DuckDB counts the days of a week from 0, Spark from 1 or from Monday",
    "Count from a Monday that you name: datediff(day, DATE '2024-01-01', …) % 7.",
)
_WEEKDAY = replace(_SUNDAY, when=_of("dow", "dayofweek", "weekday"))
_CUT = Difference(
    "DuckDB cuts a negative number from the other end, Spark gives an empty text",
    "Say how many characters to take, by length(…).",
    _backwards,
)
_SECONDS = Difference(
    "DuckDB gives whole seconds, Spark seconds with their fraction",
    "Say second(…) for whole seconds.",
    _of("second", "seconds"),
)
_NAME = Difference(
    "DuckDB gives the whole name, Spark its first three letters", "Write a CASE over the number."
)
_TEXT = Difference(
    "a FLOAT, a BINARY, a time with a zone, a struct and a map have another text in each engine",
    "Cast a number to DECIMAL(p, s) first, a time to one without a zone.",
    _as_text,
)
_SLICE = Difference(
    "DuckDB takes the first and the last place, Spark the first place and a length",
    "Name the elements one by one.",
)
_NULL_IN_LISTS = Difference(
    "each engine has a way of its own with NULL and with what is not in the list",
    "Compute it in the query of the model instead.",
)

_DIFFERENT: Mapping[str, tuple[Difference, ...]] = {
    "substring": (
        Difference(
            "from 0 or from before the beginning each engine takes other characters",
            "Count from 1.",
            _from_behind,
        ),
    ),
    "dayofweek": (_SUNDAY,),
    "weekday": (_SUNDAY,),
    "extract": (_WEEKDAY, _SECONDS),
    "date_part": (_WEEKDAY, _SECONDS),
    "datepart": (_WEEKDAY, _SECONDS),
    "dayname": (_NAME,),
    "monthname": (_NAME,),
    "left": (_CUT,),
    "right": (_CUT,),
    "hash": (Difference("each engine has a hash of its own", "Use md5(…)."),),
    "typeof": (
        Difference("each engine has names of its own for types", "Write the name as text."),
    ),
    "log": (
        Difference(
            "DuckDB's log is that of base 10, Spark's the natural one", "Say log10 or ln.", _alone
        ),
    ),
    "regexpreplace": (
        Difference(
            "DuckDB replaces the first match and has \\1 for a group, Spark replaces all and has $1",
            "Use replace(…) for a plain text.",
            _not_all_alike,
        ),
    ),
    "regexpextract": (
        Difference(
            "without a group's number DuckDB gives the whole match, Spark the first group",
            "Add the number of the group: regexp_extract(text, pattern, 1).",
            _whole_match,
        ),
    ),
    "like": (
        Difference(
            "a backslash in a pattern of LIKE is itself in DuckDB, an escape in Spark",
            "Say which character escapes: LIKE … ESCAPE '!'.",
            _with_a_backslash,
        ),
    ),
    "chr": (
        Difference("Spark's chr knows 256 characters only", "Write the character.", _beyond_bytes),
    ),
    "datediff": (
        Difference(
            "DuckDB counts the borders that are crossed, Spark whole units",
            "Count days between two dates; cast a time to DATE first.",
            _not_whole_days,
        ),
    ),
    "arrayslice": (_SLICE,),
    "arraycontains": (_NULL_IN_LISTS,),
    "arrayposition": (_NULL_IN_LISTS,),
    "arraydistinct": (_NULL_IN_LISTS,),
    "sortarray": (_NULL_IN_LISTS,),
    "arraysort": (_NULL_IN_LISTS,),
    "jsonformat": (
        Difference("DuckDB writes a NULL field, Spark leaves it out", "Build the text by hand."),
    ),
    "cast": (_TEXT,),
    "trycast": (_TEXT,),
}
"""By sqlglot's key of the part, or by the name of a function that it does not know."""


def difference(sql: str, type_: Type, type_of: TypeOf) -> Difference | None:
    """Why an expression for a column of a type means one thing in DuckDB and another in Spark."""
    for dialect in ("duckdb", "spark"):
        called = calls(sql, dialect)
        for node in _parts(sql, dialect):
            name = node.name if node.key == "anonymous" else node.key
            for found in _DIFFERENT.get(name.casefold(), ()):
                if found.when(Part(node, called, type_of)):
                    return found
            becomes_text = node.parent is None and isinstance(type_, String)
            if becomes_text and _written_differently(type_of(node)):
                return _TEXT
    return None


def _parts(sql: str, dialect: str) -> Iterator[Any]:
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tree = sqlglot.parse_one(sql, read=reading(dialect))
    except SqlglotError:
        return
    yield from tree.walk()
