"""Short words for tables in scenarios."""

from __future__ import annotations

from instar.core.schema import Constraint
from instar.core.types import (
    Binary,
    Boolean,
    Column,
    Date,
    Decimal,
    Float,
    Integer,
    String,
    Timestamp,
    Type,
)
from instar.testing.scenario import Shape

BOOLEAN = Boolean()
TINYINT, SMALLINT, INT, BIGINT = Integer(8), Integer(16), Integer(32), Integer(64)
FLOAT, DOUBLE = Float(32), Float(64)
STRING, BINARY, DATE = String(), Binary(), Date()
WALL_CLOCK = Timestamp(zone=False)


def dec(precision: int, scale: int) -> Decimal:
    return Decimal(precision, scale)


def varchar(length: int) -> String:
    return String(length)


def c(name: str, type_: Type, *, default: str | None = None, comment: str | None = None) -> Column:
    """A column that may be NULL."""
    return Column(name, type_, default=default, comment=comment)


def required(name: str, type_: Type, *, default: str | None = None) -> Column:
    """A NOT NULL column."""
    return Column(name, type_, nullable=False, default=default)


ID = c("id", INT)
"""The first column of every scenario."""


def shape(
    *columns: Column,
    key: tuple[str, ...] = (),
    constraints: tuple[Constraint, ...] = (),
    comment: str | None = None,
) -> Shape:
    """A table that begins with `id`."""
    return Shape((ID, *columns), key, constraints, comment)


def keyed(
    *columns: Column, constraints: tuple[Constraint, ...] = (), comment: str | None = None
) -> Shape:
    """The same with `id` as its primary key: witnesses name their rows by it."""
    return Shape((required("id", INT), *columns), ("id",), constraints, comment)
