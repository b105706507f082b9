"""Small helpers of the Spark tests: tables from type text, and a plan carried out step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from instar.backends.base import Backend, NotATable, RunContext, differences
from instar.backends.spark.types import from_spark
from instar.core.plan import Cost, Rung, Status, Step, TablePlan
from instar.core.planner import Draft, draft, finish
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column, Path
from instar.spark import SparkHandle

FREE = Policy(ColumnConflict.REORDER, allow_column_removal=True, allow_rewrite=True)
"""Everything that was asked for is done: drops, moves and rewrites."""


def column(name: str, type_: str, **more: Any) -> Column:
    """A column from Spark's type text; a leading `!` says NOT NULL."""
    required = type_.startswith("!")
    return Column(name, from_spark(type_.lstrip("!")), nullable=not required, **more)


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(column(name, type_) for name, type_ in types.items())


def hinted(table: Table, **hints: Hint) -> Wanted:
    """What is wanted, with hints by column; `s__a` is the path s.a."""
    return Wanted(table, {tuple(k.split("__")): v for k, v in hints.items()})


@dataclass
class Bench:
    """One backend and a schema of its own; carries out plans as `apply` does, without a journal."""

    backend: Backend
    spark: SparkHandle
    schema: str
    points: dict[str, Callable[[], None]] = field(default_factory=dict)
    ran: list[Step] = field(default_factory=list)

    def name(self, table: str) -> TableName:
        return TableName(self.schema, table)

    def live(self, table: str) -> Table:
        found = self.backend.inspect([self.name(table)])[self.name(table)]
        assert isinstance(found, Table), found
        return found

    def draft(self, wanted: Wanted | Table, policy: Policy = FREE) -> Draft:
        wish = wanted if isinstance(wanted, Wanted) else Wanted(wanted)
        live = self.backend.inspect([wish.table.name]).get(wish.table.name)
        assert not isinstance(live, NotATable), live
        return draft(wish, live, self.backend.rules, policy)

    def plan(self, wanted: Wanted | Table, policy: Policy = FREE) -> TablePlan:
        sketch = self.draft(wanted, policy)
        provable = sketch.live is not None and sketch.job.rung is not Rung.NEVER
        results = self.backend.prove(sketch.job, sketch.proofs) if provable else ()
        return finish(sketch, tuple(results), Cost(), self.backend.rules)

    def apply(self, wanted: Wanted | Table, policy: Policy = FREE) -> TablePlan:
        """Plan and carry out; each step leaves what it promised, and nothing is left to plan."""
        plan = self.plan(wanted, policy)
        errors = [f.message for f in plan.findings if f.severity.value == "error"]
        assert not errors, errors
        for step in plan.steps:
            self.run(step)
        again = self.plan(wanted, policy)
        left = [c.change for c in again.changes if c.accepted]
        assert again.status is Status.NO_CHANGE, left
        return plan

    def run(self, step: Step, memo: dict[str, str] | None = None) -> dict[str, str]:
        memo = {} if memo is None else memo
        context = RunContext(memo, lambda *_: None, self._reach)
        self.backend.run(step, context)
        self.ran.append(step)
        live = self.live(step.after.name.name)
        assert not differences(live, step.after), (step.title, differences(live, step.after))
        return memo

    def rows(self, table: str, select: str = "*", order: str = "1") -> list[tuple[Any, ...]]:
        place = f"`{self.schema}`.`{table}`"
        return [_plain(r) for r in self.spark.run(f"SELECT {select} FROM {place} ORDER BY {order}")]

    def sql(self, text: str) -> None:
        """A statement with the schema's name for `{s}`."""
        self.spark.run(text.replace("{s}", f"`{self.schema}`"))

    def _reach(self, point: str) -> None:
        if act := self.points.pop(point, None):
            act()


def _plain(value: Any) -> Any:
    """Rows as tuples at every depth, so that they compare with hand-written ones."""
    if isinstance(value, tuple):
        return tuple(_plain(v) for v in value)
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, Mapping):
        return {_plain(k): _plain(v) for k, v in value.items()}
    return value


def path(text: str) -> Path:
    return tuple(text.split("."))
