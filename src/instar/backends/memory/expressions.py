"""SQL expressions over a Python row: enough for defaults, `_using` and CHECK, with NULL as SQL has it."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal as PyDecimal
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp

from instar.backends.memory.convert import Lossy, convert
from instar.core.types import (
    Binary,
    Boolean,
    Date,
    Decimal,
    Float,
    Integer,
    String,
    Timestamp,
    Type,
)
from instar.errors import EngineError

Row = Mapping[str, Any]
DIALECT = "duckdb"


class Failed(ValueError):
    """The expression has no value for this row (a cast that fails, a division by zero)."""


@lru_cache(maxsize=512)
def parsed(sql: str) -> exp.Expression:
    try:
        found = sqlglot.parse_one(sql, dialect=DIALECT)
    except sqlglot.ParseError as error:
        raise _refused(sql, str(error).splitlines()[0]) from error
    assert isinstance(found, exp.Expression)
    return found


def evaluate(sql: str, row: Row) -> Any:
    """The value of an expression for a row. Raises Failed for a row it has no value for."""
    try:
        return _value(parsed(sql), row)
    except (Lossy, ArithmeticError, TypeError) as error:
        raise Failed(str(error)) from error


def _refused(sql: str, why: str) -> EngineError:
    return EngineError("E260", f"the memory engine cannot evaluate `{sql}`: {why}")


def _value(node: exp.Expression, row: Row) -> Any:
    rule = _NODES.get(type(node))
    if rule is None:
        raise _refused(node.sql(DIALECT), f"{type(node).__name__} is not known to it")
    return rule(node, row)


def _column(node: exp.Expression, row: Row) -> Any:
    assert isinstance(node, exp.Column)
    value: Any = row
    for part in node.parts:
        if value is None:
            return None
        name = part.name.casefold()
        found = [k for k in value if isinstance(k, str) and k.casefold() == name]
        if not found:
            raise _refused(node.sql(DIALECT), "there is no such column")
        value = value[found[0]]
    return value


def _literal(node: exp.Expression, _row: Row) -> Any:
    text = node.name
    if node.is_string:
        return text
    if re.fullmatch(r"\d+", text):
        return int(text)
    return float(text) if "e" in text.lower() else PyDecimal(text)


def _strict(rule: Callable[..., Any], *keys: str) -> Callable[[exp.Expression, Row], Any]:
    """A function that is NULL when an argument is."""

    def call(node: exp.Expression, row: Row) -> Any:
        arguments = [_value(node.args[key], row) for key in keys if node.args.get(key) is not None]
        return None if any(a is None for a in arguments) else rule(*arguments)

    return call


def _numbers(rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(a: Any, b: Any) -> Any:
        if isinstance(a, float) != isinstance(b, float):
            if isinstance(a, PyDecimal):
                a = float(a)
            if isinstance(b, PyDecimal):
                b = float(b)
        return rule(a, b)

    return call


def _and(node: exp.Expression, row: Row) -> bool | None:
    sides = [_value(node.args["this"], row), _value(node.args["expression"], row)]
    return False if False in sides else None if None in sides else True


def _or(node: exp.Expression, row: Row) -> bool | None:
    sides = [_value(node.args["this"], row), _value(node.args["expression"], row)]
    return True if True in sides else None if None in sides else False


def _is(node: exp.Expression, row: Row) -> bool:
    other = _value(node.args["expression"], row)
    value = _value(node.args["this"], row)
    return value is None if other is None else value is not None and value == other


def _in(node: exp.Expression, row: Row) -> bool | None:
    value = _value(node.args["this"], row)
    items = [_value(e, row) for e in node.expressions]
    if value is None:
        return None
    return True if value in items else None if None in items else False


def _coalesce(node: exp.Expression, row: Row) -> Any:
    for argument in [node.args["this"], *node.expressions]:
        if (value := _value(argument, row)) is not None:
            return value
    return None


def _case(node: exp.Expression, row: Row) -> Any:
    subject = node.args.get("this")
    for branch in node.args["ifs"]:
        test = _value(branch.args["this"], row)
        hit = test is True if subject is None else test == _value(subject, row) and test is not None
        if hit:
            return _value(branch.args["true"], row)
    last = node.args.get("default")
    return None if last is None else _value(last, row)


def _cast(node: exp.Expression, row: Row) -> Any:
    return convert(_value(node.args["this"], row), _cast_type(node.args["to"]))


def _try_cast(node: exp.Expression, row: Row) -> Any:
    try:
        return _cast(node, row)
    except Lossy:
        return None


_KINDS = exp.DType
_CAST_TYPES: dict[exp.DType, Type] = {
    _KINDS.BOOLEAN: Boolean(),
    _KINDS.TINYINT: Integer(8),
    _KINDS.SMALLINT: Integer(16),
    _KINDS.INT: Integer(32),
    _KINDS.BIGINT: Integer(64),
    _KINDS.FLOAT: Float(32),
    _KINDS.DOUBLE: Float(64),
    _KINDS.TEXT: String(),
    _KINDS.DATE: Date(),
    _KINDS.TIMESTAMP: Timestamp(zone=False),
    _KINDS.TIMESTAMPNTZ: Timestamp(zone=False),
    _KINDS.TIMESTAMPTZ: Timestamp(zone=True),
    _KINDS.BINARY: Binary(),
    _KINDS.VARBINARY: Binary(),
}


def _cast_type(to: exp.DataType) -> Type:
    size = [int(p.name) for p in to.expressions]
    if to.this is _KINDS.DECIMAL:
        precision, scale = [*size, *(18, 3)[len(size) :]]
        return Decimal(precision, scale)
    if to.this in (_KINDS.VARCHAR, _KINDS.CHAR):
        return String(size[0] if size else None)
    found = _CAST_TYPES.get(to.this)
    if found is None:
        raise _refused(to.sql(DIALECT), "no cast to that type")
    return found


def _split_part(text: str, mark: str, place: int) -> str:
    parts = text.split(mark)
    return parts[place - 1] if 0 < place <= len(parts) else ""


def _substring(text: str, start: int, length: int | None = None) -> str:
    return text[start - 1 : None if length is None else start - 1 + length]


def _concat(node: exp.Expression, row: Row) -> str:
    values = [_value(e, row) for e in node.expressions]
    return "".join(convert(v, String()) for v in values if v is not None)


def _join(a: Any, b: Any) -> str:
    return str(convert(a, String())) + str(convert(b, String()))


_PAIR = ("this", "expression")
_NODES: dict[type, Callable[[Any, Row], Any]] = {
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: lambda n, _: bool(n.this),
    exp.Null: lambda _n, _r: None,
    exp.Paren: lambda n, r: _value(n.this, r),
    exp.Neg: _strict(operator.neg, "this"),
    exp.Add: _strict(_numbers(operator.add), *_PAIR),
    exp.Sub: _strict(_numbers(operator.sub), *_PAIR),
    exp.Mul: _strict(_numbers(operator.mul), *_PAIR),
    exp.Div: _strict(_numbers(operator.truediv), *_PAIR),
    exp.Mod: _strict(_numbers(operator.mod), *_PAIR),
    exp.EQ: _strict(operator.eq, *_PAIR),
    exp.NEQ: _strict(operator.ne, *_PAIR),
    exp.LT: _strict(operator.lt, *_PAIR),
    exp.LTE: _strict(operator.le, *_PAIR),
    exp.GT: _strict(operator.gt, *_PAIR),
    exp.GTE: _strict(operator.ge, *_PAIR),
    exp.Between: _strict(lambda v, low, high: low <= v <= high, "this", "low", "high"),
    exp.Not: _strict(operator.not_, "this"),
    exp.And: _and,
    exp.Or: _or,
    exp.Is: _is,
    exp.In: _in,
    exp.Coalesce: _coalesce,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.TryCast: _try_cast,
    exp.DPipe: _strict(_join, *_PAIR),
    exp.Concat: _concat,
    exp.Upper: _strict(str.upper, "this"),
    exp.Lower: _strict(str.lower, "this"),
    exp.Trim: _strict(str.strip, "this"),
    exp.Length: _strict(len, "this"),
    exp.Abs: _strict(abs, "this"),
    exp.SplitPart: _strict(_split_part, "this", "delimiter", "part_index"),
    exp.Substring: _strict(_substring, "this", "start", "length"),
}
"""One rule per kind of node; a node that is not here is refused by name."""
