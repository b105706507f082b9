"""What the public double of Snowflake can answer: create, inspect, add, drop, rename, widen, prove."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from instar.backends.base import RunContext, same_schema
from instar.backends.snowflake.backend import SnowflakeBackend
from instar.core.plan import Cost, TablePlan
from instar.core.planner import draft, finish
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column, Decimal, Integer, String
from instar.errors import VerificationFailed

NAME = TableName("S1", "ORDERS")
ORDERS = Table(
    NAME,
    (
        Column("ID", Integer(64), nullable=False),
        Column("NAME", String(20)),
        Column("PRICE", Decimal(10, 2)),
    ),
    primary_key=("ID",),
)


@pytest.fixture
def connection() -> Iterator[Any]:
    fakesnow = pytest.importorskip("fakesnow")
    with fakesnow.patch():
        import snowflake.connector

        yield snowflake.connector.connect(database="DB1", schema="S1")


def planned(backend: SnowflakeBackend, wanted: Wanted, policy: Policy = Policy()) -> TablePlan:
    live = backend.inspect([NAME]).get(NAME)
    assert live is None or isinstance(live, Table)
    sketch = draft(wanted, live, backend.rules, policy)
    results = tuple(backend.prove(sketch.job, sketch.proofs)) if live and sketch.proofs else ()
    return finish(sketch, results, Cost(), backend.rules)


def apply(backend: SnowflakeBackend, plan: TablePlan) -> None:
    context = RunContext({}, lambda *_: None, lambda _: None)
    for step in plan.steps:
        backend.run(step, context)
        live = backend.inspect([NAME])[NAME]
        assert isinstance(live, Table)
        assert same_schema(live, step.after)


def test_create_evolve_and_plan_again(connection: Any) -> None:
    backend = SnowflakeBackend(connection)
    apply(backend, planned(backend, Wanted(ORDERS)))
    assert planned(backend, Wanted(ORDERS)).steps == ()
    connection.cursor().execute("INSERT INTO S1.ORDERS VALUES (1, 'a', 1.5), (2, NULL, 2.5)")

    longer = Wanted(
        replace(
            ORDERS,
            columns=(
                ORDERS.columns[0],
                Column("TITLE", String(40)),
                Column("PRICE", Decimal(12, 2)),
                Column("NOTE", String()),
            ),
        ),
        {("TITLE",): Hint(renamed_from="NAME")},
    )
    apply(backend, planned(backend, longer))
    assert planned(backend, longer).steps == ()
    rows = (
        connection.cursor().execute("SELECT ID, TITLE, NOTE FROM S1.ORDERS ORDER BY ID").fetchall()
    )
    assert rows == [(1, "a", None), (2, None, None)]


def test_dropping_asks_and_not_null_is_proven(connection: Any) -> None:
    backend = SnowflakeBackend(connection)
    apply(backend, planned(backend, Wanted(ORDERS)))
    connection.cursor().execute("INSERT INTO S1.ORDERS VALUES (1, 'a', 1.5), (2, NULL, 2.5)")

    required = replace(
        ORDERS,
        columns=(ORDERS.columns[0], Column("NAME", String(20), nullable=False), ORDERS.columns[2]),
    )
    blocked = planned(backend, Wanted(required))
    assert [(f.code, f.count) for f in blocked.findings] == [("F203", 1)]
    assert blocked.findings[0].witnesses[0]["ID"] == "2"

    fewer = Wanted(replace(ORDERS, columns=ORDERS.columns[:2]))
    plan = planned(backend, fewer, Policy(ColumnConflict.DROP))
    assert [step.destructive for step in plan.steps] == [True]
    assert plan.steps[0].confirm is not None
    apply(backend, plan)


def test_old_rows_are_dropped_only_when_the_table_has_them_all(connection: Any) -> None:
    """The double knows no SWAP WITH: both tables are made as they are after it."""
    backend = SnowflakeBackend(connection)
    apply(backend, planned(backend, Wanted(ORDERS)))
    turned = replace(ORDERS, columns=(ORDERS.columns[0], ORDERS.columns[2], ORDERS.columns[1]))
    plan = planned(backend, Wanted(turned), Policy(ColumnConflict.REORDER, allow_rewrite=True))
    drop = plan.steps[-1]
    aside = '"S1"."ORDERS__swap"'
    execute = connection.cursor().execute
    execute(f"CREATE TABLE {aside} AS SELECT * FROM S1.ORDERS")
    execute(f"INSERT INTO {aside} VALUES (1, 'a', 1.5), (2, 'late', NULL)")
    execute("INSERT INTO S1.ORDERS VALUES (1, 'a', 1.5)")
    context = RunContext({}, lambda *_: None, lambda _: None)
    with pytest.raises(VerificationFailed, match="1 rows of the old table"):
        backend.run(drop, context)
    assert len(execute(f"SELECT * FROM {aside}").fetchall()) == 2

    execute("INSERT INTO S1.ORDERS VALUES (2, 'late', NULL)")
    for _ in range(2):  # a run that was cut off drops it again
        backend.run(drop, context)
    assert TableName("S1", "ORDERS__swap") not in backend.list_tables("S1")
