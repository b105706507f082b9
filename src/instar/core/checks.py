"""Value proofs as data: what must hold for the rows before a change may run.

A backend turns each proof into an exact predicate and counts the rows that break it, all proofs of a
table in one pass. `Cast` looks at live values; the others look at rows as they will be (projected).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangePrimaryKey,
    ModifyColumn,
    Nullability,
    TypeChange,
    modification,
)
from instar.core.findings import Finding, Severity, Witness
from instar.core.matching import Fold, at_path
from instar.core.numbers import plural
from instar.core.promotions import Verdict, promotion
from instar.core.schema import Check, Table, TableName, Unique, Wanted
from instar.core.types import Path, Type, path_text, type_text

MAX_WITNESSES = 100


@dataclass(frozen=True, slots=True)
class CastProof:
    """Every live value at `old_path` must survive the change of type."""

    path: Path
    old_path: Path
    old: Type
    new: Type


@dataclass(frozen=True, slots=True)
class ExpressionProof:
    """An expression over the old row must give a value of the type wherever it gives one at all."""

    path: Path
    sql: str
    new: Type


@dataclass(frozen=True, slots=True)
class VanishProof:
    """A value that is there at `old_path` should not become NULL by the expression that replaces it.

    Whoever wrote the expression may mean it so: this one warns.
    """

    path: Path
    old_path: Path
    sql: str


@dataclass(frozen=True, slots=True)
class NotNullProof:
    """No row may have NULL there once it is projected."""

    path: Path


@dataclass(frozen=True, slots=True)
class UniqueProof:
    name: str
    columns: tuple[str, ...]
    primary: bool = False


@dataclass(frozen=True, slots=True)
class RowProof:
    """A CHECK: no projected row may make the expression false."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class EmptyProof:
    """The table must have no rows: a NOT NULL column comes without a value for them."""

    path: Path


LiveProof = CastProof | ExpressionProof | VanishProof
"""What is proven on live rows; the others are proven on rows as they will be."""
Proof = LiveProof | NotNullProof | UniqueProof | RowProof | EmptyProof


@dataclass(frozen=True, slots=True)
class ProofResult:
    """`count` rows break the proof; `witnesses` are up to 100 of them with their keys."""

    proof: Proof
    count: int
    witnesses: tuple[Witness, ...] = ()


def proofs_for(changes: tuple[Change, ...], wanted: Wanted, fold: Fold) -> tuple[Proof, ...]:
    """What has to be proven on the rows for these changes."""
    found: list[Proof] = []
    for change in changes:
        match change:
            case AddColumn(path, column):
                found += _added(path, column.nullable, column.type, column.default, wanted, fold)
            case ModifyColumn():
                found += _modified(change, wanted, fold)
            case ChangePrimaryKey(_, new) if new:
                found += [NotNullProof((c,)) for c in new]
                found.append(UniqueProof("primary key", new, primary=True))
            case AddConstraint(Check(name, expression)):
                found.append(RowProof(name, expression))
            case AddConstraint(Unique(name, columns)):
                found.append(UniqueProof(name, columns))
            case _:
                pass
    found += _held(changes, wanted, fold)
    return tuple(dict.fromkeys(found))


def unkept_proofs(
    changes: tuple[Change, ...], declared: Table, wanted: Wanted, fold: Fold
) -> Iterator[Proof]:
    """A new column that is declared NOT NULL needs a value for the rows that exist, also where the engine
    will not keep it so; `declared` is what the manifest says, `wanted` what the engine keeps of it."""
    for change in changes:
        if not isinstance(change, AddColumn) or not change.column.nullable:
            continue
        said, hint = at_path(declared.columns, change.path, fold), wanted.hint(change.path, fold)
        value = hint.using or hint.default or change.column.default
        if said is not None and not said.nullable and value is None:
            yield EmptyProof(change.path)


def _added(
    path: Path, nullable: bool, new: Type, default: str | None, wanted: Wanted, fold: Fold
) -> list[Proof]:
    hint = wanted.hint(path, fold)
    value = hint.using or hint.default or default
    if value is None:
        return [] if nullable else [EmptyProof(path)]
    proofs: list[Proof] = [ExpressionProof(path, value, new)]
    return proofs if nullable else [*proofs, NotNullProof(path)]


def _held(changes: tuple[Change, ...], wanted: Wanted, fold: Fold) -> list[Proof]:
    """Keys and CHECKs that stay, over values that do not: '7' and '007' are one number."""
    moved = {
        fold(c.path[0])
        for c in changes
        if isinstance(c, ModifyColumn) and _moves_values(c, wanted, fold)
    }
    keys = [UniqueProof("primary key", wanted.table.primary_key, primary=True)]
    proofs: list[Proof] = []
    for constraint in wanted.table.constraints:
        match constraint:
            case Unique(name, columns):
                keys.append(UniqueProof(name, columns))
            case Check(name, expression) if any(m in fold(expression) for m in moved):
                proofs.append(RowProof(name, expression))
            case _:
                pass
    return [k for k in keys if moved & set(map(fold, k.columns))] + proofs


def _moves_values(change: ModifyColumn, wanted: Wanted, fold: Fold) -> bool:
    hint = wanted.hint(change.path, fold)
    required = modification(change, Nullability)
    if required and not required.new and hint.default is not None:
        return True
    typed = modification(change, TypeChange)
    return typed is not None and (
        hint.using is not None or promotion(typed.old, typed.new).verdict is not Verdict.LOSSLESS
    )


def _modified(change: ModifyColumn, wanted: Wanted, fold: Fold) -> list[Proof]:
    proofs: list[Proof] = []
    hint = wanted.hint(change.path, fold)
    if typed := modification(change, TypeChange):
        if hint.using is not None:
            proofs.append(ExpressionProof(change.path, hint.using, typed.new))
            proofs.append(
                VanishProof(change.path, change.old_path, hint.using)
                if change.new.nullable
                else NotNullProof(change.path)
            )
        elif promotion(typed.old, typed.new).verdict is Verdict.CHECKED:
            proofs.append(CastProof(change.path, change.old_path, typed.old, typed.new))
    if (required := modification(change, Nullability)) and not required.new:
        proofs.append(NotNullProof(change.path))
    return proofs


def told_apart(results: tuple[ProofResult, ...]) -> tuple[ProofResult, ...]:
    """Without the NULLs that only come from values that cannot be converted: those are counted once."""
    lost = {
        r.proof.path
        for r in results
        if r.count and isinstance(r.proof, CastProof | ExpressionProof)
    }
    return tuple(
        r for r in results if not (isinstance(r.proof, NotNullProof) and r.proof.path in lost)
    )


def finding_for(table: TableName, result: ProofResult) -> Finding:
    """The finding when a proof fails: it blocks the plan, but for values that somebody wants to be NULL."""
    code, hint = _TOLD[type(result.proof)]
    return Finding(
        code,
        Severity.WARNING if isinstance(result.proof, VanishProof) else Severity.ERROR,
        f"[{table}] {_broken(result.proof, result.count)}.",
        hint,
        getattr(result.proof, "path", ()),
        result.count,
        result.witnesses[:MAX_WITNESSES],
        key=_key(result.proof),
    )


def _key(proof: Proof) -> str:
    match proof:
        case UniqueProof(primary=True):
            return "primary_key"
        case UniqueProof(name) | RowProof(name):
            return f"constraints.{name}"
        case _:
            return ""


_TOLD: dict[type[Proof], tuple[str, str]] = {
    CastProof: ("F201", "Mend the rows, or say how with a '_using' expression in the yml."),
    ExpressionProof: ("F202", "Mend the expression ('_using' or '_default') in the yml."),
    VanishProof: (
        "F205",
        "Where NULL is not meant, say in the '_using' expression what such rows get.",
    ),
    NotNullProof: (
        "F203",
        "Mend the rows, or add a '_default' expression to the column definition in the yml.",
    ),
    UniqueProof: ("F301", "Remove the duplicates first; Instar never picks one of them."),
    RowProof: ("F302", "Mend the rows or the expression."),
    EmptyProof: ("F101", "Add a '_default' expression to the column definition in the yml."),
}
"""Code and hint of a proof that fails."""


def _broken(proof: Proof, count: int) -> str:
    rows = plural(count, "row")
    match proof:
        case CastProof(path, _, old, new):
            change = f"{type_text(old)} → {type_text(new)}"
            return f"{rows} of '{path_text(path)}' would be lost or changed by {change}"
        case ExpressionProof(path, _, new):
            return f"the expression for '{path_text(path)}' gives no {type_text(new)} in {rows}"
        case VanishProof(path):
            return f"the '_using' of '{path_text(path)}' turns a value into NULL in {rows}"
        case NotNullProof(path):
            return f"'{path_text(path)}' is to be NOT NULL, but would be NULL in {rows}"
        case UniqueProof(_, columns, primary):
            what = "the primary key" if primary else "the unique key"
            return f"{what} ({', '.join(columns)}) has {rows} that share a key"
        case RowProof(name, expression):
            return f"CHECK '{name}' ({expression}) is false for {rows}"
        case EmptyProof(path):
            added = f"cannot add NOT NULL column '{path_text(path)}'"
            return f"{added} without a default value on a non-empty table"
