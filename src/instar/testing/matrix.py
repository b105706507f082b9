"""The capability matrix: every operation run on a real engine, to see the rung it takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from instar.core.capabilities import Rules
from instar.core.findings import Severity
from instar.core.plan import Cost, Rung, TablePlan
from instar.core.planner import draft, finish
from instar.core.schema import TableName, Wanted
from instar.testing.operations import operations
from instar.testing.runner import NonConformance, Refused, run_scenario
from instar.testing.scenario import Harness, Scenario

BACKENDS = ("duckdb", "delta", "iceberg", "parquet")


@dataclass(frozen=True, slots=True)
class Cell:
    """What one engine does for one operation. `rung` is never for what it refuses (`note` says why).

    `also`: what is true beside the rung: what of the operation the engine does not keep or enforce, or
    that no manifest can ask for it.
    """

    rung: str
    note: str = ""
    also: str = ""


_UNKEPT = ("F602", "F603", "F604")
_RING = "E132: a manifest cannot ask for it: renames in a ring are refused"


def probe(harness: Harness, scenario: Scenario) -> Cell:
    """Run the operation; the rows are compared, so a cell is true or the probe fails."""
    planned = foreseen(harness.backend.rules, scenario)
    refused = Refused(planned.note.split(":")[0], planned.note) if planned.rung == "never" else None
    return _cell(run_scenario(harness, scenario, refused), scenario)


def foreseen(rules: Rules, scenario: Scenario, extras: Mapping[str, str] | None = None) -> Cell:
    """What the rules say without an engine, from the live table as the engine would report it.

    `extras`: facts that it would report of a table that it has made itself.
    """
    name = TableName("main", "t")
    live, _ = rules.normalize(Wanted(scenario.live.named(name)), None)
    tracked = bool(live.table.change_tracking)
    reported = replace(live.table, change_tracking=tracked, extras=extras or {})
    wanted = Wanted(scenario.wanted.named(name), scenario.hints)
    plan = finish(draft(wanted, reported, rules, scenario.policy), (), Cost(), rules)
    return _cell(plan, scenario)


def _cell(plan: TablePlan, scenario: Scenario) -> Cell:
    errors = [f for f in plan.findings if f.severity is Severity.ERROR]
    if errors:
        return Cell("never", f"{errors[0].code}: {_without_table(errors[0].message)}")
    if not plan.steps:
        kept = [f for f in plan.findings if f.code.startswith("F6")]
        note = f"{kept[0].code}: {_without_table(kept[0].message)}" if kept else ""
        return Cell("not kept" if kept else "nothing", note)
    rung = max((s.rung for s in plan.steps), key=lambda r: r.height)
    why = next((s.why_not_cheaper for s in plan.steps if s.rung is rung and s.why_not_cheaper), "")
    also = [f"{f.code}: {_without_table(f.message)}" for f in plan.findings if f.code in _UNKEPT]
    if _is_ring(scenario):
        also.append(_RING)
    return Cell(rung.value, why if rung is not Rung.METADATA else "", " ".join(also))


def _is_ring(scenario: Scenario) -> bool:
    """Following the old names of its renames leads back to where one began."""
    olds = {
        path: (*path[:-1], hint.renamed_from)
        for path, hint in scenario.hints.items()
        if hint.renamed_from and hint.renamed_from != path[-1]
    }
    for start in olds:
        path, seen = start, 0
        while path in olds and seen <= len(olds):
            path, seen = olds[path], seen + 1
            if path == start:
                return True
    return False


def _without_table(message: str) -> str:
    return message.split("] ", 1)[-1]


Matrix = Mapping[str, Mapping[str, Cell]]
"""Operation → backend → cell."""


def matrix_text(matrix: Matrix, versions: Mapping[str, str]) -> str:
    """The file that is published."""
    rows = {op: {b: asdict(cell) for b, cell in row.items()} for op, row in matrix.items()}
    document = {"engines": dict(versions), "operations": rows}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


Known = dict[str, dict[str, Cell]]


def probed(
    harnesses: Sequence[Harness], known: Known, seen: Callable[[str, str, Known], None]
) -> Matrix:
    """Every operation on every engine; `known` cells are not run again, `seen` hears of each new one."""
    for scenario in operations():
        row = known.setdefault(scenario.name, {})
        for harness in harnesses:
            backend = harness.backend.rules.name
            if backend in row:
                continue
            try:
                row[backend] = probe(harness, scenario)
            except NonConformance as error:
                raise NonConformance(f"{backend}: {scenario.name}: {error}") from error
            seen(scenario.name, backend, known)
    order = [h.backend.rules.name for h in harnesses]
    return {s.name: {b: known[s.name][b] for b in order} for s in operations()}
