"""One format's schema on the shared Spark: plan a wanted table, carry it out, look at every row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from instar.backends.base import Outcome, RunContext, differences
from instar.backends.spark.base import SparkBackend
from instar.backends.spark.types import from_spark
from instar.core.findings import Severity
from instar.core.matching import DoneRenames
from instar.core.plan import Cost, Step, TablePlan
from instar.core.planner import draft, finish
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column, Path

EVERYTHING = Policy(ColumnConflict.DROP, allow_rewrite=True)
IN_ORDER = Policy(ColumnConflict.REORDER, allow_column_removal=True, allow_rewrite=True)
Failpoint = Callable[[str], None]


def col(name: str, type_: str, **more: Any) -> Column:
    return Column(name, from_spark(type_), **more)


def never(_: str) -> None:
    return None


class Crash(BaseException):
    """The process dies here."""


@dataclass
class Lake:
    backend: SparkBackend
    schema: str
    memos: dict[str, dict[str, str]] = field(default_factory=dict)

    def name(self, table: str) -> TableName:
        return TableName(self.schema, table)

    def full(self, table: str) -> str:
        return self.backend.place(self.name(table))

    def table(self, table: str, *columns: Column, **more: Any) -> Table:
        return Table(self.name(table), columns, **more)

    def live(self, table: str) -> Table:
        found = self.backend.inspect([self.name(table)])[self.name(table)]
        assert isinstance(found, Table), found
        return found

    def sql(self, text: str) -> list[Any]:
        return self.backend.handle.run(text)

    def rows(self, table: str, select: str = "*", order: str = "id") -> list[tuple[Any, ...]]:
        self.sql(f"REFRESH TABLE {self.full(table)}")
        return [
            tuple(r) for r in self.sql(f"SELECT {select} FROM {self.full(table)} ORDER BY {order}")
        ]

    def plan(
        self,
        table: Table,
        hints: Mapping[Path, Hint] | None = None,
        policy: Policy = EVERYTHING,
        done: DoneRenames = frozenset(),
    ) -> TablePlan:
        live = self.backend.inspect([table.name]).get(table.name)
        assert live is None or isinstance(live, Table)
        sketch = draft(Wanted(table, hints or {}), live, self.backend.rules, policy, done)
        blocked = any(f.severity is Severity.ERROR for f in sketch.findings)
        results = (
            self.backend.prove(sketch.job, sketch.proofs) if sketch.proofs and not blocked else ()
        )
        return finish(sketch, tuple(results), Cost(), self.backend.rules)

    def run(self, step: Step, failpoint: Failpoint = never) -> None:
        memo = self.memos.setdefault(f"{step.after.name}{step.id}", {})
        self.backend.run(step, RunContext(memo, lambda *_: None, failpoint))
        found = self.backend.inspect([step.after.name])[step.after.name]
        assert isinstance(found, Table)
        assert differences(found, step.after) == (), f"after {step.id}: {step.sql}"

    def migrate(
        self,
        table: Table,
        hints: Mapping[Path, Hint] | None = None,
        policy: Policy = EVERYTHING,
        failpoint: Failpoint = never,
    ) -> TablePlan:
        """Every step looked at, the target reached, and nothing left to do in a second plan."""
        plan = self.plan(table, hints, policy)
        assert not plan.blocked, [f.message for f in plan.findings]
        for step in plan.steps:
            self.run(step, failpoint)
        assert plan.target is not None
        assert differences(self.live(table.name.name), plan.target) == ()
        again = self.plan(table, hints, policy, plan.renames)
        assert again.steps == (), [s.sql for s in again.steps]
        return plan

    def resume(self, step: Step, before: Table, failpoint: Failpoint) -> None:
        """As apply does after a crash: ask what became of the step, run it unless it is done."""
        memo = self.memos.setdefault(f"{step.after.name}{step.id}", {})
        said = self.backend.outcome(step, before, memo)
        assert said is not Outcome.UNCLEAR, f"{step.id} cannot be gone on with"
        if said is Outcome.NOT_DONE:
            self.run(step, failpoint)

    def survive(self, plan: TablePlan) -> list[str]:
        """Dies after every statement once, goes on each time; the names it died at."""
        died: list[str] = []

        def die_once(name: str) -> None:
            # Right before a statement is right after the last one, but for the first of all.
            if name not in died and (name.endswith("-done") or not died):
                died.append(name)
                raise Crash

        for step in plan.steps:
            before = plan.live
            assert before is not None
            for _ in range(200):
                try:
                    self.resume(step, before, die_once)
                    break
                except Crash:
                    continue
        return died


def codes(plan: TablePlan) -> list[str]:
    return [f.code for f in plan.findings]


def rungs(plan: TablePlan) -> list[str]:
    return [s.rung.value for s in plan.steps]
