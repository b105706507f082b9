"""Random schemas, rows and wishes on a real DuckDB: the wish is reached and every value is where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings

from backends.duckdb.harness import DuckDBHarness
from backends.duckdb.world import World
from core.strategies import examples
from instar.backends.duckdb.folding import fold
from instar.backends.duckdb.types import type_sql
from instar.backends.sql import literal, qualified, quote_double
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
    Uuid,
)
from properties.cases import Case, cases
from properties.engines import Held
from properties.names import odd_names
from properties.quoting import Quoted, quoted
from properties.traits import Traits
from properties.values import spelled
from properties.widenings import widenings


def written(value: Any, type_: Type) -> str:
    """A value as DuckDB's SQL."""
    match value:
        case bool():
            return str(value).upper()
        case bytes():
            return f"from_hex('{value.hex()}')"
        case str():
            return literal(value)
        case _:
            return f"CAST({literal(spelled(value))} AS {type_sql(type_)})"


TRAITS = Traits(
    quote=quote_double,
    literal=written,
    names=odd_names(),
    table_names=odd_names(),
    fold=fold,
    scalars=(
        Boolean(),
        *(Integer(bits, signed) for bits in (8, 16, 32, 64, 128) for signed in (True, False)),
        Float(32),
        Float(64),
        Decimal(4, 1),
        Decimal(10, 2),
        Decimal(15, 0),
        Decimal(38, 0),
        Decimal(38, 20),
        Decimal(38, 38),
        String(),
        Binary(),
        Date(),
        Timestamp(zone=False),
        Timestamp(zone=True),
        Uuid(),
    ),
    keys=(Integer(32), Integer(64), String()),
    field_comments=False,
)


@pytest.fixture(scope="module")
def held(shared: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory) -> Held:
    root = tmp_path_factory.mktemp("project")
    settings_ = "type: duckdb, schema: main"
    return Held(DuckDBHarness(shared), root, settings_, shared.execute, qualified)


@pytest.fixture(scope="module")
def clean(shared: duckdb.DuckDBPyConnection) -> Callable[[], None]:
    return World(shared).clean


@given(case=cases(TRAITS))
@settings(max_examples=examples(50, times=20))
def test_any_schema_reaches_any_other_and_no_value_goes_astray(
    held: Held, clean: Callable[[], None], case: Case
) -> None:
    try:
        held.hold(case)
    finally:
        clean()


@given(case=widenings(TRAITS))
@settings(max_examples=examples(15, times=20))
def test_a_wider_type_keeps_every_value(held: Held, clean: Callable[[], None], case: Case) -> None:
    try:
        held.hold(case)
    finally:
        clean()


@given(case=quoted(TRAITS))
@settings(max_examples=examples(15, times=20))
def test_no_text_leaves_its_quotes(held: Held, clean: Callable[[], None], case: Quoted) -> None:
    try:
        held.keep_quoted(case)
    finally:
        clean()
