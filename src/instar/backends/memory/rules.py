"""What the memory engine keeps and can do: every rung of the ladder is used by something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from instar.backends.memory.rows import to_text
from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangeClustering,
    ChangePartitioning,
    ChangePrimaryKey,
    ChangeProperty,
    CreateTable,
    DropColumn,
    DropConstraint,
    ModifyColumn,
    Nullability,
    Rename,
    ReorderColumns,
    TypeChange,
    modification,
)
from instar.core.evolve import evolve
from instar.core.findings import Finding, Severity
from instar.core.plan import Capability, Job, Rung, Step, drop_question
from instar.core.projection import project
from instar.core.schema import Table, Wanted
from instar.core.serial import dumps
from instar.core.types import Map, children, path_text, type_text, walk

_TABLE_LEVEL = (ChangePrimaryKey, AddConstraint, ChangeClustering, ChangeProperty)


class MemoryRules:
    name = "memory"
    dialect = "duckdb"
    positions = False
    one_layout = False

    def fold(self, name: str) -> str:
        return name.casefold()

    def normalize(self, wanted: Wanted, live: Table | None) -> tuple[Wanted, tuple[Finding, ...]]:
        table = replace(wanted.table, format="")
        if live is None:
            table = replace(table, change_tracking=bool(table.change_tracking))
        return replace(wanted, table=table), tuple(_unkept(table))

    def capability(self, change: Change, live: Table, wanted: Wanted) -> Capability:
        del live
        match change:
            case AddColumn(path, _, after):
                if wanted.hint(path, self.fold).using is not None:
                    return Capability(Rung.REWRITE, "values are computed from the old rows")
                if after is not None:
                    return Capability(Rung.REWRITE, "a row is stored in the order of its columns")
                return Capability(Rung.METADATA)
            case ModifyColumn():
                return self._modify(change, wanted)
            case ReorderColumns():
                return Capability(Rung.REWRITE, "a row is stored in the order of its columns")
            case ChangePartitioning():
                return Capability(Rung.REWRITE, "rows are stored by partition")
            case _:
                return Capability(Rung.METADATA)

    def _modify(self, change: ModifyColumn, wanted: Wanted) -> Capability:
        hint = wanted.hint(change.path, self.fold)
        required = modification(change, Nullability)
        filled = required is not None and not required.new and hint.default is not None
        typed = modification(change, TypeChange)
        if typed and hint.using is not None:
            return Capability(Rung.REWRITE, "values are computed from the old rows")
        if typed and filled:
            return Capability(Rung.REWRITE, "a new type and a fill are one pass over the old rows")
        if typed:
            words = f"{type_text(typed.old)} → {type_text(typed.new)}"
            return Capability(Rung.STEPS, f"{words} is stored in another way")
        if filled:
            return Capability(Rung.STEPS, "NULLs are filled")
        return Capability(Rung.METADATA)

    def steps(self, job: Job) -> tuple[Step, ...]:
        if job.live is None:
            words = f"create {job.target.name}"
            return (Step("1-create", "create", Rung.METADATA, words, (words,), job.target),)
        if job.rung is Rung.REWRITE:
            return _rewrite(job, job.live)
        return tuple(_in_place(job, job.live, self))


def _unkept(table: Table) -> Iterator[Finding]:
    for path, column in walk(table.columns):
        if isinstance(column.type, Map) and children(column.type.key.type):
            yield Finding(
                "F601",
                Severity.ERROR,
                f"[{table.name}] the memory engine has no maps with nested keys: '{path_text(path)}'.",
                "Use a scalar key.",
                path,
            )


def _rewrite(job: Job, live: Table) -> tuple[Step, ...]:
    data = MappingProxyType({"projection": to_text(job.projection), "target": dumps(job.target)})
    name, target = live.name, job.target
    drops = any(isinstance(c, DropColumn) for c in job.changes)
    copy = f"copy {name} aside in its new shape"
    swap = f"swap {name} with its copy"
    drop = f"drop the old rows of {name}"
    return (
        Step("1-copy", "copy", Rung.REWRITE, copy, (copy,), live, repeatable=True, data=data),
        Step("2-swap", "swap", Rung.REWRITE, swap, (swap,), target, data=data),
        Step(
            "3-drop-old",
            "drop_old",
            Rung.REWRITE,
            drop,
            (drop,),
            target,
            destructive=drops,
            reversible=False,
            confirm=f"Drop the old copy of {name}?",
            repeatable=True,
        ),
    )


def _in_place(job: Job, live: Table, rules: MemoryRules) -> Iterator[Step]:
    """Names and columns in one step, then one step per change of type, then what holds for the table."""
    shape = tuple(c for c in map(_shape, job.changes) if c is not None)
    typed = [c for c in map(_typed, job.changes) if c is not None]
    table = tuple(c for c in job.changes if isinstance(c, _TABLE_LEVEL))
    groups = [("alter", Rung.METADATA, shape)]
    groups += [("convert", Rung.STEPS, (change,)) for change in typed]
    groups.append(("alter", Rung.METADATA, table))
    before = live
    for number, (kind, rung, changes) in enumerate((g for g in groups if g[2]), 1):
        after = evolve(before, changes)
        projection = project(before, after, changes, job.wanted, rules.fold)
        yield _step(
            f"{number}-{kind}",
            kind,
            _fill(rung, changes, job, rules),
            changes,
            after,
            to_text(projection),
        )
        before = after


def _fill(rung: Rung, changes: tuple[Change, ...], job: Job, rules: MemoryRules) -> Rung:
    rungs = [rules.capability(c, job.target, job.wanted).rung for c in changes]
    return max([rung, *rungs], key=lambda r: r.height)


def _step(
    id_: str, kind: str, rung: Rung, changes: tuple[Change, ...], after: Table, projection: str
) -> Step:
    dropped = [path_text(c.path) for c in changes if isinstance(c, DropColumn)]
    words = "; ".join(_words(c) for c in changes)
    return Step(
        id_,
        kind,
        rung,
        words,
        (f"{after.name}: {words}",),
        after,
        destructive=bool(dropped),
        reversible=not dropped,
        confirm=drop_question(dropped),
        data=MappingProxyType({"projection": projection}),
    )


def _shape(change: Change) -> Change | None:
    """The part of a change that the first step carries out."""
    match change:
        case ModifyColumn() if modification(change, TypeChange):
            kept = tuple(m for m in change.modifications if isinstance(m, Rename))
            return replace(change, modifications=kept) if kept else None
        case AddColumn() | DropColumn() | ModifyColumn() | DropConstraint():
            return change
        case ChangePrimaryKey(old, new) if old and new:
            return ChangePrimaryKey(old, ())
        case _:
            return None


def _typed(change: Change) -> ModifyColumn | None:
    """The rest of a change of type, once the column has its new name."""
    if not isinstance(change, ModifyColumn) or not modification(change, TypeChange):
        return None
    rest = tuple(m for m in change.modifications if not isinstance(m, Rename))
    old = replace(change.old, name=change.path[-1])
    return replace(change, old_path=change.path, old=old, modifications=rest)


def _words(change: Change) -> str:
    match change:
        case AddColumn(path, column):
            return f"add {path_text(path)} {type_text(column.type)}"
        case DropColumn(path):
            return f"drop {path_text(path)}"
        case ModifyColumn(path):
            return f"alter {path_text(path)}: {', '.join(_mods(change))}"
        case _:
            return _plain(change)


def _mods(change: ModifyColumn) -> Iterator[str]:
    for mod in change.modifications:
        match mod:
            case Rename(old, _):
                yield f"was {path_text((old,))}"
            case TypeChange(_, new):
                yield type_text(new)
            case Nullability(_, nullable):
                yield "NULL" if nullable else "NOT NULL"
            case _:
                yield f"{type(mod).__name__} {mod.new!r}"


def _plain(change: Change) -> str:
    match change:
        case ChangePrimaryKey(_, new) | ChangeClustering(_, new) | ChangePartitioning(_, new):
            return f"{type(change).__name__} ({', '.join(new)})"
        case AddConstraint(constraint) | DropConstraint(constraint):
            return f"{type(change).__name__} {constraint.name}"
        case ChangeProperty(key, _, value):
            return f"set {key} = {value}"
        case CreateTable(table):
            return f"create {table.name}"
        case _:
            return type(change).__name__
