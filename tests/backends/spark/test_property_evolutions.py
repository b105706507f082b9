"""Random schemas, rows and wishes on Spark: the wish is reached and every value is where it belongs.

Several tables go through one plan and one apply; INSTAR_FUZZ=1 tries many more.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from backends.spark.harness import BACKENDS, own_schema
from backends.spark.rows import drop_all, literal
from core.strategies import examples
from instar.backends.sql import quote_backtick
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
from instar.spark import SparkHandle
from properties.cases import Case, cases
from properties.engines import Held
from properties.names import odd_names
from properties.quoting import quoted
from properties.traits import Traits, with_limits
from properties.widenings import widenings

pytestmark = pytest.mark.spark

# Looking for a smaller example takes Spark hours; the one that was found is shown.
FOUND = (Phase.explicit, Phase.reuse, Phase.generate)

WIDE: tuple[Type, ...] = (
    Boolean(),
    Integer(32),
    Integer(64),
    Float(32),
    Float(64),
    Decimal(4, 1),
    Decimal(10, 2),
    Decimal(15, 0),
    Decimal(38, 0),
    Decimal(38, 20),
    String(),
    Binary(),
    Date(),
    Timestamp(zone=False),
    Timestamp(zone=True),
)
ALL = (Integer(8), Integer(16), *WIDE)
TRAITS = {
    "delta": Traits(
        quote=quote_backtick,
        literal=literal,
        names=odd_names(),
        scalars=ALL,
        keys=(Integer(32), Integer(64), String()),
    ),
    "iceberg": Traits(
        quote=quote_backtick,
        literal=literal,
        names=odd_names(),
        scalars=WIDE,
        keys=(Integer(32), Integer(64), String()),
        defaults=False,
        constraints=False,
    ),
    "parquet": Traits(
        quote=quote_backtick,
        literal=literal,
        names=odd_names(),
        scalars=ALL,
        keys=(Integer(32), Integer(64), String()),
        required=False,
        constraints=False,
    ),
}
# Iceberg keeps no limit.
VARIANTS = {f: (t,) if f == "iceberg" else (t, with_limits(t)) for f, t in TRAITS.items()}


@pytest.fixture(scope="module", params=BACKENDS)
def held(
    request: pytest.FixtureRequest, spark: SparkHandle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Held]]:
    root = tmp_path_factory.mktemp("project")
    with own_schema(spark, request.param, "properties") as harness:
        settings_ = f"type: spark, format: {request.param}, schema: {harness.schema}"
        place = harness.backend.place
        yield request.param, Held(harness, root, settings_, spark.run, place)


@given(data=st.data())
@settings(max_examples=examples(1, times=20), phases=FOUND)
def test_any_schema_reaches_any_other_and_no_value_goes_astray(
    held: tuple[str, Held], data: st.DataObject
) -> None:
    format_, engine = held
    traits = data.draw(st.sampled_from(VARIANTS[format_]))
    several: list[Case] = [data.draw(cases(traits)) for _ in range(3)]
    wider = data.draw(widenings(traits))
    try:
        engine.hold(*several, wider)
    finally:
        drop_all(engine.harness.backend, engine.harness.schema)


@given(data=st.data())
@settings(max_examples=examples(1, times=20), phases=FOUND)
def test_no_text_leaves_its_quotes(held: tuple[str, Held], data: st.DataObject) -> None:
    format_, engine = held
    try:
        engine.keep_quoted(data.draw(quoted(TRAITS[format_])))
    finally:
        drop_all(engine.harness.backend, engine.harness.schema)
