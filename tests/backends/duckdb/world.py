"""A small world for tests: one DuckDB database, planned and applied the way Instar does it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from instar.backends.base import RunContext, differences
from instar.backends.duckdb.backend import DuckDBBackend
from instar.backends.sql import quote_double
from instar.core.matching import DoneRenames
from instar.core.plan import Cost, Rung, TablePlan
from instar.core.planner import draft, finish
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column, Path

T = TableName("main", "t")
EVERYTHING = Policy(ColumnConflict.DROP, allow_column_removal=True, allow_rewrite=True)
REORDER = Policy(ColumnConflict.REORDER, allow_rewrite=True)


@dataclass
class World:
    connection: duckdb.DuckDBPyConnection

    def __post_init__(self) -> None:
        self.backend = DuckDBBackend(self.connection)

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.connection.execute(text).fetchall()
        return rows

    def clean(self) -> None:
        """Drop everything that a test made; children before the tables they refer to."""
        for schema, view in self.sql(
            "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal"
        ):
            self.sql(f"DROP VIEW {quote_double(schema)}.{quote_double(view)}")
        while tables := self.sql(
            "SELECT schema_name, table_name FROM duckdb_tables() ORDER BY table_oid DESC"
        ):
            for schema, table in tables:
                with contextlib.suppress(duckdb.CatalogException):
                    self.sql(f"DROP TABLE {quote_double(schema)}.{quote_double(table)}")
        for (schema,) in self.sql("SELECT schema_name FROM duckdb_schemas() WHERE NOT internal"):
            if schema != "main":
                self.sql(f"DROP SCHEMA {quote_double(schema)}")

    def live(self, name: TableName = T) -> Table | None:
        found = self.backend.inspect([name]).get(name)
        assert found is None or isinstance(found, Table)
        return found

    def plan(
        self, wanted: Wanted, policy: Policy = EVERYTHING, done: DoneRenames = frozenset()
    ) -> TablePlan:
        name = wanted.table.name
        sketch = draft(wanted, self.live(name), self.backend.rules, policy, done)
        proofs = sketch.proofs if sketch.live is not None else ()
        results = tuple(self.backend.prove(sketch.job, proofs))
        cost = self.backend.measure([name]).get(name, Cost())
        return finish(sketch, results, cost, self.backend.rules)

    def apply(
        self, wanted: Wanted, policy: Policy = EVERYTHING, done: DoneRenames = frozenset()
    ) -> TablePlan:
        """Plan, run, and hold the engine to the plan: the target is there and nothing is left."""
        plan = self.plan(wanted, policy, done)
        assert not plan.blocked, [f"{f.code} {f.message}" for f in plan.findings]
        self.run(plan)
        live = self.live(wanted.table.name)
        assert live is not None
        assert plan.target is not None
        assert differences(live, plan.target) == ()
        again = self.plan(wanted, policy, done | plan.renames)
        assert again.steps == (), [step.sql for step in again.steps]
        return plan

    def run(
        self, plan: TablePlan, failpoint: Callable[[str], None] = lambda _: None
    ) -> dict[str, str]:
        memo: dict[str, str] = {}
        for step in plan.steps:
            self.backend.run(step, RunContext(memo, lambda *_: None, failpoint))
            live = self.live(step.after.name)
            assert live is not None
            assert differences(live, step.after) == ()
        return memo


def want(
    *columns: Column,
    hints: Mapping[Path, Hint] | None = None,
    name: TableName = T,
    **rest: Any,
) -> Wanted:
    return Wanted(Table(name, columns, **rest), hints or {})


def rung(plan: TablePlan) -> Rung:
    """The rung that the plan takes."""
    return max((step.rung for step in plan.steps), key=lambda r: r.height)
