"""From a difference to a plan: what the policy accepts, the cheapest rung, what must be proven first.

`draft` decides without looking at rows; the proofs it names are run on the engine; `finish` turns the
answers into a plan. Between the two nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from instar.core.capabilities import Rules
from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangeClustering,
    ChangePartitioning,
    ChangePrimaryKey,
    CreateTable,
    DropColumn,
    DropConstraint,
    ModifyColumn,
    Nullability,
    ReorderColumns,
)
from instar.core.checks import (
    Proof,
    ProofResult,
    finding_for,
    proofs_for,
    told_apart,
    unkept_proofs,
)
from instar.core.classify import Classified, classify
from instar.core.deciding import layout_clash, name_clashes, policy_findings, rung_findings
from instar.core.diff import diff
from instar.core.doubts import rename_findings
from instar.core.evolve import evolve
from instar.core.findings import Finding, Severity
from instar.core.matching import DoneRenames, Fold, folded
from instar.core.plan import Capability, Cost, Job, Rung, Status, Step, TablePlan
from instar.core.policy import Policy
from instar.core.projection import project
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import walk


@dataclass(frozen=True, slots=True)
class Draft:
    """A plan before its proofs: everything that follows from the two schemas and the policy."""

    wanted: Wanted
    live: Table | None
    changes: tuple[Classified, ...]
    findings: tuple[Finding, ...]
    job: Job
    proofs: tuple[Proof, ...]
    irreversible: tuple[str, ...]
    tracked: bool = False

    @property
    def name(self) -> TableName:
        return self.wanted.table.name

    @property
    def provable(self) -> bool:
        """There are rows that may be looked at, and the projection of them has a meaning."""
        return self.live is not None and not any(f.code in _UNPROVABLE for f in self.findings)


_UNPROVABLE = frozenset({"F104", "F108", "F601", "F606", "F607", "F608"})


def draft(
    wanted: Wanted,
    live: Table | None,
    rules: Rules,
    policy: Policy,
    done: DoneRenames = frozenset(),
    *,
    nested_order: bool = False,
) -> Draft:
    """Decide what happens to one table; `nested_order`: fields inside a column take the wanted order."""
    tracked, declared = _tracked(wanted, live), wanted.table
    wanted, findings = rules.normalize(wanted, live)
    changes = tuple(_beside_key(diff(live, wanted, rules.fold, done), policy))
    if live is not None and not changes:
        return Draft(wanted, live, (), findings, _idle(live, wanted), (), (), tracked)
    told = (classify(change, wanted, rules.fold) for change in changes)
    replaced = frozenset(c.constraint.name for c in changes if isinstance(c, AddConstraint))
    classified = tuple(_decided(c, tracked, policy, replaced, nested_order) for c in told)
    accepted = tuple(
        c.change if live is None else _placed(c.change, tracked, policy, rules, nested_order)
        for c in classified
        if c.accepted
    )
    target = evolve(live, accepted)
    able = [_able(change, live, wanted, rules) for change in accepted]
    rung = max((c.rung for c in able), key=lambda r: r.height, default=Rung.METADATA)
    why = _reasons([c.why for c in able if c.why and c.rung is rung])
    said = (
        *findings,
        *policy_findings(classified, tracked, wanted, policy),
        *rename_findings(classified, live, wanted, rules.fold, done),
        *name_clashes(target, rules.fold),
        *(layout_clash(target, wanted.table) if rules.one_layout else ()),
        *rung_findings(zip(accepted, able, strict=True), policy, tracked, wanted, rules.fold),
    )
    projection = project(live, target, accepted, wanted, rules.fold) if live else ()
    job = Job(live, target, accepted, projection, wanted, rung, why)
    proofs = _proofs(accepted, declared, wanted, rules.fold) if live else ()
    lost = tuple(dict.fromkeys(note for c in able for note in c.lasting(rung)))
    return Draft(wanted, live, classified, said, job, proofs, lost, tracked)


def _proofs(
    accepted: tuple[Change, ...], declared: Table, wanted: Wanted, fold: Fold
) -> tuple[Proof, ...]:
    return (*proofs_for(accepted, wanted, fold), *unkept_proofs(accepted, declared, wanted, fold))


def _tracked(declared: Wanted, live: Table | None) -> bool:
    """Others read its changes; where the engine keeps no such mark, the declaration is what counts."""
    if live is None:
        return False
    said = live.change_tracking
    return bool(declared.table.change_tracking if said is None else said)


def _beside_key(changes: tuple[Change, ...], policy: Policy) -> Iterator[Change]:
    """The columns of a primary key that stays although it is not declared stay NOT NULL with it."""
    keys = [c.old for c in changes if isinstance(c, ChangePrimaryKey) and not c.new]
    kept = frozenset(name for key in keys for name in key if not policy.drops)
    for change in changes:
        if not isinstance(change, ModifyColumn) or change.path[0] not in kept or change.path[1:]:
            yield change
            continue
        left = tuple(m for m in change.modifications if not isinstance(m, Nullability) or not m.new)
        if left:
            yield replace(change, modifications=left)


def _idle(live: Table, wanted: Wanted) -> Job:
    return Job(live, live, (), (), wanted, Rung.METADATA)


def _able(change: Change, live: Table | None, wanted: Wanted, rules: Rules) -> Capability:
    if live is None or isinstance(change, CreateTable):
        return Capability(Rung.METADATA)
    return rules.capability(change, live, wanted)


def _reasons(whys: list[str]) -> str:
    """Every sentence once; what all of them say comes last."""
    each = [why.split("; ") for why in whys]
    said = dict.fromkeys(sentence for why in each for sentence in why)
    common = [s for s in said if all(s in why for why in each)]
    return "; ".join([*(s for s in said if s not in common), *common])


def _placed(
    change: Change, tracked: bool, policy: Policy, rules: Rules, nested_order: bool
) -> Change:
    """Where a new column really goes: at the end of a tracked table, or where no place can be had."""
    if not isinstance(change, AddColumn):
        return change
    nested = nested_order and len(change.path) > 1
    free = rules.positions or policy.reorders or nested
    return change if free and not tracked else replace(change, after=None)


def _decided(
    classified: Classified,
    tracked: bool,
    policy: Policy,
    replaced: frozenset[str],
    nested_order: bool,
) -> Classified:
    """What the policy lets through; the rest stays in the plan as seen and not done."""
    match classified.change:
        case DropConstraint(constraint) if constraint.name in replaced:
            return classified
        case DropColumn() | DropConstraint() | ChangePrimaryKey(_, ()):
            return replace(classified, accepted=policy.drops)
        case ChangeClustering(_, ()) | ChangePartitioning(_, ()):
            return replace(classified, accepted=policy.drops)
        case ReorderColumns(path):
            wished = policy.reorders or (nested_order and bool(path))
            return replace(classified, accepted=wished and not tracked)
        case _:
            return classified


def finish(sketch: Draft, results: tuple[ProofResult, ...], cost: Cost, rules: Rules) -> TablePlan:
    """The plan of one table, with what the rows said."""
    broken = tuple(finding_for(sketch.name, r) for r in told_apart(results) if r.count)
    findings = (*sketch.findings, *broken, *_notes(sketch))
    blocked = any(f.severity is Severity.ERROR for f in findings)
    steps: tuple[Step, ...] = ()
    if sketch.job.changes and not blocked:
        steps = tuple(_costed(step, sketch, cost) for step in rules.steps(sketch.job))
    return TablePlan(
        sketch.name,
        rules.name,
        _status(sketch, steps, blocked),
        sketch.changes,
        findings,
        steps,
        sketch.live,
        sketch.job.target,
        _normalized_columns(sketch, rules.fold),
        sketch.wanted.origin,
        _renames(sketch, rules.fold),
    )


def _renames(sketch: Draft, fold: Fold) -> DoneRenames:
    hints = sketch.wanted.hints.items()
    declared = {folded(p, fold): fold(h.renamed_from) for p, h in hints if h.renamed_from}
    if not declared:
        return frozenset()
    there = {folded(path, fold) for path, _ in walk(sketch.job.target.columns)}
    return frozenset((p, old) for p, old in declared.items() if p in there)


def _notes(sketch: Draft) -> Iterator[Finding]:
    for note in sketch.irreversible:
        yield Finding("F502", Severity.WARNING, f"[{sketch.name}] cannot be undone: {note}.")


def _costed(step: Step, sketch: Draft, cost: Cost) -> Step:
    touches = step.rung in (Rung.REWRITE, Rung.STEPS) or step.kind == "fill"
    why = step.why_not_cheaper or (sketch.job.why if step.rung is not Rung.METADATA else None)
    return replace(step, cost=cost if touches else Cost(), why_not_cheaper=why or None)


def _status(sketch: Draft, steps: tuple[Step, ...], blocked: bool) -> Status:
    if blocked:
        return Status.BLOCKED
    if not steps:
        return Status.NO_CHANGE
    return Status.CREATE if sketch.live is None else Status.CHANGE


def _normalized_columns(sketch: Draft, fold: Fold) -> tuple[str, ...]:
    """The column order of a tracked table, when the declared one differs from what it will be."""
    if not sketch.tracked:
        return ()
    declared = [fold(c.name) for c in sketch.wanted.table.columns]
    order = [c.name for c in sketch.job.target.columns]
    known = [fold(name) for name in order if fold(name) in declared]
    return tuple(order) if known != declared else ()
