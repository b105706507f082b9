"""Runs one scenario on one engine: create, fill, plan, prove, change step by step, compare every row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from instar.backends.base import Backend, NotATable, RunContext, differences
from instar.core.checks import ProofResult
from instar.core.matching import DoneRenames
from instar.core.plan import Cost, Status, TablePlan
from instar.core.planner import draft, finish
from instar.core.policy import Policy
from instar.core.schema import Table, TableName, Wanted
from instar.testing.compare import missing_and_extra
from instar.testing.scenario import Harness, Row, Said, Scenario


class NonConformance(AssertionError):
    """The engine did not keep what the contract promises."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An exception that a backend's tests allow: the plan is blocked by this finding, for this reason."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class NotKept:
    """Another: the engine cannot keep what is wanted and says so by this finding.

    `after` are the rows then, where the scenario has none because it should have been blocked.
    """

    code: str
    reason: str
    after: tuple[Row, ...] | None = None


Exceptional = Refused | NotKept


def run_scenario(
    harness: Harness, scenario: Scenario, exceptional: Exceptional | None = None
) -> TablePlan:
    """Raises NonConformance unless the engine does what the scenario says, or what is allowed instead.

    The plan that was carried out (or blocked) comes back, for whoever asks which rung was taken.
    """
    run = _Run(harness, TableName(harness.schema, _slug(scenario.name)))
    made = run.plan(Wanted(scenario.live.named(run.name)))
    if isinstance(exceptional, Refused) and made.blocked:
        run.must_block(made, Said(exceptional.code))
        return made
    run.must_not_block(made)
    run.carry_out(made)
    run.fill(scenario.rows)
    wanted = Wanted(scenario.wanted.named(run.name), scenario.hints)
    plan = run.plan(wanted, scenario.policy)
    if isinstance(exceptional, NotKept):
        run.must_say(plan, exceptional.code)
    block = Said(exceptional.code) if isinstance(exceptional, Refused) else scenario.block
    if block is not None and not isinstance(exceptional, NotKept):
        run.must_block(plan, block)
        run.must_hold(scenario.rows, "a blocked plan touched the rows")
        return plan
    run.must_not_block(plan)
    if scenario.warn is not None:
        run.must_show(plan, scenario.warn)
    run.carry_out(plan)
    run.must_hold(_expected(scenario, exceptional), "the rows are not what they should be")
    again = run.plan(wanted, scenario.policy, plan.renames)
    if again.steps or again.blocked:
        raise NonConformance(f"planned again, there is still something to do: {_told(again)}")
    return plan


def _expected(scenario: Scenario, exceptional: Exceptional | None) -> Sequence[Row]:
    if scenario.rows and isinstance(exceptional, NotKept) and exceptional.after is not None:
        return exceptional.after
    return scenario.rows if scenario.after is None else scenario.after


@dataclass(frozen=True, slots=True)
class _Run:
    harness: Harness
    name: TableName

    @property
    def backend(self) -> Backend:
        return self.harness.backend

    def live(self) -> Table | None:
        found = self.backend.inspect([self.name]).get(self.name)
        if isinstance(found, NotATable):
            raise NonConformance(f"{self.name} is a {found.kind}")
        return found

    def plan(
        self, wanted: Wanted, policy: Policy | None = None, done: DoneRenames = frozenset()
    ) -> TablePlan:
        live = self.live()
        sketch = draft(wanted, live, self.backend.rules, policy or Policy(), done)
        results: Sequence[ProofResult] = ()
        if sketch.proofs and sketch.provable:
            results = self.backend.prove(sketch.job, sketch.proofs)
            _every_proof_answered(sketch.proofs, results)
        cost = self.backend.measure([self.name]).get(self.name, Cost()) if live else Cost()
        return finish(sketch, tuple(results), cost, self.backend.rules)

    def carry_out(self, plan: TablePlan) -> None:
        """Every step, each looked at once it is done."""
        for step in plan.steps:
            context = RunContext({}, lambda *_: None, lambda _: None)
            self.backend.run(step, context)
            found = self.backend.inspect([step.after.name]).get(step.after.name)
            if not isinstance(found, Table):
                raise NonConformance(f"after step {step.id} ({step.title}) there is no table")
            if left := differences(found, step.after):
                raise NonConformance(f"step {step.id} ({step.title}) left {left}")
        live = self.live()
        if live is None or plan.target is None or (left := differences(live, plan.target)):
            raise NonConformance(f"the table is not the plan's target: {left}")

    def fill(self, rows: Sequence[Row]) -> None:
        live = self.live()
        assert live is not None
        if rows:
            self.harness.insert(live, rows)
        self.must_hold(rows, "the rows did not go in as they are")

    def must_hold(self, expected: Sequence[Row], complaint: str) -> None:
        live = self.live()
        assert live is not None
        found = self.harness.rows(live)
        missing, extra = missing_and_extra(expected, found)
        if missing or extra:
            raise NonConformance(f"{complaint}\n  missing: {missing}\n  instead: {extra}")

    def must_not_block(self, plan: TablePlan) -> None:
        if plan.blocked:
            raise NonConformance(f"blocked: {_told(plan)}")

    def must_say(self, plan: TablePlan, code: str) -> None:
        if code not in [f.code for f in plan.findings]:
            raise NonConformance(f"{code} should be said: {_told(plan)}")

    def must_block(self, plan: TablePlan, block: Said) -> None:
        if plan.status is not Status.BLOCKED or plan.steps:
            raise NonConformance(f"{block.code} should block the plan: {_told(plan)}")
        self.must_show(plan, block)

    def must_show(self, plan: TablePlan, said: Said) -> None:
        finding = next((f for f in plan.findings if f.code == said.code), None)
        if finding is None:
            raise NonConformance(f"{said.code} is not among the findings: {_told(plan)}")
        if said.count is not None and finding.count != said.count:
            raise NonConformance(f"{finding.count} rows counted, {said.count} are there")
        shown = {w.get(said.column) for w in finding.witnesses}
        if said.keys and shown != set(said.keys):
            raise NonConformance(f"witnesses {shown}, but the rows are {set(said.keys)}")


def _every_proof_answered(proofs: Sequence[object], results: Sequence[ProofResult]) -> None:
    if [r.proof for r in results] != list(proofs):
        raise NonConformance(f"asked to prove {proofs}, answered for {[r.proof for r in results]}")


def _told(plan: TablePlan) -> str:
    said = [f"{f.code} {f.message}" for f in plan.findings]
    return "; ".join([plan.status.value, *(s.title for s in plan.steps), *said])


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
