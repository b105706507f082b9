"""Every operation that ALTER cannot do everywhere, as text: rows before, rows after, and back again."""

from __future__ import annotations

import pytest

from instar.core.changes import DropColumn
from instar.core.plan import TablePlan
from instar.core.policy import Policy
from lifecycle.case_text import Case, cases
from lifecycle.world import World


def policy(case: Case) -> Policy:
    words = case.parts.get("allow", "")
    return Policy(allow_column_removal="drop" in words, allow_rewrite="rewrite" in words)


def findings(plan: TablePlan) -> list[str]:
    """`F201 2 rows: id=1 age=abc; id=2 age=x` of what blocks."""
    said = []
    for finding in plan.findings:
        if finding.severity.value == "error":
            rows = "; ".join(" ".join(f"{k}={v}" for k, v in w.items()) for w in finding.witnesses)
            counted = f" {finding.count} rows: {rows}" if finding.count is not None else ""
            said.append(finding.code + counted)
    return said


def values_go(plan: TablePlan) -> bool:
    """It says that values are lost for good: a rewrite keeps the old table."""
    return any(f.code == "F502" and "the values of" in f.message for f in plan.findings)


def dropped(plan: TablePlan) -> bool:
    return any(isinstance(c.change, DropColumn) for c in plan.changes)


def check(case: Case, world: World) -> None:
    world.apply(case.manifest("before", "t", world.format, world.engine))
    world.fill(case.rows)
    before = world.rows()
    assert before == sorted(case.rows), "the rows are read as they were written"
    world.declare(case.manifest("wanted", "t", world.format, world.engine))
    (plan,) = world.plan(policy(case)).tables
    engine = world.format or world.engine
    if code := case.there("not kept", engine):
        assert code in {f.code for f in plan.findings if f.severity.value != "error"}
        assert (findings(plan), plan.steps, world.rows()) == ([], (), before)
        return
    if blocked := case.blocked(engine):
        assert findings(plan) == blocked
        assert world.rows() == before
        return
    assert findings(plan) == []
    steps = case.steps(engine)
    assert [s.rung.value for s in plan.steps] == steps
    if world.spark is None:
        assert values_go(plan) == (dropped(plan) and "rewrite" not in steps)
    world.apply(policy=policy(case))
    assert world.rows() == sorted(case.lines("rows after"))
    assert world.plan(policy(case)).pending == (), "the next plan is empty"
    if "rewrite" in steps:
        undone(case, world, before, steps)


def undone(case: Case, world: World, before: list[str], steps: list[str]) -> None:
    """Back to the old rows; the plan then shows the change again; and forward once more."""
    world.project.revert("t", confirm=world.yes, spark=world.spark)
    assert world.rows() == before
    (plan,) = world.plan(policy(case)).tables
    assert [s.rung.value for s in plan.steps] == steps
    world.project.revert("t", confirm=world.yes, spark=world.spark)
    assert world.rows() == sorted(case.lines("rows after"))


@pytest.mark.parametrize("case", cases("duckdb"), ids=lambda c: c.name)
def test_on_duckdb(case: Case, world: World) -> None:
    check(case, world)


@pytest.mark.parametrize("case", cases("postgres"), ids=lambda c: c.name)
def test_on_postgres(case: Case, on_postgres: World) -> None:
    check(case, on_postgres)


@pytest.mark.parametrize("case", cases("dsql"), ids=lambda c: c.name)
def test_on_dsql(case: Case, on_dsql: World) -> None:
    check(case, on_dsql)
