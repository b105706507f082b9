"""Which types of Parquet files Spark reads right under another declared type, seen at every depth.

Each pair was read as a column, a struct field, an array element and a map value, with the vectorised and
the row reader. What is not here either fails or, worse, gives other values without an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from instar.core.matching import Fold
from instar.core.types import (
    Array,
    Binary,
    Column,
    Date,
    Decimal,
    Float,
    Integer,
    Map,
    Path,
    String,
    Struct,
    Timestamp,
    Type,
    bare,
    children,
    path_text,
    type_text,
)

Rule = Callable[[Any, Any], bool]


def _holds(old: Integer, new: Decimal) -> bool:
    """Spark wants room for every value of the stored integer, whatever the declared one."""
    return new.precision - new.scale >= {8: 10, 16: 10, 32: 10, 64: 20}[old.bits]


def _decimals(old: Decimal, new: Decimal) -> bool:
    return new.scale >= old.scale and new.precision - new.scale >= old.precision - old.scale


def _texts(old: String, new: String) -> bool:
    if new.length is None:
        return True
    return not old.fixed and not new.fixed and old.length is not None and old.length <= new.length


RIGHT: Mapping[tuple[type, type], Rule] = {
    (Integer, Integer): lambda o, n: o.bits < n.bits,
    (Integer, Float): lambda o, n: o.bits <= 32 and n.bits == 64,
    (Integer, Decimal): _holds,
    (Float, Float): lambda o, n: (o.bits, n.bits) == (32, 64),
    (Decimal, Decimal): _decimals,
    (Decimal, Integer): lambda o, n: o.scale == 0 and o.precision <= 18 and n.bits == 64,
    (Date, Timestamp): lambda _, n: not n.zone,
    (String, String): _texts,
    (String, Binary): lambda o, _: o.length is None,
    (Binary, String): lambda _, n: n.length is None,
}


def reads_right(old: Type, new: Type) -> bool:
    """Whether files with the old type give every value under the new one."""
    if bare(old) == bare(new):
        return True
    rule = RIGHT.get((type(old), type(new)))
    return rule is not None and rule(old, new)


def misread(
    files: Sequence[Column], wanted: Sequence[Column], new: frozenset[Path], fold: Fold
) -> Iterator[str]:
    """What is wrong with reading files of that schema as the wanted columns; nothing when all is right.

    `new` are the paths that are to read NULL: a file that has such a name holds values of something else.
    """
    yield from _level(files, wanted, (), new, fold)


def _level(
    files: Sequence[Column],
    wanted: Sequence[Column],
    parent: Path,
    new: frozenset[Path],
    fold: Fold,
) -> Iterator[str]:
    there = {fold(c.name): c for c in files}
    for column in wanted:
        path = (*parent, column.name)
        file = there.get(fold(column.name))
        if file is None:
            continue
        if path in new:
            yield f"files already hold another '{path_text(path)}'"
        elif file.name != column.name:
            yield f"files spell '{path_text(path)}' as '{file.name}'"
        else:
            yield from _types(file.type, column.type, path, new, fold)


def _types(file: Type, wanted: Type, path: Path, new: frozenset[Path], fold: Fold) -> Iterator[str]:
    match file, wanted:
        case (Struct(), Struct()) | (Array(), Array()) | (Map(), Map()):
            yield from _level(children(file), children(wanted), path, new, fold)
        case String(None), String():
            return  # Files keep no length: the declared one was looked at when this was planned.
        case _ if not reads_right(file, wanted):
            words = f"{type_text(file)} in files is not read right as {type_text(wanted)}"
            yield f"'{path_text(path)}': {words}"
        case _:
            return
