"""Which part of a nested column an expression names: `s.a`, `s['a']`, `items[1].score`, `m['k']`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from instar.core.types import ELEMENT, VALUE, Array, Column, Map, Path, Struct, Type, children

Names = tuple[str | None, ...]
"""The steps that an expression takes into a value; None where it is an index or a computed key."""


def named_path(column: Any) -> tuple[Names, Any]:
    """The steps that follow a column of a query, and the expression that holds them all."""
    from sqlglot import exp

    found: list[str | None] = []
    node = column
    while (parent := node.parent) is not None:
        if parent.this is not node:
            break
        if isinstance(parent, exp.Dot) and isinstance(parent.expression, exp.Identifier):
            found.append(parent.expression.name)
        elif isinstance(parent, exp.Bracket) and len(parent.expressions) == 1:
            key = parent.expressions[0]
            if isinstance(key, exp.Slice):
                break
            found.append(key.name if key.is_string else None)
        elif isinstance(parent, exp.StructExtract):
            found.append(parent.expression.name if parent.expression.is_string else None)
        elif not isinstance(parent, exp.Paren):
            break
        node = parent
    return tuple(found), node


def resolve(types: Iterable[Type], names: Names) -> tuple[Path, bool]:
    """The part of a value that steps lead to, and whether they lead just there, by whichever type fits.

    Where a step cannot be followed the part before it is read: never less than what the engine reads.
    """
    if not names:
        return (), True
    found = [_walked(type_, names) for type_ in types]
    return max(found, key=lambda f: (f[1], len(f[0])), default=((), False))


def _walked(type_: Type, names: Names) -> tuple[Path, bool]:
    path: list[str] = []
    for name in names:
        match type_:
            case Struct(fields):
                field = named_field(fields, name)
                if field is None:
                    return tuple(path), False
                path.append(field.name)
                type_ = field.type
            case Array(element) if name is None:
                path.append(ELEMENT)
                type_ = element.type
            case Array(element):
                # Spark: that field of every element, which is an array again.
                inner, _ = _walked(element.type, (name,))
                return (*path, ELEMENT, *inner), False
            case Map(_, value):
                path.append(VALUE)
                type_ = value.type
            case _:
                return tuple(path), False
    return tuple(path), True


def named_field(fields: Sequence[Column], name: str | None) -> Column | None:
    wish = None if name is None else name.casefold()
    return next((f for f in fields if f.name.casefold() == wish), None)


def parts(types: Iterable[Type], path: Path) -> list[Type]:
    """The types that stand at a path inside these."""
    found = list(types)
    for name in path:
        inner = (named_field(children(type_), name) for type_ in found)
        found = [column.type for column in inner if column is not None]
    return found
