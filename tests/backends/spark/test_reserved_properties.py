"""Properties that Spark refuses to set are said and left out, on every format, before any statement is made."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from instar.backends.registry import rules_for
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import Column, Integer

RESERVED = ("comment", "external", "location", "owner", "provider", "table_type", "instar.mark")


def kept(format_: str, properties: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """What is left of them, and what is said."""
    table = Table(
        TableName("main", "t"),
        (Column("id", Integer(32)),),
        properties=MappingProxyType(properties),
    )
    found, findings = rules_for("spark", format_).normalize(Wanted(table), None)
    return dict(found.table.properties), [f.code for f in findings]


@pytest.mark.parametrize("format_", ["delta", "iceberg", "parquet"])
def test_what_is_spark_s_own_is_left_out(format_: str) -> None:
    assert kept(format_, {"team": "shop"}) == ({"team": "shop"}, [])
    for key in RESERVED:
        assert kept(format_, {"team": "shop", key: "x"}) == ({"team": "shop"}, ["F604"]), key


def test_what_the_metastore_keeps_for_itself_is_left_out_on_parquet() -> None:
    for key in ("EXTERNAL", "spark.sql.sources.provider"):
        assert kept("parquet", {key: "x"}) == ({}, ["F604"]), key


def test_what_instar_sets_on_delta_may_be_declared() -> None:
    assert kept("delta", {"delta.columnMapping.mode": "name"}) == ({}, [])
    assert kept("delta", {"delta.columnMapping.mode": "id"}) == ({}, ["F604"])
