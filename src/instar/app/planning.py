"""A plan for many tables: engines are asked in bulk, rows are looked at only where a proof needs them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from instar.app.events import Listener
from instar.app.mending import STRANDED, stranded
from instar.app.proving import proven
from instar.backends.base import Backend, NotATable, Views
from instar.backends.keeping import Leftover
from instar.backends.registry import Engine
from instar.core.changes import DropColumn, ModifyColumn
from instar.core.checks import ProofResult
from instar.core.findings import Finding, Severity
from instar.core.plan import UNFINISHED, Cost, Status, TablePlan
from instar.core.planner import Draft, draft, finish
from instar.core.policy import Policy
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import path_text
from instar.state import Store


def plan_tables(
    wanted: Sequence[Wanted],
    engine: Engine,
    store: Store,
    env: str,
    policy: Policy,
    listener: Listener,
    own: Container[TableName] = (),
) -> tuple[TablePlan, ...]:
    """The plan of every wanted table, in the order given; `own` views follow in the same plan."""
    by_backend: defaultdict[int, list[Wanted]] = defaultdict(list)
    backends: dict[int, Backend] = {}
    for item in wanted:
        backend = engine.backend(item.table.format)
        backends[id(backend)] = backend
        by_backend[id(backend)].append(item)
    open_runs = {run.table for run in store.unfinished(env)}
    plans: dict[TableName, TablePlan] = {}
    for key, items in by_backend.items():
        views = backends[key].views()
        for plan in _plan_on(backends[key], items, store, env, policy, open_runs, listener):
            plans[plan.table] = with_readers(plan, views, own)
    return tuple(plans[item.table.name] for item in wanted)


def _plan_on(
    backend: Backend,
    items: Sequence[Wanted],
    store: Store,
    env: str,
    policy: Policy,
    open_runs: set[TableName],
    listener: Listener,
) -> list[TablePlan]:
    live = backend.inspect([item.table.name for item in items])
    left = backend.unfinished([name for name in live if name not in open_runs])
    done = store.all_done_renames(env)
    plans: list[TablePlan] = []
    drafts: list[Draft] = []
    for item in items:
        name = item.table.name
        found = live.get(name)
        if name in open_runs:
            plans.append(_without_steps(item, backend, interrupted(name), Status.NO_CHANGE))
        elif name in left:
            plans.append(_without_steps(item, backend, _unmended(name), Status.NO_CHANGE))
        elif isinstance(found, NotATable):
            plans.append(_without_steps(item, backend, _not_a_table(found), Status.BLOCKED))
        else:
            drafts.append(draft(item, found, backend.rules, policy, done.get(name, frozenset())))
    lost = stranded(backend, [d.name for d in drafts if d.live is None])
    plans += [
        _without_steps(d.wanted, backend, _stranded(lost[d.name]), Status.BLOCKED)
        for d in drafts
        if d.name in lost
    ]
    drafts = _judged([d for d in drafts if d.name not in lost], backend)
    costs = backend.measure([d.name for d in drafts if d.live is not None and d.job.changes])
    plans += [completed(d, backend, costs, listener) for d in drafts]
    return plans


def _judged(drafts: Sequence[Draft], backend: Backend) -> list[Draft]:
    """Each draft with what the session's role may not do for it: known before any row is read."""
    denied = backend.denied([d.job for d in drafts if d.job.changes])
    return [replace(d, findings=(*d.findings, *denied.get(d.name, ()))) for d in drafts]


def completed(
    sketch: Draft, backend: Backend, costs: Mapping[TableName, Cost], listener: Listener
) -> TablePlan:
    """A draft with the proofs that its rows gave."""
    cost = costs.get(sketch.name, Cost())
    results: Sequence[ProofResult] = ()
    if sketch.proofs and sketch.provable:
        listener.progress(f"checking rows of {sketch.name}", 0, cost.rows)
        results, refused = proven(sketch, backend)
        sketch = replace(sketch, findings=(*sketch.findings, *refused))
    return finish(sketch, tuple(results), cost, backend.rules)


def with_readers(plan: TablePlan, views: Views, own: Container[TableName]) -> TablePlan:
    """Blocked where a view that the project does not make would no longer work: its readers come first."""
    paths = [
        c.change.old_path if isinstance(c.change, ModifyColumn) else c.change.path
        for c in plan.changes
        if c.accepted and isinstance(c.change, ModifyColumn | DropColumn)
    ]
    if not paths or not plan.steps or plan.live is None or plan.target is None:
        return plan
    broken = {n: s for n, s in views.broken(plan.target).items() if n not in own}
    if not broken:
        return plan
    text = " ".join(broken.values()).casefold()
    read = [p for p in paths if p[-1].casefold() in text] or paths
    finding = Finding(
        "F601",
        Severity.ERROR,
        f"[{plan.table}] a view reads {', '.join(repr(path_text(p)) for p in read)}:"
        f" {', '.join(map(str, broken))}.",
        "Change or drop the view first, or make it a model: it then changes in the same plan.",
        key="columns",
    )
    return replace(plan, status=Status.BLOCKED, steps=(), findings=(*plan.findings, finding))


def _without_steps(
    item: Wanted, backend: Backend, finding: Finding, status: Status, live: Table | None = None
) -> TablePlan:
    return TablePlan(
        item.table.name,
        backend.rules.name,
        status,
        (),
        (finding,),
        (),
        live,
        None,
        origin=item.origin,
    )


def _not_a_table(found: NotATable) -> Finding:
    return Finding(
        "F106",
        Severity.ERROR,
        f"[{found.name}] is {found.what}, not a table that can be evolved.",
        "Give the table another name, or remove what is there.",
    )


def _stranded(left: Leftover) -> Finding:
    names = ", ".join(str(n) for n in (*left.olds, *([left.new] if left.new else [])))
    return Finding(
        STRANDED,
        Severity.ERROR,
        f"[{left.table}] is gone, and what an unfinished rewrite has left of it is there: {names}.",
        "Run `instar recover` (or `instar apply`): it puts the rows back first.",
    )


def _unmended(name: TableName) -> Finding:
    return Finding(
        UNFINISHED,
        Severity.WARNING,
        f"[{name}] an earlier rewrite did not end, and what it needs is still beside the table (its"
        " triggers, its copy, or foreign keys that are not validated again); it is mended first, then"
        " the table is planned.",
        "Run `instar apply` or `instar recover`.",
    )


def interrupted(name: TableName) -> Finding:
    return Finding(
        UNFINISHED,
        Severity.WARNING,
        f"[{name}] an earlier apply did not end; it is finished first, then the table is planned.",
        "Run `instar apply` or `instar recover`.",
    )
