"""Which tables of models DuckDB makes anew by one statement, and which keep what hangs on them."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest

from instar.core.schema import Check, Table, TableName
from instar.core.types import Column, Integer, String
from instar.run.building import Order
from instar.run.duckdb_rows import in_one_statement
from instar.sources.models import Model
from instar.sources.models_said import Incremental
from instar.sources.models_sql import parse_query

QUERY = 'SELECT \'x\' AS "a ""b", 1 AS id -- the end'
MODEL = Model(
    "sums",
    TableName("main", "sums"),
    "sums.sql",
    "table",
    QUERY,
    0,
    parse_query(QUERY, "duckdb"),
)
ID = Column("id", Integer(64))
LIVE = Table(MODEL.table, (ID, Column('a "b', String())))


def statement(live: Table, model: Model = MODEL) -> str | None:
    return in_one_statement(Order(model, QUERY, live, "mark"))


def test_columns_and_rows_alone_are_made_by_one_statement() -> None:
    with duckdb.connect() as sql:
        sql.execute(statement(LIVE) or "")
        made = sql.execute("SELECT * FROM sums")
        assert [(str(d[0]), str(d[1])) for d in made.description] == [
            ("id", "BIGINT"),
            ('a "b', "VARCHAR"),
        ]
        assert made.fetchall() == [(1, "x")]


@pytest.mark.parametrize(
    "more",
    [
        {"primary_key": ("id",)},
        {"constraints": (Check("some", "id > 0"),)},
        {"comment": "by day"},
        {"columns": (replace(ID, nullable=False),)},
        {"columns": (replace(ID, default="0"),)},
        {"columns": (replace(ID, comment="the key"),)},
    ],
    ids=str,
)
def test_what_hangs_on_a_table_is_not_left_to_one_statement(more: dict[str, object]) -> None:
    assert statement(replace(LIVE, **more)) is None  # type: ignore[arg-type]


def test_rows_that_come_by_batches_are_not_made_anew() -> None:
    assert statement(LIVE, replace(MODEL, incremental=Incremental(("id",)))) is None
