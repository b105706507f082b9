"""What an engine does for one change, read off its table: of the rows of one kind the first that fits decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from instar.core.changes import (
    AddColumn,
    Change,
    CommentChange,
    DefaultChange,
    DropColumn,
    Modification,
    ModifyColumn,
    Nullability,
    Rename,
    ReorderColumns,
    TypeChange,
    kind,
)
from instar.core.matching import Fold
from instar.core.plan import Capability, Rung
from instar.core.schema import Hint, Table, Wanted
from instar.core.types import path_text


class TableFacts(Protocol):
    """What hangs on a table and is not part of its schema."""

    def go_with(self, column: str) -> Iterator[str]:
        """What goes when a column is dropped, in words."""
        ...

    def words(self, column: str) -> Mapping[str, str]:
        """What a row's `why` may name beside {root}, the column."""
        ...

    def barred(self, rung: Rung) -> str:
        """Why nothing on this rung can be done for the table, as the end of a sentence; else empty."""
        ...


F = TypeVar("F", bound=TableFacts)


@dataclass(frozen=True, slots=True)
class Case(Generic[F]):
    """One change (or one modification of it) of one live table."""

    change: Change
    live: Table
    wanted: Wanted
    facts: F
    fold: Fold
    modification: Modification | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The live columns."""
        return tuple(c.name for c in self.live.columns)

    @property
    def root(self) -> str:
        """The live column that the change is in; a new one's own name."""
        match self.change:
            case ModifyColumn(_, old_path):
                return old_path[0]
            case DropColumn((name,)) | AddColumn((name,)):
                return name
            case DropColumn(path) | AddColumn(path) | ReorderColumns(path) if path:
                return self._live_name(path[0])
            case _:
                return ""

    def _live_name(self, name: str) -> str:
        source = self.wanted.hint((name,), self.fold).renamed_from
        names = {self.fold(live): live for live in self.names}
        if source is not None and self.fold(source) in names:
            return names[self.fold(source)]
        return names.get(self.fold(name), name)

    @property
    def nested(self) -> bool:
        path = getattr(self.change, "path", ())
        return len(path) > (0 if isinstance(self.change, ReorderColumns) else 1)

    @property
    def hint(self) -> Hint:
        return self.wanted.hint(getattr(self.change, "path", ()), self.fold)


@dataclass(frozen=True)
class Row(Generic[F]):
    """`why` is the reason why nothing cheaper was taken; it may name {root}, the column."""

    when: Callable[[Case[F]], bool]
    rung: Rung
    why: str = ""


Cells = Mapping[str, tuple[Row[F], ...]]
"""By kind of change or modification; "nested", where it is there, stands for all below a column."""

_WAY = (
    "Take that off the table (drop or detach it, and keep its definition), apply, then put it back; or leave this"
    " change out."
)
_BY_MODIFICATION: dict[type, str] = {
    Rename: "rename",
    TypeChange: "type",
    Nullability: "nullability",
    DefaultChange: "default",
    CommentChange: "comment",
}


def capability(
    cells: Cells[F], facts: F, fold: Fold, change: Change, live: Table, wanted: Wanted
) -> Capability:
    """The cheapest rung for one change."""
    parts = change.modifications if isinstance(change, ModifyColumn) else (None,)
    able = [_decide(cells, Case(change, live, wanted, facts, fold, part)) for part in parts]
    return max(able, key=lambda c: c.rung.height)


def _decide(cells: Cells[F], case: Case[F]) -> Capability:
    key = _BY_MODIFICATION[type(case.modification)] if case.modification else kind(case.change)
    rows = cells["nested"] if case.nested and "nested" in cells else cells[key]
    row = next(row for row in rows if row.when(case))
    why = row.why.format(root=case.root, **case.facts.words(case.root))
    if barred := case.facts.barred(row.rung):
        return Capability(Rung.NEVER, f"{why}{barred}", way=_WAY)
    # A rewrite keeps the old table, values and all: its question says what the new one has not.
    return Capability(row.rung, why, in_place=tuple(_lost(case)))


def _lost(case: Case[F]) -> Iterator[str]:
    if not isinstance(case.change, DropColumn):
        return
    path = case.change.path
    yield f"the values of '{path_text(path)}' go"
    if len(path) == 1:
        for thing in case.facts.go_with(path[0]):
            yield f"{thing} goes with '{path_text(path)}'"


# --- what rows of every engine ask ---


def always(_case: Case[F]) -> bool:
    return True


def placed(case: Case[F]) -> bool:
    return isinstance(case.change, AddColumn) and case.change.after is not None


def required(case: Case[F]) -> bool:
    """A new column that is NOT NULL."""
    return isinstance(case.change, AddColumn) and not case.change.column.nullable


def generated(case: Case[F]) -> bool:
    """A new generated column."""
    return isinstance(case.change, AddColumn) and case.change.column.generated is not None


def is_generated(case: Case[F]) -> bool:
    """The change is in a live column that is generated."""
    column = case.live.column((case.root,))
    return column is not None and column.generated is not None


def relaxes(case: Case[F]) -> bool:
    return isinstance(case.modification, Nullability) and case.modification.new


def fills_nulls(case: Case[F]) -> bool:
    """A column becomes NOT NULL, and rows that are NULL get a value."""
    change = case.modification
    return isinstance(change, Nullability) and not change.new and case.hint.default is not None
