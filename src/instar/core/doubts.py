"""Renames in doubt: what looks like one and is not declared, what is declared and cannot be done."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from instar.core.changes import (
    AddColumn,
    DropColumn,
    ModifyColumn,
    Rename,
    TypeChange,
    modification,
)
from instar.core.classify import Classified
from instar.core.findings import Finding, Severity
from instar.core.matching import DoneRenames, Fold, folded
from instar.core.nearest import closest
from instar.core.renaming import mentions
from instar.core.schema import Table, Wanted
from instar.core.types import Column, Path, bare, children, path_text, type_text


def rename_findings(
    classified: tuple[Classified, ...],
    live: Table | None,
    wanted: Wanted,
    fold: Fold,
    done: DoneRenames,
) -> Iterator[Finding]:
    """Changes that look like a rename and are not declared, and declared ones that are not done."""
    lost = tuple(_lost_renames(classified, live, wanted, fold, done)) if live is not None else ()
    yield from lost
    yield from _unsaid_renames(classified, wanted, fold, {finding.path for finding in lost})
    yield from _open_renames(classified, wanted, fold, done)
    yield from _idle_expressions(classified, wanted, fold)


def _lost_renames(
    classified: tuple[Classified, ...], live: Table, wanted: Wanted, fold: Fold, done: DoneRenames
) -> Iterator[Finding]:
    """A declared rename whose old name is not live, beside a column that nobody declares: its values
    would not follow, and under `drop` they would go."""
    for add in (c.change for c in classified if isinstance(c.change, AddColumn)):
        old = wanted.hint(add.path, fold).renamed_from
        if old is None or (folded(add.path, fold), fold(old)) in done:
            continue
        beside = _beside(add.path, classified, live)
        gone = [
            (c.change.column.name, c.accepted)
            for c in classified
            if isinstance(c.change, DropColumn) and c.change.path[:-1] == add.path[:-1]
        ]
        if not gone or any(fold(c.name) == fold(old) for c in beside):
            continue
        names = [name for name, _ in gone]
        near = closest(old, names) or closest(old.rpartition(".")[2], names)
        advice = f"Did you mean '{near}'? " if near else ""
        yield Finding(
            "F109",
            Severity.ERROR if any(dropped for _, dropped in gone) else Severity.WARNING,
            f"[{wanted.table.name}] '{path_text(add.path)}' is declared as renamed from '{old}', "
            "but no live column has that name.",
            f"{advice}Live and not declared: {', '.join(name for name, _ in gone)}. "
            "Name one of them, or remove `renamed_from`.",
            add.path,
        )


def _beside(path: Path, classified: tuple[Classified, ...], live: Table) -> tuple[Column, ...]:
    """The live columns at the level of a path, whatever the columns above it were called."""
    was = {
        c.change.path: c.change.old_path for c in classified if isinstance(c.change, ModifyColumn)
    }
    parent: Path = ()
    for depth in range(1, len(path)):
        parent = was.get(path[:depth], (*parent, path[depth - 1]))
    above = live.column(parent) if parent else None
    return live.columns if not parent else children(above.type) if above else ()


def _unsaid_renames(
    classified: tuple[Classified, ...], wanted: Wanted, fold: Fold, said: Collection[Path]
) -> Iterator[Finding]:
    """A drop and an add of one type side by side look like a rename; that is said, never guessed.

    One whose expression already reads the column that goes takes the values along.
    """
    drops = [(c.change, c.accepted) for c in classified if isinstance(c.change, DropColumn)]
    for add in (c.change for c in classified if isinstance(c.change, AddColumn)):
        alike = [
            (dropped, goes)
            for dropped, goes in drops
            if bare(add.column.type) == bare(dropped.column.type)
            and add.path[:-1] == dropped.path[:-1]
            and not _reads(add, dropped, wanted, fold)
        ]
        if alike and add.path not in said:
            yield _looks_renamed(wanted, add, alike)


_CANDIDATES = 5
"""How many columns a doubt names."""


def _looks_renamed(wanted: Wanted, add: AddColumn, alike: list[tuple[DropColumn, bool]]) -> Finding:
    """One word for each new column, however many it could have been: the likeliest is proposed."""
    names = [dropped.path[-1] for dropped, _ in alike]
    meant = closest(add.path[-1], names) or names[0]
    shown = ", ".join(f"'{path_text(dropped.path)}'" for dropped, _ in alike[:_CANDIDATES])
    more = f" and {len(alike) - _CANDIDATES:,} more" if len(alike) > _CANDIDATES else ""
    goes, several = alike[0][1], len(alike) > 1
    fate = ("go" if several else "goes") if goes else f"{'are' if several else 'is'} not declared"
    both, other = ("all", ", or another of them") if several else ("both", "")
    return Finding(
        "F105",
        Severity.WARNING,
        f"[{wanted.table.name}] '{path_text(add.path)}' is new and {shown}{more} {fate}, "
        f"{both} {type_text(add.column.type)}: is it a rename?",
        f"If so, say `renamed_from: {meant}`{other}; else the values do not follow.",
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


def _idle_expressions(
    classified: tuple[Classified, ...], wanted: Wanted, fold: Fold
) -> Iterator[Finding]:
    """A `_using` at a column that is renamed and keeps its type: the values stay as they are."""
    for change in (c.change for c in classified if isinstance(c.change, ModifyColumn)):
        renamed = modification(change, Rename) and not modification(change, TypeChange)
        if renamed and wanted.hint(change.path, fold).using is not None:
            yield Finding(
                "F110",
                Severity.WARNING,
                f"[{wanted.table.name}] the _using of '{path_text(change.path)}' is not run: the column "
                "is only renamed and keeps its values.",
                "Remove it. To compute the values anew, leave `renamed_from` out: it is then a new column.",
                change.path,
            )
