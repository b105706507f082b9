"""What Delta does for each change, as measured: the rung, why no cheaper one, what stays for ever."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from instar.backends.spark.delta_inspect import MAPPING, TRACKING, WIDENING
from instar.backends.spark.delta_sql import parse_path, type_features
from instar.backends.spark.expressions import overlaps, references
from instar.backends.spark.schemas import has_limit, has_nested_limit
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
from instar.core.matching import in_collection
from instar.core.plan import Capability, Rung
from instar.core.schema import Check, Hint, Table, Wanted
from instar.core.types import (
    KEY,
    Column,
    Date,
    Decimal,
    Float,
    Integer,
    Path,
    String,
    Timestamp,
    Type,
    path_text,
    type_text,
    walk,
)

_NEEDS_MAPPING = set(" ,;{}()\n\t=")
MAPPING_NOTE = (
    "column mapping is switched on (reader 2, writer 7): older readers can no longer read the table"
)
WIDENING_NOTE = (
    "type widening is switched on (reader 3, writer 7): older readers can no longer read the table"
)
DEFAULTS_NOTE = "column defaults are switched on: the table feature can never be removed"
_CLUSTERING_NOTE = "clustering is switched on: the table feature can never be removed"
_TRACKING_NOTE = "the change data feed is switched on: the table feature can never be removed"
_FEED_NOTE = "readers of the change feed must start again after it: no range may span it"
_GENERATED = "a rewrite would lose the generated columns"


def widens(old: Type, new: Type) -> bool:
    """The type changes that Delta's type widening does by metadata, every one of them tried.

    Not float to double: the statistics of old files keep the short text of the float, and queries
    then skip rows without a word.
    """
    match old, new:
        case Integer(was, True), Integer(will, True):
            return was < will <= 64
        case Integer(was, True), Float(64):
            return was <= 32
        case Integer(was, True), Decimal(precision, scale):
            return precision - scale >= (10 if was <= 32 else 20)
        case Decimal(p1, s1), Decimal(p2, s2):
            return s2 >= s1 and p2 - p1 >= s2 - s1
        case Date(), Timestamp(zone=False):
            return True
        case _:
            return False


def relaxes(old: Type, new: Type) -> bool:
    """Text limits that may grow or go by metadata, without any table feature."""
    match old, new:
        case String(), String(None):
            return True
        case String(was, fixed), String(will, False) if was is not None and will is not None:
            return was <= will if fixed else was < will
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides for one live table and what is wanted of it."""

    live: Table
    wanted: Wanted

    def capability(self, change: Change) -> Capability:
        found = self._decide(change)
        if found.rung is not Rung.REWRITE:
            return found
        if any(c.generated is not None for c in self.live.columns):
            return Capability(Rung.NEVER, f"{found.why}, but {_GENERATED}")
        return found

    def _decide(self, change: Change) -> Capability:
        match change:
            case AddColumn(path, column):
                return self._add(path, column)
            case DropColumn(path):
                return self._drop(path)
            case ModifyColumn():
                return self._modify(change)
            case ReorderColumns(path):
                return self._positional(path, "the order of its fields")
            case AddConstraint(Check(name, expression)):
                return _check(name, expression)
            case ChangeClustering():
                return self._cluster()
            case ChangePartitioning():
                return Capability(Rung.REWRITE, "partitioning is how the files are laid out")
            case ChangeProperty(key, _, new):
                on = key in ("change_tracking", TRACKING) and new == "true"
                return Capability(Rung.METADATA, irreversible=(_TRACKING_NOTE,) if on else ())
            case AddConstraint() | DropConstraint() | ChangePrimaryKey() | CreateTable():
                return Capability(Rung.METADATA)

    # --- columns ---

    def _add(self, path: Path, column: Column) -> Capability:
        hint = self._hint(path)
        value = hint.using or hint.default or column.default
        notes = self._type_notes([column.type])
        if column.default is not None:
            notes += self._needs("allowColumnDefaults", DEFAULTS_NOTE)
        if _NEEDS_MAPPING & set(column.name):
            notes += self._mapping()
        if column.generated is not None:
            return Capability(
                Rung.NEVER, f"'{path_text(path)}': Delta has no ADD of a generated column"
            )
        if limited := self._limited(path, "a new field"):
            return replace(limited, irreversible=notes)
        filled = value is not None or not column.nullable
        if filled and in_collection(self.wanted.table.columns, path, str.casefold):
            why = f"no statement fills '{path_text(path)}' inside an array or a map"
            return Capability(Rung.REWRITE, why, notes)
        if hint.using is not None and self._is_live(path):
            why = f"the old '{path_text(path)}' must be read while the new one is written"
            return Capability(Rung.REWRITE, why, notes)
        if not filled:
            return Capability(Rung.METADATA, irreversible=notes)
        return Capability(Rung.STEPS, "rows that are there take a value", notes)

    def _drop(self, path: Path) -> Capability:
        if blocked := self._generated_from(path, itself=False):
            return blocked
        if path[:1] in self._top(self.live.partition_by) and len(path) == 1:
            return Capability(Rung.REWRITE, f"'{path_text(path)}' is a partition column")
        if KEY in path[:-1] and in_collection(self.live.columns, path, str.casefold):
            return Capability(Rung.REWRITE, "keys of a map may become one")
        if limited := self._limited(path, "a dropped field"):
            return limited
        return Capability(Rung.METADATA, irreversible=self._feed(), in_place=self._mapping())

    def _modify(self, change: ModifyColumn) -> Capability:
        found = [self._modification(change, m) for m in change.modifications]
        rung = max((c.rung for c in found), key=lambda r: r.height)
        why = "; ".join(dict.fromkeys(c.why for c in found if c.rung is rung and c.why))
        notes = tuple(dict.fromkeys(n for c in found for n in c.irreversible))
        return Capability(rung, why, notes, tuple(n for c in found for n in c.in_place))

    def _modification(self, change: ModifyColumn, modification: Modification) -> Capability:
        path = change.path
        match modification:
            case Rename():
                if blocked := self._generated_from(change.old_path):
                    return blocked
                if limited := self._limited(change.old_path, "a renamed field"):
                    return limited
                odd = _NEEDS_MAPPING & set(path[-1])
                notes = self._feed() + (self._mapping() if odd else ())
                return Capability(Rung.METADATA, irreversible=notes, in_place=self._mapping())
            case TypeChange(old, new):
                return self._type(change, old, new)
            case Nullability(_, nullable):
                if nullable:
                    return Capability(Rung.METADATA)
                if in_collection(self.wanted.table.columns, path, str.casefold):
                    why = f"'{path_text(path)}': Delta has no NOT NULL inside an array or a map"
                    return Capability(Rung.NEVER, why)
                return Capability(Rung.STEPS, "every row is checked for NULL")
            case DefaultChange(_, new_default):
                note = self._needs("allowColumnDefaults", DEFAULTS_NOTE)
                return Capability(Rung.METADATA, irreversible=note if new_default else ())
            case CommentChange():
                return Capability(Rung.METADATA)

    def _type(self, change: ModifyColumn, old: Type, new: Type) -> Capability:
        words = f"{type_text(old)} → {type_text(new)}"
        notes = self._type_notes([new])
        if blocked := self._generated_from(change.old_path):
            return blocked
        if self._hint(change.path).using is not None:
            return Capability(Rung.REWRITE, f"{words} is computed by _using", notes)
        nested = len(change.path) > 1
        if relaxes(old, new) and not nested:
            return Capability(Rung.METADATA)
        if isinstance(old, String) and isinstance(new, String) and not nested:
            return Capability(
                Rung.REWRITE, f"no ALTER puts a limit on text that is there ({words})"
            )
        if nested and (has_limit(old) or has_limit(new)):
            return Capability(
                Rung.REWRITE, f"Spark says OK to a nested {words} and keeps the limit"
            )
        if widens(old, new):
            upgrade = () if self._says(WIDENING, "true") else (WIDENING_NOTE,)
            return Capability(Rung.METADATA, "", notes + self._feed(), upgrade)
        if old == Float(32) and new == Float(64):
            why = f"after a {words} by metadata, queries skip rows of old files"
            return Capability(Rung.REWRITE, why)
        return Capability(Rung.REWRITE, f"Delta does not widen {words}", notes)

    # --- the table ---

    def _cluster(self) -> Capability:
        if self.live.partition_by:
            return Capability(Rung.REWRITE, "a partitioned table cannot be clustered in place")
        return Capability(Rung.METADATA, irreversible=self._needs("clustering", _CLUSTERING_NOTE))

    def _positional(self, path: Path, what: str) -> Capability:
        if path and (limited := self._limited((*path, ""), what)):
            return limited
        return Capability(Rung.METADATA)

    # --- what they look at ---

    def _hint(self, path: Path) -> Hint:
        return self.wanted.hint(path, str.casefold)

    def _says(self, key: str, *values: str) -> bool:
        return self.live.extras.get(key, "").lower() in values

    def _needs(self, feature: str, note: str) -> tuple[str, ...]:
        known = self.live.extras.get("features", "").split(",")
        return () if feature in known else (note,)

    def _mapping(self) -> tuple[str, ...]:
        return () if self._says(MAPPING, "name", "id") else (MAPPING_NOTE,)

    def _feed(self) -> tuple[str, ...]:
        return (_FEED_NOTE,) if self.live.change_tracking else ()

    def _type_notes(self, types: Iterable[Type]) -> tuple[str, ...]:
        found: tuple[str, ...] = ()
        for feature in type_features(types):
            words = f"the table feature {feature} is switched on and can never be removed"
            found += self._needs(feature, words)
        return found

    def _limited(self, path: Path, what: str) -> Capability | None:
        """Spark keeps the limits of nested text by position, apart from the fields."""
        if len(path) < 2:
            return None
        roots = (self.live.column(path[:1]), self.wanted.table.column(path[:1]))
        if not any(r is not None and has_nested_limit(r.type) for r in roots):
            return None
        why = f"'{path[0]}' holds text with a limit, and Spark would not move it with {what}"
        return Capability(Rung.REWRITE, why)

    def _is_live(self, path: Path) -> bool:
        return any(
            tuple(p.casefold() for p in path) == tuple(p.casefold() for p in other)
            for other, _ in walk(self.live.columns)
        )

    def _top(self, names: Iterable[str]) -> set[Path]:
        return {parse_path(name)[:1] for name in names}

    def _generated_from(self, path: Path, *, itself: bool = True) -> Capability | None:
        for column in self.live.columns:
            if column.generated is None:
                continue
            own = itself and (column.name,) == path
            if own or overlaps(references(column.generated), path):
                why = f"'{path_text(path)}' belongs to the generated column '{column.name}'"
                return Capability(Rung.NEVER, f"{why}, which Delta cannot change")
        return None


def _check(name: str, expression: str) -> Capability:
    if "->" in expression:
        why = f"CHECK '{name}': Delta cannot read a lambda in ADD CONSTRAINT"
        return Capability(Rung.NEVER, why)
    return Capability(Rung.STEPS, "every row is checked")
