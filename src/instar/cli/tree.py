"""The changes of one table as a tree: a marker first, nested ones under their column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from instar.cli.lines import Line, clean, pad, shorten, width
from instar.core.changes import (
    FIRST,
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
from instar.core.classify import Classified, Safety
from instar.core.numbers import plural
from instar.core.schema import Check, Constraint, Table
from instar.core.types import Array, Column, Map, Path, Struct, Type, children, name_text, type_text

_MARKER_STYLES = {"+": "green", "~": "yellow", "-": "red", " ": "dim"}
_SAFETY_STYLES = {
    Safety.SAFE: "green",
    Safety.GUARDED: "yellow",
    Safety.DESTRUCTIVE: "bold red",
    Safety.UNSUPPORTED: "bold red",
}
_NAME_MAX, _WHAT_MAX = 32, 48


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree before it is aligned; `lead` is the indented name."""

    marker: str
    lead: str
    what: str
    safety: Safety | None = None
    reason: str = ""


def change_lines(
    changes: Sequence[Classified], live: Table | None, target: Table | None
) -> list[Line]:
    """Columns first, in the order of the table they are in, then what concerns the whole table."""
    rows = [*_column_rows(changes, live, target), *_table_rows(changes)]
    lines = _aligned(rows)
    if same := _unchanged(changes, live):
        lines.append([("dim", f"      {plural(same, 'column')} unchanged")])
    return lines


def plain_changes(changes: Sequence[Change], live: Table | None = None) -> list[Line]:
    """A difference between two schemas, where nothing is going to be done about it."""
    rows = [Classified(c, Safety.SAFE, "") for c in changes]
    return change_lines(rows, live, None)


def _aligned(rows: Sequence[Row]) -> list[Line]:
    names = min(max((width(clean(r.lead)) for r in rows if r.what), default=0), _NAME_MAX)
    whats = min(max((width(clean(r.what)) for r in rows if r.reason), default=0), _WHAT_MAX)
    return [_line(row, names, whats) for row in rows]


def _line(row: Row, names: int, whats: int) -> Line:
    faint = "dim" if row.marker == " " else ""
    line = [
        (_MARKER_STYLES[row.marker], f"{row.marker:<6}"),
        (faint or ("bold" if row.lead.strip() else ""), pad(clean(row.lead), names)),
        (faint, "  " + (pad(clean(row.what), whats) if row.reason else row.what)),
    ]
    if row.reason and row.safety is not None:
        line.append((_SAFETY_STYLES[row.safety], f"  {row.safety.value}"))
        line.append(("dim", f": {row.reason}"))
    elif row.reason:
        line.append(("dim", f"  {row.reason}"))
    return line


def _path_of(change: Change) -> Path | None:
    match change:
        case AddColumn(path) | DropColumn(path) | ModifyColumn(path):
            return path
        case ReorderColumns(path) if path:
            return path
        case _:
            return None


def _column_rows(
    changes: Sequence[Classified], live: Table | None, target: Table | None
) -> Iterator[Row]:
    placed = [(path, c) for c in changes if (path := _path_of(c.change)) is not None]
    order = _order(changes, live, target)
    placed.sort(key=lambda item: order.get(item[0][0], len(order)))
    seen: set[Path] = set()
    for path, item in _under_parents(placed):
        for depth in range(1, len(path)):
            parent = path[:depth]
            if parent not in seen:
                seen.add(parent)
                yield Row("~", _lead(parent), _container(parent, live, target))
        seen.add(path)
        yield from _rows(item, path, target)


def _under_parents(placed: list[tuple[Path, Classified]]) -> list[tuple[Path, Classified]]:
    """Groups by the first names, each group in the order it was found, parents before children."""
    groups: dict[str, list[tuple[Path, Classified]]] = {}
    for path, item in placed:
        groups.setdefault(path[0], []).append((path, item))
    out: list[tuple[Path, Classified]] = []
    for name, members in groups.items():
        own = [
            m for m in members if m[0] == (name,) and not isinstance(m[1].change, ReorderColumns)
        ]
        inner = [m for m in members if m not in own]
        out += own
        out += [
            (path, item)
            for rest, item in _under_parents([(p[1:], i) for p, i in inner if len(p) > 1])
            for path in [(name, *rest)]
        ]
        out += [m for m in inner if len(m[0]) == 1]
    return out


def _order(
    changes: Sequence[Classified], live: Table | None, target: Table | None
) -> dict[str, int]:
    """The place of each top-level name; a dropped column stays behind its live neighbour."""
    names = [c.name for c in target.columns] if target else []
    renamed = {
        c.change.old.name: c.change.new.name
        for c in changes
        if isinstance(c.change, ModifyColumn) and len(c.change.path) == 1
    }
    place = 0
    for column in live.columns if live else ():
        name = renamed.get(column.name, column.name)
        if name not in names:
            names.insert(place, name)
        place = names.index(name) + 1
    return {name: at for at, name in enumerate(names)}


def _container(path: Path, live: Table | None, target: Table | None) -> str:
    column = (target and target.column(path)) or (live and live.column(path)) or None
    words: dict[type[Type], str] = {Struct: "STRUCT", Array: "ARRAY", Map: "MAP"}
    return words.get(type(column.type), "") if column else ""


def _lead(path: Path) -> str:
    return "  " * (len(path) - 1) + name_text(path[-1])


def _rows(item: Classified, path: Path, target: Table | None) -> Iterator[Row]:
    match item.change:
        case AddColumn(_, column, after):
            place = _after_text(_placed(path, after, target))
            yield _row(item, "+", _lead(path), column_text(column) + place)
        case DropColumn(_, column):
            yield _row(item, "-", _lead(path), column_text(column))
        case ModifyColumn(_, _, _, _, modifications):
            for number, modification in enumerate(modifications):
                what = modification_text(modification)
                if number == 0:
                    yield _row(item, "~", _lead(path), what)
                else:
                    yield Row("~" if item.accepted else " ", "", what)
        case ReorderColumns(_, old, new):
            yield _row(item, "~", "  " * len(path) + "(order)", _order_text(old, new))
        case _:
            return


def _row(item: Classified, marker: str, lead: str, what: str) -> Row:
    if item.accepted:
        return Row(marker, lead, what, item.safety if item.reason else None, item.reason)
    kept = "live order is kept" if isinstance(item.change, ReorderColumns) else item.kept
    return Row(" ", lead, what, None, kept)


def _placed(path: Path, after: str | None, target: Table | None) -> str | None:
    """Where the column will really be: not every table can give it the place that is declared."""
    if target is None:
        return after
    parent = target.column(path[:-1]) if path[:-1] else None
    siblings = [c.name for c in (children(parent.type) if parent else target.columns)]
    if path[-1] not in siblings:
        return after
    place = siblings.index(path[-1])
    return None if place == len(siblings) - 1 else siblings[place - 1] if place else FIRST


def _after_text(after: str | None) -> str:
    match after:
        case None:
            return ""
        case str() if after == FIRST:
            return ", first"
        case _:
            return f", after {name_text(after)}"


def column_text(column: Column) -> str:
    words = [type_text(column.type)]
    if not column.nullable:
        words.append("NOT NULL")
    if column.default is not None:
        words.append(f"DEFAULT {column.default}")
    if column.generated is not None:
        words.append(f"AS ({column.generated})")
    return " ".join(words) + (f"  -- {shorten(column.comment, 40)}" if column.comment else "")


def modification_text(modification: Modification) -> str:
    match modification:
        case Rename(old):
            return f"renamed from {name_text(old)}"
        case TypeChange(old_type, new_type):
            return f"{type_text(old_type)} → {type_text(new_type)}"
        case Nullability(old_null, new_null):
            return f"{_null(old_null)} → {_null(new_null)}"
        case DefaultChange(was, wish):
            return f"default {_or_none(was)} → {_or_none(wish)}"
        case CommentChange(was, wish):
            return f"comment {_quoted(was)} → {_quoted(wish)}"
        case _:
            assert_never(modification)


def _null(nullable: bool) -> str:
    return "NULL" if nullable else "NOT NULL"


def _or_none(text: str | None) -> str:
    return "none" if text is None else text


def _quoted(text: str | None) -> str:
    return "none" if text is None else f"'{shorten(text, 40)}'"


def _order_text(old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """Only the stretch that moves, between dots where more stays around it."""
    start = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    tails = zip(reversed(old), reversed(new), strict=False)
    end = len(old) - next((i for i, (a, b) in enumerate(tails) if a != b), 0)
    before, after = ("… " if start else ""), (" …" if end < len(old) else "")

    def side(names: tuple[str, ...]) -> str:
        return before + ", ".join(name_text(n) for n in names[start:end]) + after

    return f"{side(old)} → {side(new)}"


def _table_rows(changes: Sequence[Classified]) -> Iterator[Row]:
    for item in changes:
        if isinstance(item.change, CreateTable):
            yield from _created(item.change.table)
        elif _path_of(item.change) is None:
            yield _row(item, *_table_level(item.change))


def _created(table: Table) -> Iterator[Row]:
    for column in table.columns:
        yield Row("+", name_text(column.name), column_text(column))
    if table.primary_key:
        yield Row("+", "(primary key)", _names(table.primary_key))
    for constraint in table.constraints:
        yield Row("+", f"({constraint.name})", constraint_text(constraint))
    for what, names in (
        ("(clustered by)", table.cluster_by),
        ("(partitioned by)", table.partition_by),
    ):
        if names:
            yield Row("+", what, _names(names))
    if table.change_tracking:
        yield Row("+", "(change tracking)", "true")
    for key, value in table.properties.items():
        yield Row("+", f"({key})", shorten(value, 60))


def _table_level(change: Change) -> tuple[str, str, str]:
    match change:
        case ReorderColumns(_, old, new):
            return "~", "(order)", _order_text(old, new)
        case ChangePrimaryKey(old, new):
            return _pair("(primary key)", old, new)
        case ChangeClustering(old, new):
            return _pair("(clustered by)", old, new)
        case ChangePartitioning(old, new):
            return _pair("(partitioned by)", old, new)
        case AddConstraint(constraint):
            return "+", f"({constraint.name})", constraint_text(constraint)
        case DropConstraint(constraint):
            return "-", f"({constraint.name})", constraint_text(constraint)
        case ChangeProperty(key, was, wish):
            marker = "+" if was is None else "-" if wish is None else "~"
            return marker, f"({key})", _valued(was, wish)
        case _:
            raise AssertionError(f"{change} has a place among the columns")


def _valued(was: str | None, wish: str | None) -> str:
    if was is None or wish is None:
        return shorten(was if wish is None and was is not None else wish or "", 60)
    return f"{shorten(was, 40)} → {shorten(wish, 40)}"


def _pair(what: str, old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, str, str]:
    if not old or not new:
        return "+" if new else "-", what, _names(new or old)
    return "~", what, f"{_names(old)} → {_names(new)}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(name_text(n) for n in names)


def constraint_text(constraint: Constraint) -> str:
    if isinstance(constraint, Check):
        return f"CHECK ({constraint.expression})"
    return f"UNIQUE ({_names(constraint.columns)})"


def _unchanged(changes: Sequence[Classified], live: Table | None) -> int:
    if live is None:
        return 0
    # A nested change is addressed by its parent's new name, and two columns may have swapped theirs.
    renamed = {
        c.change.path[0]: c.change.old_path[0]
        for c in changes
        if isinstance(c.change, ModifyColumn) and len(c.change.path) == 1
    }
    touched = {
        path[0]
        if isinstance(c.change, DropColumn) and len(path) == 1
        else renamed.get(path[0], path[0])
        for c in changes
        if (path := _path_of(c.change)) is not None
    }
    return sum(column.name not in touched for column in live.columns)
