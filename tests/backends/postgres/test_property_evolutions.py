"""Random schemas, rows and wishes on a real PostgreSQL: the wish is reached, every value where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from backends.postgres.harness import PostgresHarness
from backends.postgres.world import World
from core.strategies import examples
from instar.backends.postgres.types import type_sql
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
    array,
)
from properties.cases import Case, cases
from properties.engines import Held
from properties.names import odd_names
from properties.quoting import Quoted, quoted
from properties.traits import Traits
from properties.values import spelled
from properties.widenings import widenings


def written(value: Any, type_: Type) -> str:
    """A value as PostgreSQL's SQL."""
    match value:
        case bytes():
            return f"decode('{value.hex()}', 'hex')"
        case _:
            return f"CAST({literal(spelled(value))} AS {type_sql(type_)})"


# A swap needs room for its own names beside the table's: 63 bytes, less a suffix.
TRAITS = Traits(
    quote=quote_double,
    literal=written,
    names=odd_names(longest=63),
    table_names=odd_names(longest=30),
    scalars=(
        Boolean(),
        Integer(16),
        Integer(32),
        Integer(64),
        Float(32),
        Float(64),
        Decimal(4, 1),
        Decimal(10, 2),
        Decimal(15, 0),
        Decimal(38, 0),
        Decimal(38, 20),
        Decimal(38, 38),
        String(),
        String(5),
        String(11),
        Binary(),
        Date(),
        Timestamp(zone=False),
        Timestamp(zone=True),
        Uuid(),
        array(Integer(16)),
        array(Integer(64)),
        array(Decimal(10, 2)),
        array(String()),
    ),
    depth=0,
)


@pytest.fixture(scope="module")
def held(shared: World, tmp_path_factory: pytest.TempPathFactory) -> Held:
    shared.enter("properties")
    root = tmp_path_factory.mktemp("project")
    settings_ = "type: postgres, url: postgresql://nobody, schema: properties"
    return Held(PostgresHarness(shared), root, settings_, shared.sql, qualified)


@pytest.fixture(scope="module")
def clean(shared: World) -> Callable[[], object]:
    return lambda: shared.sql("DROP SCHEMA properties CASCADE; CREATE SCHEMA properties")


@given(case=cases(TRAITS))
@settings(max_examples=examples(40, times=20))
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
