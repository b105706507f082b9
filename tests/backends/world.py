"""A small world for tests: one engine's tables, planned and applied the way Instar does it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from instar.backends.base import Backend, RunContext, differences
from instar.core.matching import DoneRenames
from instar.core.plan import Cost, Rung, TablePlan
from instar.core.planner import draft, finish
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column, Integer, Path, String

EVERYTHING = Policy(ColumnConflict.DROP, allow_column_removal=True, allow_rewrite=True)
REORDER = Policy(ColumnConflict.REORDER, allow_rewrite=True)
INT, BIG, TEXT = Integer(32), Integer(64), String()


class TableWorld(ABC):
    """`t` is the table that a test is about."""

    backend: Backend

    @property
    @abstractmethod
    def t(self) -> TableName: ...

    def want(
        self, *columns: Column, hints: Mapping[Path, Hint] | None = None, **rest: Any
    ) -> Wanted:
        return Wanted(Table(self.t, columns, **rest), hints or {})

    def live(self, name: TableName | None = None) -> Table | None:
        place = name or self.t
        found = self.backend.inspect([place]).get(place)
        assert found is None or isinstance(found, Table)
        return found

    def plan(
        self, wanted: Wanted, policy: Policy = EVERYTHING, done: DoneRenames = frozenset()
    ) -> TablePlan:
        name = wanted.table.name
        sketch = draft(wanted, self.live(name), self.backend.rules, policy, done)
        results = self.backend.prove(sketch.job, sketch.proofs) if sketch.provable else ()
        cost = self.backend.measure([name]).get(name, Cost())
        return finish(sketch, tuple(results), cost, self.backend.rules)

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
            assert differences(live, step.after) == (), step.title
        return memo


def at(wanted: str, act: Callable[[], object]) -> Callable[[str], None]:
    """A failpoint at which somebody else acts, once."""
    waiting = [act]

    def reached(point: str) -> None:
        if point == wanted and waiting:
            waiting.pop()()

    return reached


def rung(plan: TablePlan) -> Rung:
    """The rung that the plan takes."""
    return max((step.rung for step in plan.steps), key=lambda r: r.height)
