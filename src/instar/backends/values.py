"""Projections and proofs as SQL expressions, the same way for every engine that has SQL.

An engine brings a `ValueDialect`: how it names, casts and rebuilds values. Everything here goes by field
name, never by position, and never through a struct cast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, assert_never

from instar.core.checks import (
    CastProof,
    EmptyProof,
    ExpressionProof,
    LiveProof,
    NotNullProof,
    RowProof,
    VanishProof,
)
from instar.core.projection import (
    ArrayCarry,
    Carry,
    Converted,
    FieldCarry,
    FromExpression,
    FromOld,
    MapCarry,
    Nothing,
    Projection,
    Same,
    Source,
    StructCarry,
)
from instar.core.schema import Table
from instar.core.types import ELEMENT, KEY, Array, Column, Map, Path, Struct, Type


class ValueDialect(Protocol):
    """How one engine writes values. All arguments and results are SQL text."""

    def quote(self, name: str) -> str: ...

    def type_sql(self, type_: Type) -> str: ...

    def field(self, value: str, name: str) -> str: ...

    def build_struct(self, fields: Sequence[tuple[str, str]]) -> str: ...

    def map_array(self, value: str, var: str, body: str) -> str: ...

    def map_map(self, value: str, key: str, val: str, key_body: str, val_body: str) -> str:
        """The map with other keys and values; fails when two keys become one."""
        ...

    def any_in_array(self, value: str, var: str, predicate: str) -> str: ...

    def any_in_map(self, value: str, key: str, val: str, predicate: str) -> str: ...

    def cast(self, value: str, old: Type | None, new: Type) -> str:
        """A cast that fails where it would lose; `old` is None for an expression of unknown type."""
        ...

    def try_cast(self, value: str, old: Type | None, new: Type) -> str:
        """NULL where the cast would fail."""
        ...

    def lossy(self, value: str, old: Type, new: Type) -> str:
        """True exactly for the values that the change of type would lose or change; never NULL."""
        ...


class ValueWriter:
    """Writes a projection with a dialect. `trying`: casts give NULL instead of failing (for proofs)."""

    def __init__(self, dialect: ValueDialect, *, trying: bool = False) -> None:
        self.dialect = dialect
        self._cast = dialect.try_cast if trying else dialect.cast
        self._count = 0

    def select_list(self, projection: Projection) -> list[str]:
        quote = self.dialect.quote
        return [f"{self.source(f, None)} AS {quote(f.column.name)}" for f in projection]

    def source(self, target: FieldCarry, parent: str | None) -> str:
        """The SQL for one target column; `parent` is the struct value it is read from, if any."""
        column, source = target.column, target.source
        return self._source(column, source, parent)

    def _source(self, column: Column, source: Source, parent: str | None) -> str:
        match source:
            case FromExpression(sql):
                return self._cast(f"({sql})", None, column.type)
            case Nothing():
                return f"CAST(NULL AS {self.dialect.type_sql(column.type)})"
            case FromOld(name, carry, fill):
                old = (
                    self.dialect.quote(name) if parent is None else self.dialect.field(parent, name)
                )
                value = self.carry(old, carry)
                if fill is None:
                    return value
                return f"COALESCE({value}, {self._cast(f'({fill})', None, column.type)})"
            case _:
                assert_never(source)

    def carry(self, value: str, carry: Carry) -> str:
        d = self.dialect
        match carry:
            case Same():
                return value
            case Converted(old, new):
                return self._cast(value, old, new)
            case StructCarry(fields):
                inner = [(f.column.name, self.source(f, value)) for f in fields]
                return f"CASE WHEN {value} IS NULL THEN NULL ELSE {d.build_struct(inner)} END"
            case ArrayCarry(element):
                var = self.fresh()
                return d.map_array(value, var, self.carry(var, element))
            case MapCarry(key, val):
                k, v = self.fresh(), self.fresh()
                return d.map_map(value, k, v, self.carry(k, key), self.carry(v, val))
            case _:
                assert_never(carry)

    def fresh(self) -> str:
        self._count += 1
        return f"instar_x{self._count}"


def broken_at(
    dialect: ValueDialect, table: Table, path: Path, predicate: Callable[[str], str]
) -> str:
    """True for rows in which some value at `path` satisfies the predicate."""
    writer = ValueWriter(dialect)
    root = table.column(path[:1])
    assert root is not None, f"{path} is not in {table.name}"
    return _descend(writer, dialect.quote(root.name), root.type, path[1:], predicate)


def _descend(
    writer: ValueWriter, value: str, type_: Type, rest: Path, predicate: Callable[[str], str]
) -> str:
    if not rest:
        return predicate(value)
    d = writer.dialect
    match type_:
        case Struct(fields):
            inner = next(f for f in fields if f.name == rest[0])
            below = _descend(writer, d.field(value, inner.name), inner.type, rest[1:], predicate)
            return f"({value} IS NOT NULL AND {below})"
        case Array(element) if rest[0] == ELEMENT:
            var = writer.fresh()
            return d.any_in_array(
                value, var, _descend(writer, var, element.type, rest[1:], predicate)
            )
        case Map(key, val):
            k, v = writer.fresh(), writer.fresh()
            part, inner_type = (k, key.type) if rest[0] == KEY else (v, val.type)
            return d.any_in_map(
                value, k, v, _descend(writer, part, inner_type, rest[1:], predicate)
            )
        case _:
            raise AssertionError(f"{rest} does not lead into {type_}")


def live_predicate(dialect: ValueDialect, live: Table, proof: LiveProof) -> str:
    """The predicate of a proof that looks at live rows."""
    match proof:
        case CastProof(_, old_path, old, new):
            return broken_at(dialect, live, old_path, lambda v: dialect.lossy(v, old, new))
        case ExpressionProof(_, sql, new):
            attempt = dialect.try_cast(f"({sql})", None, new)
            return f"(({sql}) IS NOT NULL AND {attempt} IS NULL)"
        case VanishProof(_, old_path, sql):
            return broken_at(
                dialect, live, old_path, lambda v: f"({v} IS NOT NULL AND ({sql}) IS NULL)"
            )
        case _:
            assert_never(proof)


def projected_predicate(
    dialect: ValueDialect, target: Table, proof: NotNullProof | RowProof | EmptyProof
) -> str:
    """The predicate of a proof that looks at rows as they will be."""
    match proof:
        case NotNullProof(path):
            return broken_at(dialect, target, path, lambda v: f"({v} IS NULL)")
        case RowProof(_, expression):
            return f"(NOT COALESCE(({expression}), TRUE))"
        case EmptyProof():
            return "TRUE"
        case _:
            assert_never(proof)


def expressions_in(projection: Projection) -> Iterator[str]:
    """The expressions of people in a projection, those of struct fields too; each text once."""
    yield from dict.fromkeys(_expressions(projection))


def _expressions(projection: Projection) -> Iterator[str]:
    for field in projection:
        match field.source:
            case FromExpression(sql):
                yield sql
            case FromOld(_, carry, fill):
                if fill is not None:
                    yield fill
                if isinstance(carry, StructCarry):
                    yield from _expressions(carry.fields)
