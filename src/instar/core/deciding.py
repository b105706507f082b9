"""What is said of a decision: what the policy leaves as it is, renames in doubt, rewrites not allowed."""

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
from instar.core.matching import DoneRenames, Fold, folded
from instar.core.plan import Capability, Rung
from instar.core.policy import Policy
from instar.core.renaming import mentions
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import Path, bare, path_text, type_text, walk


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


def rename_findings(
    classified: tuple[Classified, ...], wanted: Wanted, fold: Fold, done: DoneRenames
) -> Iterator[Finding]:
    """Renames that look like one and are not declared, and declared ones that are not done."""
    yield from _unsaid_renames(classified, wanted, fold)
    yield from _open_renames(classified, wanted, fold, done)


def _unsaid_renames(
    classified: tuple[Classified, ...], wanted: Wanted, fold: Fold
) -> Iterator[Finding]:
    """A drop and an add of one type side by side look like a rename; that is said, never guessed.

    One whose expression already reads the column that goes takes the values along.
    """
    table = wanted.table.name
    adds = [c.change for c in classified if isinstance(c.change, AddColumn)]
    for item in classified:
        if not isinstance(item.change, DropColumn):
            continue
        dropped = item.change
        for add in adds:
            alike = bare(add.column.type) == bare(dropped.column.type)
            if (
                alike
                and add.path[:-1] == dropped.path[:-1]
                and not _reads(add, dropped, wanted, fold)
            ):
                yield Finding(
                    "F105",
                    Severity.WARNING,
                    f"[{table}] '{path_text(add.path)}' is new and '{path_text(dropped.path)}' is gone, "
                    f"both {type_text(add.column.type)}: is it a rename?",
                    f"If so, say `renamed_from: {dropped.path[-1]}`; else the values do not follow.",
                    add.path,
                )


def _reads(add: AddColumn, dropped: DropColumn, wanted: Wanted, fold: Fold) -> bool:
    hint = wanted.hint(add.path, fold)
    return any(mentions(sql, dropped.path[-1]) for sql in (hint.using, hint.default) if sql)


def _open_renames(
    classified: tuple[Classified, ...], wanted: Wanted, fold: Fold, done: DoneRenames
) -> Iterator[Finding]:
    """A declared rename whose old and new column are both live: whose values count is not ours to say."""
    claims = {
        (folded(path, fold)[:-1], fold(hint.renamed_from)): path
        for path, hint in wanted.hints.items()
        if hint.renamed_from and (folded(path, fold), fold(hint.renamed_from)) not in done
    }
    for item in classified:
        if not isinstance(item.change, DropColumn):
            continue
        old = folded(item.change.path, fold)
        heir = claims.get((old[:-1], old[-1]))
        if heir is not None:
            yield Finding(
                "F107",
                Severity.ERROR if item.accepted else Severity.WARNING,
                f"[{wanted.table.name}] '{path_text(heir)}' is declared as renamed from "
                f"'{path_text(item.change.path)}', but both are live.",
                "Bring the values together and drop one of the two, or remove `renamed_from`.",
                heir,
            )


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
            yield Finding("F601", Severity.ERROR, words, None, path, key=key)
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
