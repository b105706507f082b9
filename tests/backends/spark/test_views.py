"""Views that a change would break are named before anything is touched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends.spark.helpers import Bench, columns
from instar.backends.spark.delta import DeltaBackend
from instar.backends.spark.iceberg import IcebergBackend
from instar.core.schema import Table
from instar.spark import SparkHandle

pytestmark = pytest.mark.spark

SCHEMA = "read_by_views"
OTHER = "reads_from_afar"


@pytest.fixture(scope="module")
def bench(spark: SparkHandle) -> Iterator[Bench]:
    for schema in (SCHEMA, OTHER):
        spark.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    spark.run(f"CREATE SCHEMA {SCHEMA}")
    spark.run(f"CREATE NAMESPACE IF NOT EXISTS ice.{SCHEMA}")
    yield Bench(DeltaBackend(spark), spark, SCHEMA)
    for schema in (OTHER, SCHEMA):
        spark.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_the_views_that_read_a_column_are_told_apart_from_those_that_do_not(bench: Bench) -> None:
    bench.apply(Table(bench.name("wide"), columns(a="int", b="string", s="struct<x: int>")))
    bench.sql("USE {s}")
    for name, query in {
        "direct": "SELECT a, b FROM wide",
        "behind": "WITH w AS (SELECT * FROM {s}.direct) SELECT a + 1 AS a1 FROM w",
        "field": "SELECT w.s.x FROM wide AS w",
        "other": "SELECT b FROM {s}.wide WHERE b <> 'it''s a'",
        "everything": "SELECT * FROM wide",
    }.items():
        bench.sql(f"CREATE VIEW {{s}}.{name} AS {query}")
    bench.sql("CREATE TABLE {s}.gone (a INT) USING delta")
    bench.sql("CREATE VIEW {s}.already_broken AS SELECT a FROM {s}.gone")
    bench.sql("DROP TABLE {s}.gone")
    bench.sql("USE default")
    renamed = Table(bench.name("wide"), columns(a2="int", b="string", s="struct<x: int>"))
    assert {n.name for n in bench.backend.views().broken(renamed)} == {"direct", "behind"}
    nested = Table(bench.name("wide"), columns(a="int", b="string", s="struct<y: int>"))
    assert {n.name for n in bench.backend.views().broken(nested)} == {"field"}
    wider = Table(bench.name("wide"), columns(a="bigint", b="string", s="struct<x: int, y: int>"))
    assert bench.backend.views().broken(wider) == {}
    bench.sql(f"CREATE SCHEMA {OTHER}")
    bench.sql("USE {s}")
    bench.sql(f"CREATE VIEW {OTHER}.bare AS SELECT a FROM wide")
    bench.sql(f"CREATE VIEW {OTHER}.wide AS SELECT 1 AS a")
    bench.sql("USE default")
    bench.sql(f"CREATE VIEW {OTHER}.far AS SELECT a + 1 AS a1 FROM {OTHER}.bare")
    bench.sql(f"CREATE VIEW {OTHER}.untouched AS SELECT a FROM {OTHER}.wide")
    broken = bench.backend.views().broken(renamed)
    assert {str(n) for n in broken} == {
        f"{SCHEMA}.direct",
        f"{SCHEMA}.behind",
        f"{OTHER}.bare",
        f"{OTHER}.far",
    }
    elsewhere = IcebergBackend(bench.spark)
    assert elsewhere.views().broken(renamed) == {}, "the views read the Delta table of that name"
