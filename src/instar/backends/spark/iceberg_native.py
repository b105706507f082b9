"""Native Iceberg steps: one statement each, in an order in which every name is free when it is needed.

Renames first (so that parents have their final names), then what is new, values for it, what goes, what
changes in place, the order, and last what holds for the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from instar.backends.spark import iceberg_ddl as ddl
from instar.backends.spark.iceberg_capability import fill_of
from instar.backends.spark.iceberg_metadata import PRIMARY_KEY
from instar.backends.spark.iceberg_transforms import parse_sort, parse_transform
from instar.backends.spark.keys import key_data
from instar.backends.spark.statements import (
    alter_columns,
    comment_table,
    drop_columns,
    path_sql,
    rename_column,
    set_properties,
    unset_properties,
)
from instar.backends.spark.types import spark_type
from instar.backends.spark.values import SparkValues
from instar.backends.sql import literal_spark
from instar.backends.values import ValueWriter
from instar.core.changes import (
    FIRST,
    AddColumn,
    ChangeClustering,
    ChangePartitioning,
    ChangeProperty,
    CommentChange,
    DropColumn,
    Modification,
    ModifyColumn,
    Nullability,
    Rename,
    TypeChange,
    modification,
)
from instar.core.evolve import evolve
from instar.core.matching import Fold
from instar.core.plan import Job, Rung, Step, drop_question
from instar.core.projection import FieldCarry, FromExpression
from instar.core.schema import Table, replace_columns
from instar.core.types import Column, Path, Struct, children, path_text, walk

_C = TypeVar("_C")
_Action = Callable[[Any], str]
_Level = tuple[Path, list[tuple[Path, str]], tuple[Column, ...]]
"""The parent of a level, the moves in it, its columns in their wanted order."""
_WORDS = {"widen": "widen", "nullable": "allow NULL in", "comment": "comment on"}
_GOING = "__instar_going"
_PASSING = "__instar_passing"


class Native:
    """Plans the statements of one job; `now` is the table as it is after the steps so far."""

    def __init__(self, job: Job, full: str, fold: Fold) -> None:
        assert job.live is not None
        self.job, self.full, self.fold = job, full, fold
        self.now: Table = job.live
        self.found: list[Step] = []
        self.going: dict[Path, Path] = {}

    def steps(self) -> tuple[Step, ...]:
        self._release_key()
        self._renames()
        self._partitions(removing=True)
        self._adds()
        self._partitions(removing=False)
        self._order_of_rows()
        self._fills()
        self._drops()
        self._alters()
        self._order_of_columns()
        self._key()
        self._properties()
        return tuple(self.found)

    def _step(
        self, kind: str, title: str, sql: str | tuple[str, ...], after: Table, **more: object
    ) -> None:
        number = len(self.found) + 1
        statements = (sql,) if isinstance(sql, str) else sql
        step = Step(f"{number}-{kind}", kind, Rung.METADATA, title, statements, after)
        self.found.append(replace(step, **more))  # type: ignore[arg-type]
        self.now = after

    # --- names ---

    def _renames(self) -> None:
        """Level by level from the top; a name that is still taken goes through a third one."""
        wishes: dict[Path, dict[str, str]] = {}
        for change in self._of(ModifyColumn):
            if renamed := modification(change, Rename):
                wishes.setdefault(change.path[:-1], {})[renamed.old] = renamed.new
        for parent, name in self._in_the_way(wishes):
            wishes.setdefault(parent, {})[name] = name + _GOING
            self.going[(*parent, name)] = (*parent, name + _GOING)
        for parent in sorted(wishes, key=len):
            self._rename_level(parent, wishes[parent])

    def _in_the_way(self, wishes: dict[Path, dict[str, str]]) -> Iterator[tuple[Path, str]]:
        """Columns that go, but whose name something else takes."""
        taken = {
            (parent, self.fold(new)) for parent, level in wishes.items() for new in level.values()
        }
        taken |= {(c.path[:-1], self.fold(c.path[-1])) for c in self._of(AddColumn)}
        for change in self._of(DropColumn):
            if (change.path[:-1], self.fold(change.path[-1])) in taken:
                yield change.path[:-1], change.path[-1]

    def _rename_level(self, parent: Path, wishes: dict[str, str]) -> None:
        while wishes:
            present = {self.fold(c.name) for c in self._children(parent)}
            free = next((o for o, n in wishes.items() if self.fold(n) not in present), None)
            if free is not None:
                self._rename(parent, free, wishes.pop(free))
                continue
            stuck = next(iter(wishes))
            passing = stuck + _PASSING
            self._rename(parent, stuck, passing)
            wishes[passing] = wishes.pop(stuck)

    def _rename(self, parent: Path, old: str, new: str) -> None:
        path = (*parent, old)
        title = f"rename {path_text(path)} to {path_text((new,))}"
        sql = rename_column(self.full, path, new)
        after = renamed_table(self.now, path, new)
        if self._key_kept_as() == "property":
            # A property does not follow; it is written anew at the end.
            after = replace(after, primary_key=self.now.primary_key)
        self._step("rename", title, sql, after)

    # --- columns that come and go ---

    def _adds(self) -> None:
        adds = self._of(AddColumn)
        if not adds:
            return
        placed: list[tuple[Path, Column, str | None]] = []
        table = self.now
        for add in adds:
            present = [c.name for c in self._children(add.path[:-1])]
            after = add.after if add.after == FIRST or add.after in present else None
            placed.append((add.path, add.column, after))
            table = evolve(table, (replace(add, after=after),))
        words = ", ".join(path_text(a.path) for a in adds)
        self._step("add", f"add {words}", ddl.add_columns(self.full, placed), table)

    def _fills(self) -> None:
        """One UPDATE for the columns of the table, one for each struct: a NULL struct stays NULL."""
        wishes: dict[Path, list[tuple[Path, str]]] = {}
        for add in self._of(AddColumn):
            if (value := fill_of(self.job.wanted.hint(add.path, self.fold))) is not None:
                field = FieldCarry(add.column, FromExpression(value))
                sql = ValueWriter(SparkValues()).source(field, None)
                wishes.setdefault(add.path[:-1], []).append((add.path, sql))
        for parent, fills in wishes.items():
            names = [path_sql(path) for path, _ in fills]
            values = [f"COALESCE({n}, {v})" for n, (_, v) in zip(names, fills, strict=True)]
            sets = ", ".join(f"{n} = {v}" for n, v in zip(names, values, strict=True))
            empty = " OR ".join(f"{n} IS NULL" for n in names)
            where = f"{path_sql(parent)} IS NOT NULL AND ({empty})" if parent else empty
            words = ", ".join(path_text(path) for path, _ in fills)
            sql = f"UPDATE {self.full} SET {sets} WHERE {where}"
            self._step("fill", f"fill {words}", sql, self.now, rung=Rung.STEPS, repeatable=True)

    def _drops(self) -> None:
        drops = self._of(DropColumn)
        if not drops:
            return
        paths = [self.going.get(d.path, d.path) for d in drops]
        table = self.now
        for path in paths:
            left = tuple(c for c in _children_of(table, path[:-1]) if c.name != path[-1])
            table = replace_columns(table, path[:-1], left)
        words = ", ".join(path_text(d.path) for d in drops)
        self._step(
            "drop",
            f"drop {words}",
            drop_columns(self.full, paths),
            table,
            destructive=True,
            reversible=False,
            confirm=drop_question(path_text(d.path) for d in drops),
        )

    # --- columns that change in place ---

    def _alters(self) -> None:
        kinds: list[tuple[type[TypeChange | Nullability | CommentChange], str, _Action]] = [
            (TypeChange, "widen", lambda m: f"TYPE {spark_type(m.new)}"),
            (Nullability, "nullable", lambda _: "DROP NOT NULL"),
            (CommentChange, "comment", lambda m: f"COMMENT {literal_spark(m.new or '')}"),
        ]
        for wanted, kind, action in kinds:
            changes = [
                (c, m)
                for c in self._of(ModifyColumn)
                for m in c.modifications
                if isinstance(m, wanted)
            ]
            if not changes:
                continue
            for batch in apart(changes, lambda item: [item[0].path]):
                actions = [(c.path, action(m)) for c, m in batch]
                table = evolve(self.now, tuple(_only(c, m) for c, m in batch))
                words = ", ".join(path_text(c.path) for c, _ in batch)
                sql = alter_columns(self.full, actions)
                self._step(kind, f"{_WORDS[kind]} {words}", sql, table)

    def _order_of_columns(self) -> None:
        levels = [self._moves(path, wish) for path, wish in _levels(self.job.target)]
        moved = [level for level in levels if level[1]]
        for batch in apart(moved, lambda level: [path for path, _ in level[1]]):
            moves = [move for _, level, _ in batch for move in level]
            table = self.now
            for parent, _, columns in batch:
                order = {c.name: at for at, c in enumerate(columns)}
                now = sorted(_children_of(table, parent), key=lambda c: order[c.name])
                table = replace_columns(table, parent, tuple(now))
            words = ", ".join(path_text(path) for path, _ in moves)
            self._step("reorder", f"move {words}", alter_columns(self.full, moves), table)

    def _moves(self, parent: Path, wish: tuple[Column, ...]) -> _Level:
        """The moves that bring one level into its order, one after the other."""
        order = [c.name for c in wish]
        names = [c.name for c in self._children(parent)]
        moves: list[tuple[Path, str]] = []
        for at, name in enumerate(order):
            if names[at] != name:
                names.remove(name)
                names.insert(at, name)
                moves.append(((*parent, name), ddl.move_action(order[at - 1] if at else FIRST)))
        return parent, moves, wish

    # --- the table itself ---

    def _partitions(self, *, removing: bool) -> None:
        if not self._of(ChangePartitioning):
            return
        now, wish = self.now.partition_by, self.job.target.partition_by
        if removing:
            work = [("DROP", e) for e in now if e not in wish]
        else:
            work = [("ADD", e) for e in wish if e not in now]
        for verb, entry in work:
            left = {e for e in self.now.partition_by if e != entry}
            entries = tuple(sorted(left | ({entry} if verb == "ADD" else set())))
            sql = ddl.partition_field(self.full, verb, entry, self.now)
            title = f"{verb.lower()} partition field {entry} (for new files)"
            self._step("partition", title, sql, replace(self.now, partition_by=entries))

    def _order_of_rows(self) -> None:
        if self._of(ChangeClustering):
            after = replace(self.now, cluster_by=self.job.target.cluster_by)
            title = f"sort new files by ({', '.join(after.cluster_by)})"
            self._step("order", title, ddl.write_order(self.full, after), after, repeatable=True)

    def _key_kept_as(self) -> str:
        live = self.job.live
        assert live is not None
        return live.extras.get("key_kept_as", "property") if live.primary_key else ""

    def _key_moves(self) -> bool:
        """The key changes its columns, or the place where it is written down."""
        target = self.job.target
        place = "identifier" if ddl.identifiable(target) else "property"
        was = self._key_kept_as()
        renamed = {
            r.old: r.new
            for c in self._of(ModifyColumn)
            if len(c.path) == 1
            for r in c.modifications
            if isinstance(r, Rename)
        }
        live = self.job.live
        assert live is not None
        if tuple(renamed.get(k, k) for k in live.primary_key) != target.primary_key:
            return True
        spelled_out = was == "property" and live.primary_key != target.primary_key
        return bool(was) and (was != place or spelled_out)

    def _release_key(self) -> None:
        """Identifier fields cannot be dropped or made nullable while they are that."""
        if self._key_kept_as() == "identifier" and self._key_moves():
            sql = ddl.drop_identifiers(self.full, self.now.primary_key)
            after = replace(self.now, primary_key=())
            self._step("key", "release the identifier fields", sql, after)

    def _key(self) -> None:
        wish, was = self.job.target.primary_key, self._key_kept_as()
        if not self._key_moves():
            return
        if was == "property" and (not wish or ddl.identifiable(self.job.target)):
            sql = unset_properties(self.full, [PRIMARY_KEY])
            after = replace(self.now, primary_key=())
            self._step("key", "forget the old primary key", sql, after, repeatable=True)
        if wish:
            after = replace(self.now, primary_key=wish)
            title = f"write the primary key down: ({', '.join(wish)})"
            sql, data = ddl.set_key(self.full, after), key_data(self.job)
            self._step("key", title, sql, after, repeatable=True, data=data)

    def _properties(self) -> None:
        changes = self._of(ChangeProperty)
        sets = {c.key: c.new for c in changes if c.new is not None and c.key != "comment"}
        unsets = [c.key for c in changes if c.new is None and c.key != "comment"]
        comments = [c for c in changes if c.key == "comment"]
        work = [(comments, comment_table(self.full, comments[0].new))] if comments else []
        if sets:
            chosen = [c for c in changes if c.key in sets]
            work.append((chosen, set_properties(self.full, sets)))
        if unsets:
            chosen = [c for c in changes if c.key in unsets]
            work.append((chosen, unset_properties(self.full, unsets)))
        for chosen, sql in work:
            words = ", ".join(c.key for c in chosen)
            after = evolve(self.now, tuple(chosen))
            self._step("property", f"set {words}", sql, after, repeatable=True)

    def _of(self, kind: type[_C]) -> list[_C]:
        return [c for c in self.job.changes if isinstance(c, kind)]

    def _children(self, parent: Path) -> tuple[Column, ...]:
        return _children_of(self.now, parent)


def renamed_table(table: Table, path: Path, new: str) -> Table:
    """The table with one column renamed; keys, partitions and order follow it."""
    parent, old = path[:-1], path[-1]
    columns = tuple(
        replace(c, name=new) if c.name == old else c for c in _children_of(table, parent)
    )

    def moved(source: Path) -> Path:
        return (*path[:-1], new, *source[len(path) :]) if source[: len(path)] == path else source

    def partition(entry: str) -> str:
        made = parse_transform(entry, table.columns, str)
        return entry if made is None else replace(made, source=moved(made.source)).text()

    def order(entry: str) -> str:
        made = parse_sort(entry, table.columns, str)
        if made is None:
            return entry
        inner = replace(made.transform, source=moved(made.transform.source))
        return replace(made, transform=inner).text()

    return replace(
        replace_columns(table, parent, columns),
        primary_key=tuple(moved((k,))[0] for k in table.primary_key),
        partition_by=tuple(sorted(map(partition, table.partition_by))),
        cluster_by=tuple(map(order, table.cluster_by)),
    )


def apart(items: Sequence[_C], paths: Callable[[_C], list[Path]]) -> list[list[_C]]:
    """In order, in as few groups as none holds a column together with something inside it.

    Spark takes no statement that changes both.
    """
    groups: list[list[_C]] = []
    for item in items:
        place = 0
        for at, group in enumerate(groups):
            if any(_nested(a, b) for other in group for a in paths(other) for b in paths(item)):
                place = at + 1
        if place == len(groups):
            groups.append([])
        groups[place].append(item)
    return groups


def _nested(a: Path, b: Path) -> bool:
    size = min(len(a), len(b))
    return len(a) != len(b) and a[:size] == b[:size]


def _only(change: ModifyColumn, modification_: Modification) -> ModifyColumn:
    """The same change once its column has its new name, with one modification left."""
    old = replace(change.old, name=change.path[-1])
    return ModifyColumn(change.path, change.path, old, change.new, (modification_,))


def _children_of(table: Table, parent: Path) -> tuple[Column, ...]:
    if not parent:
        return table.columns
    column = table.column(parent)
    assert column is not None, f"{parent} is not in {table.name}"
    return children(column.type)


def _levels(table: Table) -> Iterator[tuple[Path, tuple[Column, ...]]]:
    yield (), table.columns
    for path, column in walk(table.columns):
        if isinstance(column.type, Struct):
            yield path, column.type.fields
