"""What a model's table falls back on: where ALTER is not safe it is recomputed, if that is allowed.

The plan is the same one that a manifest gets. Here it is read once more: a change that would lose or
guess, and everything that the engine cannot do in place, asks for a full refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from instar.core.changes import DropColumn, ModifyColumn, TypeChange, modification
from instar.core.classify import Safety
from instar.core.findings import Finding, Severity
from instar.core.plan import Cost, Rung, Status, Step, TablePlan
from instar.core.planner import Draft
from instar.core.policy import Policy
from instar.core.promotions import Verdict, promotion
from instar.core.schema import Table
from instar.core.types import Decimal, Float, Integer, Path, Type, path_text, type_text

_STANDS_FOR = frozenset(("F101", "F104", "F107", "F108", "F109", "F501", "F601"))
"""Findings of the plan whose reason a refresh takes away."""
_RENAMES = frozenset(("F107", "F109"))
"""Of these the ones that the file may be wrong about: their hint says how to mend it."""
_ROWS = frozenset(("F201", "F202", "F203", "F204", "F301", "F302"))


@dataclass(frozen=True, slots=True)
class Refresh:
    """The way out of one model: its name, whether its strategy asks for it, and how it is done."""

    model: str
    always: bool
    fresh: Table
    steps: Callable[[], tuple[Step, ...]]
    advice: str = ""
    because: str = "the model's strategy is full_refresh"


def evolved(sketch: Draft, plan: TablePlan, policy: Policy, way: Refresh) -> TablePlan:
    """The model's plan: as it is, refreshed, or blocked with the words that say what to pass."""
    if sketch.live is None or not (sketch.changes or plan.blocked):
        return plan
    if way.always:
        return _refreshed(sketch, plan, way, way.because)
    reasons = list(dict.fromkeys(_reasons(sketch, plan, policy)))
    if not reasons:
        return plan
    if policy.allow_full_refresh:
        return _refreshed(sketch, plan, way, "; ".join(reasons))
    removal = _only_removal(sketch, plan, policy)
    return _blocked(plan, way, reasons, removal=removal)


def _reasons(sketch: Draft, plan: TablePlan, policy: Policy) -> Iterator[str]:
    typed: set[Path] = set()
    for item in sketch.changes:
        match item.change:
            case DropColumn(path) if not item.accepted:
                yield f"removing '{path_text(path)}' loses its values"
            case ModifyColumn(path) as change if change_ := modification(change, TypeChange):
                words = f"{type_text(change_.old)} to {type_text(change_.new)}"
                verdict = promotion(change_.old, change_.new).verdict
                if verdict is Verdict.CHECKED:
                    yield f"'{path_text(path)}' {_loss(change_.old, change_.new)}"
                elif verdict is Verdict.IMPOSSIBLE or item.safety is Safety.UNSUPPORTED:
                    typed.add(path)
                    yield f"'{path_text(path)}' cannot be migrated from {words}"
            case _:
                pass
    copied = sketch.job.rung is Rung.REWRITE and not policy.allow_rewrite
    if copied:
        yield sketch.job.why
    for finding in plan.findings:
        told = finding.code == "F104" and finding.path in typed
        told = told or (copied and sketch.job.why in finding.message)
        if finding.severity is Severity.ERROR and finding.code in _STANDS_FOR | _ROWS and not told:
            yield finding.message.removeprefix(f"[{plan.table}] ").rstrip(".")


def _loss(old: Type, new: Type) -> str:
    """Narrower is a type of the same kind whose every value the old one holds; others just hold other values."""
    was, will = type_text(old), type_text(new)
    numbers = (Integer, Decimal, Float)
    alike = type(old) is type(new) or (isinstance(old, numbers) and isinstance(new, numbers))
    if alike and promotion(new, old).verdict is Verdict.LOSSLESS:
        return f"would be narrowed from {was} to {will}"
    return f"would be changed from {was} to {will}, which does not hold every {was}"


def _only_removal(sketch: Draft, plan: TablePlan, policy: Policy) -> bool:
    dropped = [c for c in sketch.changes if isinstance(c.change, DropColumn) and not c.accepted]
    rest = [r for r in _reasons(sketch, plan, policy) if not r.startswith("removing '")]
    return bool(dropped) and not rest


def _refreshed(sketch: Draft, plan: TablePlan, way: Refresh, why: str) -> TablePlan:
    kept = tuple(
        f for f in plan.findings if f.severity is not Severity.ERROR and f.code not in ("F102",)
    )
    cost = next((s.cost for s in plan.steps if s.cost != Cost()), Cost())
    steps = tuple(replace(s, why_not_cheaper=why, cost=cost) for s in way.steps())
    changes = tuple(replace(c, accepted=True) for c in sketch.changes)
    return replace(
        plan,
        status=Status.CHANGE,
        changes=changes,
        findings=kept,
        steps=steps,
        target=way.fresh,
    )


def _blocked(plan: TablePlan, way: Refresh, reasons: list[str], *, removal: bool) -> TablePlan:
    told = "; ".join(reasons)
    stood_for = [f for f in plan.findings if f.code in _STANDS_FOR and f.severity is Severity.ERROR]
    mends = [f.hint for f in stood_for if f.code in _RENAMES and f.hint]
    flags = "--allow-column-removal or --allow-full-refresh" if removal else "--allow-full-refresh"
    run = f"{way.advice} or run" if way.advice else "Or run" if mends else "Run"
    finding = Finding(
        "F701",
        Severity.ERROR,
        f"Schema evolution requires full refresh for model '{way.model}': {told}.",
        " ".join((*mends, f"{run} with {flags}.")),
    )
    kept = tuple(f for f in plan.findings if f not in stood_for and f.code != "F102")
    return replace(plan, status=Status.BLOCKED, findings=(finding, *kept), steps=())
