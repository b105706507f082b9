"""Random tables with rows, random wishes, and what must come of them, computed apart from Instar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from core.strategies import Evolution, evolutions
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Check, Constraint, Hint, Table, TableName, Unique, Wanted
from instar.core.types import (
    Array,
    Column,
    Date,
    Integer,
    Map,
    Path,
    String,
    Struct,
    Type,
    bare,
    children,
    path_text,
    type_text,
    with_children,
)
from properties.conversions import IMPOSSIBLE, LOST, convert, known
from properties.traits import Traits, key_of, words_of
from properties.values import scalars, suiting

Row = dict[str, Any]
Keys = frozenset[int]

FREE = Policy(ColumnConflict.REORDER, allow_column_removal=True, allow_rewrite=True)
"""All that is wished is done: the outcome is the wish itself."""
KEEP = Policy(allow_rewrite=True)
"""Nothing goes and nothing moves."""


@dataclass(frozen=True)
class Case:
    """`blocks`: the findings that must block the plan, each with the rows (by id) that it is about."""

    live: Table
    rows: tuple[Row, ...]
    wanted: Wanted
    policy: Policy
    columns: tuple[Column, ...]
    after: tuple[Row, ...]
    blocks: dict[tuple[str, str], Keys]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What a failing example prints: short enough to be read."""
        del cycle
        table = self.wanted.table
        printer.text(
            f"\n  live {self.live.name} key {self.live.primary_key}: {_told(self.live.columns)}"
            f"\n  rows {self.rows}"
            f"\n  wanted: {_told(table.columns)}\n  {table.constraints} {self.policy}"
            f"\n  hints {dict(self.wanted.hints)}"
            f"\n  columns: {_told(self.columns)}\n  after {self.after}\n  blocks {self.blocks}"
        )


def _told(columns: tuple[Column, ...]) -> str:
    said = (
        f"{c.name!r} {type_text(c.type)}{'' if c.nullable else ' NOT NULL'}"
        + (f" DEFAULT {c.default}" if c.default else "")
        + (f" COMMENT {c.comment!r}" if c.comment else "")
        for c in columns
    )
    return ", ".join(said)


# --- the case -------------------------------------------------------------------------------------


@st.composite
def cases(draw: st.DrawFn, traits: Traits) -> Case:
    """A table, a wish, rows, and what must come of it."""
    pool = st.lists(traits.names, min_size=8, max_size=10, unique_by=traits.fold)
    names = draw(pool.map(lambda found: [n for n in found if traits.fold(n) != "id"]))
    said: dict[str, Any] = {}
    way = draw(evolutions(folding=traits.respelled, words=words_of(traits, names, said)))
    name = TableName("main", draw(traits.table_names))
    live = Table(name, (traits.id, *way.live.columns), primary_key=_key(draw, traits))
    wish = _Wish(draw, traits, live, way, said)
    hints = dict(way.wanted.hints) | wish.helpers()
    constraints = wish.constraints()
    table = Table(
        name,
        (traits.id, *way.wanted.table.columns),
        primary_key=live.primary_key,
        constraints=constraints,
    )
    rows = draw(_rows(live, _new_types(way)))
    if not wish.impossible and draw(st.integers(0, 2)):
        rows = wish.without_broken(rows, constraints)
    return Case(
        live,
        rows,
        Wanted(table, hints),
        wish.policy,
        wish.target(),
        tuple(wish.projected(row) for row in rows),
        wish.blocks(rows, constraints),
    )


def _key(draw: st.DrawFn, traits: Traits) -> tuple[str, ...]:
    return ("id",) if traits.constraints and draw(st.booleans()) else ()


def _new_types(way: Evolution) -> dict[Path, Type]:
    """Live path → the type that its values are to have."""
    return {
        old: column.type
        for path, old in way.origin.items()
        if old is not None and (column := way.expected.column(path)) is not None
    }


@st.composite
def _rows(draw: st.DrawFn, live: Table, new: dict[Path, Type]) -> tuple[Row, ...]:
    count = draw(st.integers(0, 5))
    rows = []
    for number in range(count):
        row: Row = {"id": number - 1}
        for column in live.columns[1:]:
            value = draw(_value(column.type, (column.name,), new))
            if value is None and not column.nullable:
                value = draw(_some(column.type))
            row[column.name] = value
        rows.append(row)
    return tuple(rows)


def _some(type_: Type) -> st.SearchStrategy[Any]:
    match type_:
        case Struct(fields):
            return st.fixed_dictionaries({f.name: st.none() for f in fields})
        case Array():
            return st.just([])
        case Map():
            return st.just({})
        case _:
            return scalars(type_)


def _value(type_: Type, path: Path, new: dict[Path, Type]) -> st.SearchStrategy[Any]:
    match type_:
        case Struct(fields):
            made: st.SearchStrategy[Any] = st.fixed_dictionaries(
                {f.name: _value(f.type, (*path, f.name), new) for f in fields}
            )
        case Array(element):
            made = st.lists(_value(element.type, (*path, element.name), new), max_size=3)
        case Map(key, value):
            inner = _value(value.type, (*path, value.name), new)
            made = st.dictionaries(scalars(key.type), inner, max_size=2)
        case _:
            wish = new.get(path, type_)
            made = scalars(type_)
            if wish != type_ and not children(wish) and known(type_, wish):
                made = suiting(type_, wish)
    return st.none() | made | made | made


# --- what must come of it -------------------------------------------------------------------------


@dataclass
class _Wish:
    draw: st.DrawFn
    traits: Traits
    live: Table
    way: Evolution
    said: dict[str, Any]
    policy: Policy = FREE
    fills: dict[str, Any] = field(default_factory=dict)
    """Top-level target column → the value that rows without one get."""
    copies: dict[str, str] = field(default_factory=dict)
    """Added target column → the live column that its expression reads."""

    def __post_init__(self) -> None:
        # In the plan's words a stranger's name is in the way; that is another finding.
        if self.draw(st.integers(0, 2)) == 0 and not self._clashes():
            self.policy = KEEP

    @property
    def impossible(self) -> list[Path]:
        found = []
        for path, old in self.way.origin.items():
            if old is None:
                continue
            was, now = self._type(self.way.live, old), self._type(self.way.expected, path)
            nested = bool(children(was) or children(now))
            pair = type(was), type(now)
            if (pair[0] is not pair[1]) if nested else (pair in IMPOSSIBLE):
                found.append(path)
        return found

    @staticmethod
    def _type(table: Table, path: Path) -> Type:
        column = table.column(path)
        assert column is not None
        return column.type

    # --- helpers of the migration ---

    def helpers(self) -> dict[Path, Hint]:
        """`_default` and `_using` for top-level columns, known by value."""
        found: dict[Path, Hint] = {}
        spelled = zip(self.way.wanted.table.columns, self.way.expected.columns, strict=True)
        for said, column in spelled:
            if children(column.type):
                continue
            given = self.way.wanted.hints.get((said.name,), Hint())
            added = self.way.origin[(column.name,)] is None
            if added and self.draw(st.integers(0, 3)) == 0 and (source := self._source(column)):
                self.copies[column.name] = source
                found[(said.name,)] = replace(given, using=self.traits.quote(source))
            elif (added or not column.nullable) and self.draw(st.booleans()):
                value = self.draw(scalars(column.type))
                self.fills[column.name] = value
                sql = self.traits.literal(value, column.type)
                found[(said.name,)] = replace(given, default=sql)
        return found

    def _source(self, column: Column) -> str | None:
        alike = [c.name for c in self.live.columns if bare(c.type) == bare(column.type)]
        return self.draw(st.sampled_from(alike)) if alike else None

    def constraints(self) -> tuple[Constraint, ...]:
        if not self.traits.constraints or self.draw(st.integers(0, 2)):
            return ()
        columns = self.way.expected.columns
        keys = [c.name for c in columns if isinstance(c.type, Integer | String | Date)]
        numbers = [c.name for c in columns if isinstance(c.type, Integer)]
        found: list[Constraint] = []
        if keys and self.draw(st.booleans()):
            found.append(Unique("one of a kind", (self.draw(st.sampled_from(keys)),)))
        if numbers and self.draw(st.booleans()):
            name = self.draw(st.sampled_from(numbers))
            found.append(Check("not 'less'", f"{self.traits.quote(name)} >= 0"))
        return tuple(found)

    # --- the target ---

    def target(self) -> tuple[Column, ...]:
        return (self.traits.id, *self._merged(self.way.live.columns, self.way.expected.columns, ()))

    def _merged(
        self, live: tuple[Column, ...], wish: tuple[Column, ...], path: Path
    ) -> tuple[Column, ...]:
        """What is wished, and under KEEP what nobody spoke of."""
        by_name = {c.name: c for c in live}
        found = []
        used = set()
        for column in wish:
            old = self.way.origin.get((*path, column.name))
            was = by_name.get(old[-1]) if old else None
            used.add(was.name if was else "")
            found.append(column if was is None else self._inside(was, column, path))
        if self.policy is KEEP:
            found += [c for c in live if c.name not in used]
        return tuple(found)

    def _inside(self, was: Column, column: Column, path: Path) -> Column:
        below = (*path, column.name)
        if type(was.type) is not type(column.type) or not children(column.type):
            return column
        if isinstance(column.type, Struct):
            inner = self._merged(children(was.type), column.type.fields, below)
        else:
            parts = zip(children(was.type), children(column.type), strict=True)
            inner = tuple(self._inside(a, b, below) for a, b in parts)
        return replace(column, type=with_children(column.type, inner))

    def _clashes(self) -> bool:
        """A column that nobody speaks of has a name that another one is to get, somewhere."""
        taken = {old for old in self.way.origin.values() if old is not None}
        for path, old in self.way.origin.items():
            if old is not None and old[-1] == path[-1]:
                continue
            parent = self._old_parent(path)
            if parent is None:
                continue
            beside = self.way.live.columns
            if parent:
                above = self.way.live.column(parent)
                beside = children(above.type) if above else ()
            fold = self.traits.fold
            if any(
                fold(c.name) == fold(path[-1]) and (*parent, c.name) not in taken for c in beside
            ):
                return True
        return False

    def _old_parent(self, path: Path) -> Path | None:
        return self.way.origin.get(path[:-1]) if path[:-1] else ()

    # --- the rows ---

    def projected(self, row: Row, lost: set[Path] | None = None) -> Row:
        """The row as it must be; paths at which a value is lost go into `lost`."""
        sink: set[Path] = set() if lost is None else lost
        found = {"id": row["id"]}
        found |= self._fields(row, self.live.columns[1:], self.target()[1:], (), sink)
        for name, source in self.copies.items():
            found[name] = row[source]
        for name, value in self.fills.items():
            if found.get(name) is None or self.way.origin[(name,)] is None:
                found[name] = value
        return found

    def _fields(
        self,
        value: Row,
        live: tuple[Column, ...],
        target: tuple[Column, ...],
        path: Path,
        lost: set[Path],
    ) -> Row:
        by_name = {c.name: c for c in live}
        found: Row = {}
        for column in target:
            here = (*path, column.name)
            if here not in self.way.origin:
                # Not spoken of: it stays.
                found[column.name] = value[column.name]
                continue
            old = self.way.origin[here]
            if old is None:
                # A lasting default fills the rows that are there, where no helper does.
                found[column.name] = self.said.get(column.default or "")
            else:
                was = by_name[old[-1]]
                found[column.name] = self._carried(
                    value[was.name], was.type, column.type, here, lost
                )
        return found

    def _carried(self, value: Any, was: Type, now: Type, path: Path, lost: set[Path]) -> Any:
        if value is None:
            return None
        match was, now:
            case Struct(live), Struct(target):
                return self._fields(value, live, target, path, lost)
            case Array(a), Array(b):
                here = (*path, b.name)
                return [self._carried(v, a.type, b.type, here, lost) for v in value]
            case Map(ka, va), Map(kb, vb):
                return {
                    key_of(k, ka.type, kb.type): self._carried(
                        v, va.type, vb.type, (*path, vb.name), lost
                    )
                    for k, v in value.items()
                }
            case _:
                if (type(was), type(now)) in IMPOSSIBLE or children(was) or children(now):
                    return None
                found = convert(value, was, now)
                if found is LOST:
                    lost.add(path)
                    return None
                return found

    # --- what blocks ---

    def blocks(
        self, rows: Sequence[Row], constraints: tuple[Constraint, ...]
    ) -> dict[tuple[str, str], Keys]:
        """(code, where) → the rows that it is about."""
        if self.impossible:
            return {("F104", path_text(p)): frozenset() for p in self.impossible}
        return dict(self._by_rows(rows, constraints))

    def _by_rows(
        self, rows: Sequence[Row], constraints: tuple[Constraint, ...]
    ) -> Iterator[tuple[tuple[str, str], Keys]]:
        lost: dict[Path, set[int]] = {}
        after: dict[int, Row] = {}
        for row in rows:
            sink: set[Path] = set()
            after[row["id"]] = self.projected(row, sink)
            for path in sink:
                lost.setdefault(path, set()).add(row["id"])
        for path, keys in lost.items():
            yield ("F201", path_text(path)), frozenset(keys)
        yield from self._missing(after, lost)
        for constraint in constraints:
            match constraint:
                case Unique(_, (name,)):
                    count = Counter(r[name] for r in after.values())
                    shared = {k for k, r in after.items() if count[r[name]] > 1}
                    shared -= {k for k in shared if after[k][name] is None}
                    broken = ("F301", constraint.name), frozenset(shared)
                case _:
                    assert isinstance(constraint, Check)
                    name = self._checked(constraint)
                    below = (k for k, r in after.items() if r[name] is not None and r[name] < 0)
                    broken = ("F302", constraint.name), frozenset(below)
            if broken[1]:
                yield broken

    def _checked(self, check: Check) -> str:
        said = check.expression.removesuffix(" >= 0")
        return next(c.name for c in self.way.expected.columns if self.traits.quote(c.name) == said)

    def _missing(
        self, after: dict[int, Row], lost: dict[Path, set[int]]
    ) -> Iterator[tuple[tuple[str, str], Keys]]:
        """Rows without a value for a column that must have one."""
        for column in self.way.expected.columns:
            path = (column.name,)
            if column.nullable or path in lost:
                continue
            empty = frozenset(k for k, r in after.items() if r[column.name] is None)
            if not empty:
                continue
            added = self.way.origin[path] is None
            valued = column.default or column.name in {**self.copies, **self.fills}
            if added and not valued:
                yield ("F101", path_text(path)), frozenset(after)
            else:
                yield ("F203", path_text(path)), empty

    def without_broken(
        self, rows: Sequence[Row], constraints: tuple[Constraint, ...]
    ) -> tuple[Row, ...]:
        """Only the rows that stand in nobody's way."""
        while broken := frozenset().union(*self.blocks(rows, constraints).values()):
            rows = tuple(r for r in rows if r["id"] not in broken)
        return tuple(rows)
