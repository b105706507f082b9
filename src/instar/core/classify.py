"""How dangerous each change is, and why: safe, guarded by a proof, destructive or unsupported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from instar.core.changes import (
    AddColumn,
    AddConstraint,
    Change,
    ChangeClustering,
    ChangePartitioning,
    ChangePrimaryKey,
    ChangeProperty,
    CommentChange,
    CreateTable,
    DefaultChange,
    DropColumn,
    DropConstraint,
    Modification,
    ModifyColumn,
    Nullability,
    Rename,
    ReorderColumns,
    TypeChange,
)
from instar.core.matching import Fold
from instar.core.promotions import Verdict, promotion
from instar.core.reach import Reached
from instar.core.schema import Hint, Wanted


class Safety(Enum):
    SAFE = "safe"
    GUARDED = "guarded"
    DESTRUCTIVE = "destructive"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Classified:
    """A change with its safety, whether this run carries it out (`kept`: why not), and whom it reaches."""

    change: Change
    safety: Safety
    reason: str
    accepted: bool = True
    kept: str = "not declared; stays"
    reaches: tuple[Reached, ...] = ()


_ORDER = list(Safety)


def classify(change: Change, wanted: Wanted, fold: Fold) -> Classified:
    match change:
        case CreateTable():
            return Classified(change, Safety.SAFE, "a new table")
        case AddColumn(path, column):
            return Classified(
                change, *_added(column.nullable, wanted.hint(path, fold), column.default)
            )
        case DropColumn():
            return Classified(change, Safety.DESTRUCTIVE, "the column's values are lost")
        case ModifyColumn(path, _, _, _, modifications):
            verdicts = [_modified(m, wanted.hint(path, fold)) for m in modifications]
            worst = max(verdicts, key=lambda v: _ORDER.index(v[0]))
            return Classified(change, *worst)
        case ReorderColumns():
            return Classified(change, Safety.SAFE, "only the order changes")
        case ChangePrimaryKey(_, new):
            reason = "every row must have its own key" if new else "the key is no longer enforced"
            return Classified(change, Safety.GUARDED if new else Safety.SAFE, reason)
        case AddConstraint():
            return Classified(change, Safety.GUARDED, "every row must satisfy it")
        case DropConstraint():
            return Classified(change, Safety.SAFE, "rows are no longer held to it")
        case ChangeClustering() | ChangePartitioning() | ChangeProperty():
            return Classified(change, Safety.SAFE, "no value is touched")
        case _:
            assert_never(change)


def _added(nullable: bool, hint: Hint, default: str | None) -> tuple[Safety, str]:
    if hint.using is not None:
        return Safety.GUARDED, "values are computed from the old row"
    if hint.default is not None or default is not None:
        return Safety.GUARDED, "old rows take the default"
    if nullable:
        return Safety.SAFE, "old rows read NULL"
    return Safety.GUARDED, "a NOT NULL column without a default needs an empty table"


def _modified(modification: Modification, hint: Hint) -> tuple[Safety, str]:
    match modification:
        case Rename():
            return Safety.SAFE, "values stay under the new name"
        case TypeChange(old, new):
            if hint.using is not None:
                return Safety.GUARDED, "values are computed by _using"
            verdict = promotion(old, new)
            return _BY_VERDICT[verdict.verdict], verdict.reason
        case Nullability(_, nullable):
            if nullable:
                return Safety.SAFE, "NULL becomes possible"
            if hint.default is not None:
                return Safety.GUARDED, "rows that are NULL take the default"
            return Safety.GUARDED, "no row may be NULL"
        case DefaultChange():
            return Safety.SAFE, "only new rows take the default"
        case CommentChange():
            return Safety.SAFE, "only the comment"
        case _:
            assert_never(modification)


_BY_VERDICT = {
    Verdict.LOSSLESS: Safety.SAFE,
    Verdict.CHECKED: Safety.GUARDED,
    Verdict.IMPOSSIBLE: Safety.UNSUPPORTED,
}
