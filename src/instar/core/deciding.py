"""What is said of a decision: what the policy leaves as it is, names that clash, rewrites not allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from instar.core.changes import (
    AddColumn,
    Change,
    ChangeClustering,
    ChangePartitioning,
    ChangePrimaryKey,
    DropColumn,
    DropConstraint,
    ReorderColumns,
    declared_key,
)
from instar.core.classify import Classified, Safety
from instar.core.findings import Finding, Severity
from instar.core.matching import Fold, folded
from instar.core.plan import Capability, Rung
from instar.core.policy import Policy
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import Path, path_text, walk


def policy_findings(
    classified: tuple[Classified, ...], tracked: bool, wanted: Wanted, policy: Policy
) -> Iterator[Finding]:
    """A word for every change that is seen and not done, and for what no engine could do."""
    table = wanted.table.name
    for item in classified:
        if not item.accepted:
            yield from _left(item.change, table, tracked, policy)
        elif item.safety is Safety.UNSUPPORTED:
            yield Finding(
                "F104",
                Severity.ERROR,
                f"[{table}] {item.reason}.",
                "Add a '_using' expression to the column definition in the yml.",
                getattr(item.change, "path", ()),
            )


def _left(change: Change, table: TableName, tracked: bool, policy: Policy) -> Iterator[Finding]:
    match change:
        case DropColumn(path):
            yield Finding(
                "F102",
                Severity.WARNING,
                f"[{table}] '{path_text(path)}' is live but not declared; it stays.",
                "Declare it, or drop it with --column-conflict drop.",
                path,
                key="columns",
            )
        case ReorderColumns(path):
            yield from _order_kept(path, table, tracked, policy)
        case DropConstraint() | ChangePrimaryKey() | ChangeClustering() | ChangePartitioning():
            yield Finding(
                "F103",
                Severity.WARNING,
                f"[{table}] has {_described(change)} that is not declared; it stays.",
                "Declare it, or remove it with --column-conflict drop.",
                key=declared_key(change),
            )
        case _:
            pass


def _order_kept(path: Path, table: TableName, tracked: bool, policy: Policy) -> Iterator[Finding]:
    if not tracked:
        yield Finding(
            "F402",
            Severity.INFO,
            f"[{table}] the order differs from the live table; the live order is kept.",
            "Use --column-conflict reorder to take over the declared order.",
            path,
            key="columns",
        )
    elif policy.reorders:
        order = f"the live field order of '{path_text(path)}'" if path else "its live column order"
        hint = "Let apply print the corrected column block, or use --write-manifests."
        yield Finding(
            "F401",
            Severity.WARNING,
            f"[{table}] is change-tracked: {order} is authoritative.",
            "Declare the fields in that order." if path else hint,
            path,
            key="columns",
        )


def _described(change: Change) -> str:
    match change:
        case DropConstraint(constraint):
            return f"the constraint '{constraint.name}'"
        case ChangePrimaryKey(old):
            return f"the primary key ({', '.join(old)})"
        case ChangeClustering(old):
            return f"clustering by ({', '.join(old)})"
        case ChangePartitioning(old):
            return f"partitioning by ({', '.join(old)})"
        case _:
            return "something"


def name_clashes(target: Table, fold: Fold) -> Iterator[Finding]:
    """A new name that a column which stays already has."""
    seen: set[Path] = set()
    for path, _ in walk(target.columns):
        place = folded(path, fold)
        if place in seen:
            yield Finding(
                "F108",
                Severity.ERROR,
                f"[{target.name}] there would be two columns '{path_text(path)}': the old one stays.",
                "Drop the old one with --column-conflict drop, or choose another name.",
                path,
            )
        seen.add(place)


def layout_clash(target: Table, wanted: Table) -> Iterator[Finding]:
    """For an engine with one layout: the declared one beside another that is not declared and stays."""
    if not (target.partition_by and target.cluster_by) or (
        wanted.partition_by and wanted.cluster_by
    ):
        return
    by = f"partitioned by ({', '.join(target.partition_by)}) and clustered by ({', '.join(target.cluster_by)})"
    yield Finding(
        "F601",
        Severity.ERROR,
        f"[{target.name}] would be {by}, and only one of the two is possible: what is not declared stays.",
        "Give it up with --column-conflict drop, or declare what is there.",
        key="cluster_by" if wanted.cluster_by else "partition_by",
    )


def rung_findings(
    able: Iterable[tuple[Change, Capability]],
    policy: Policy,
    tracked: bool,
    wanted: Wanted,
    fold: Fold,
) -> Iterator[Finding]:
    """What the engine cannot do at all, and rewrites that nobody has allowed."""
    table = wanted.table.name
    for change, capability in able:
        path, key = getattr(change, "path", ()), declared_key(change)
        if capability.rung is Rung.NEVER:
            words = f"[{table}] {capability.why}."
            yield Finding("F601", Severity.ERROR, words, capability.way, path, key=key)
        if capability.rung is not Rung.REWRITE:
            continue
        if tracked:
            yield Finding(
                "F403",
                Severity.ERROR,
                f"[{table}] is change-tracked and is never rewritten: {capability.why}.",
                "Turn change tracking off first, or leave this change out.",
                path,
                key=key,
            )
        elif not policy.allow_rewrite and not _by_order(change, policy, wanted, fold):
            yield Finding(
                "F501",
                Severity.ERROR,
                f"[{table}] needs a rewrite of the table: {capability.why}.",
                "Pass --allow-rewrite to permit it.",
                path,
                key=key,
            )


def _by_order(change: Change, policy: Policy, wanted: Wanted, fold: Fold) -> bool:
    """A rewrite for the sake of the order alone: `reorder` has asked for it."""
    if isinstance(change, AddColumn):
        moved = policy.reorders and change.after is not None
        return moved and wanted.hint(change.path, fold).using is None
    return isinstance(change, ReorderColumns)
