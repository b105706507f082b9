"""Old copies that rewrites keep, and what a crash leaves behind: found, counted, put back, dropped.

An engine that keeps copies has a `Keeper`. It works by the names of the tables themselves, so that it can
answer when the state store is lost. Three names belong to a table `t`: `t` itself, `t__instar_new` (a copy
that was never swapped in) and `t__instar_old_<n>` (what a rewrite has put aside).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from instar.backends.base import Outcome, RunContext
from instar.core.plan import Cost, Rung, Step
from instar.core.schema import Table, TableName
from instar.core.types import (
    Array,
    Column,
    Json,
    Map,
    Opaque,
    Struct,
    Type,
    Variant,
    children,
    without_identity,
)
from instar.errors import StateError, VerificationFailed

REVERT, DROP_KEPT, DROP_NEW, PUT_BACK = "revert", "drop_kept", "drop_new", "put_back"
KINDS = (REVERT, DROP_KEPT, DROP_NEW, PUT_BACK)
"""The kinds of steps that a keeper runs."""

_OWN = re.compile(r"(?P<stem>.+)__instar_(?P<kind>new|old_(?P<n>\d+))$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Copy:
    """An old copy of `table`: a table beside it, or a `version` in its own history.

    `stays` says why it cannot be dropped alone; `when` it was made, where the engine knows.
    """

    table: TableName
    name: TableName
    version: int | None = None
    made: int | None = None
    when: float | None = None
    stays: str = ""


@dataclass(frozen=True, slots=True)
class Since:
    """What separates a table from its old copy, by the columns that both have alike."""

    rows: int
    old_rows: int
    only_now: int
    only_then: int
    columns: tuple[str, ...]
    unseen: tuple[str, ...] = ()
    """Columns of the table that are not compared: a row in which only they were changed counts as the same."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """What a crash left of a table: which of its three names there are."""

    table: TableName
    there: bool
    new: TableName | None
    olds: tuple[TableName, ...]

    @property
    def stranded(self) -> bool:
        """The table is gone, and what is left of it has another name."""
        return not self.there


class Keeper(ABC):
    """What a backend does with old copies. `run` and `outcome` serve the steps that it makes."""

    @abstractmethod
    def copies(self, schema: str, tables: Sequence[TableName]) -> Sequence[Copy]:
        """The old copies that are there; `tables` are the ones of interest, where asking costs."""

    @abstractmethod
    def counted(self, copy: Copy) -> Cost:
        """Its rows, exactly, and its size where the engine says it."""

    @abstractmethod
    def rows(self, name: TableName) -> int:
        """How many rows a table has now, exactly."""

    @abstractmethod
    def since(self, copy: Copy, live: Table) -> Since:
        """What a revert would take out of the table, and what it would bring back."""

    @abstractmethod
    def revert_step(self, copy: Copy, live: Table) -> Step:
        """The copy becomes the table; what is the table now is kept in its turn."""

    @abstractmethod
    def run(self, step: Step, context: RunContext) -> None:
        """Carry out a step of KINDS; running it again goes on where it stopped."""

    @abstractmethod
    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        """What became of such a step."""

    def leftovers(self, schema: str) -> Sequence[Leftover]:
        """Tables of which a crash left more or less than the table and its old copies."""
        del schema
        return ()

    def drop_step(self, copy: Copy, live: Table) -> Step:
        raise _cannot_drop(copy)

    def awaited(self, left: Leftover) -> Leftover | None:
        """What is left once nobody is at it any more: what looks like a crash may be somebody's run."""
        return left

    def mend_step(self, left: Leftover) -> Step:
        """Finish or undo what a crash left; only called for what `leftovers` has named."""
        raise AssertionError(f"{left} was not named by this keeper")


class TableKeeper(Keeper):
    """Old copies that are tables of their own, told by their names."""

    @abstractmethod
    def own(self, schema: str) -> Sequence[str]:
        """The names in a schema that hold `__instar_`."""

    @abstractmethod
    def there(self, names: Sequence[TableName]) -> list[bool]:
        """Which of these tables exist."""

    @abstractmethod
    def inspect(self, name: TableName) -> Table: ...

    @abstractmethod
    def ask(self, sql: str) -> Sequence[Any]: ...

    @abstractmethod
    def place(self, name: TableName) -> str: ...

    @abstractmethod
    def quote(self, name: str) -> str: ...

    @abstractmethod
    def rename_sql(self, old: TableName, new: TableName) -> str: ...

    @abstractmethod
    def execute(self, step: Step, sql: Sequence[str], context: RunContext) -> None:
        """Statements of a step, in one transaction where the engine has them."""

    def drop_sql(self, name: TableName) -> str:
        return f"DROP TABLE IF EXISTS {self.place(name)}"

    def drop_new_sql(self, left: Leftover) -> Sequence[str]:
        assert left.new is not None
        return [self.drop_sql(left.new)]

    def resolve(self, schema: str, stem: str, name: str) -> TableName | None:
        """Whose copy a name speaks of; None where it cannot be told."""
        del name
        return TableName(schema, stem)

    def is_ours(self, new: TableName) -> bool:
        """Whether a table that is named like an unfinished copy is one."""
        del new
        return True

    def source_of(self, new: TableName, olds: Sequence[TableName]) -> TableName | None:
        """Which old copy an unfinished one was made from, where it says so."""
        del new
        return olds[0] if len(olds) == 1 else None

    # --- what is there ---

    def copies(self, schema: str, tables: Sequence[TableName]) -> Sequence[Copy]:
        return [
            Copy(_spelled(table, tables), TableName(schema, name))
            for name in self.own(schema)
            if (found := _OWN.match(name))
            and found["n"]
            and (table := self.resolve(schema, found["stem"], name))
        ]

    def leftovers(self, schema: str) -> Sequence[Leftover]:
        sides: dict[TableName, tuple[list[TableName], list[TableName]]] = {}
        for name in self.own(schema):
            found = _OWN.match(name)
            table = self.resolve(schema, found["stem"], name) if found else None
            if found is not None and table is not None:
                both = sides.setdefault(table, ([], []))
                both[1 if found["n"] else 0].append(TableName(schema, name))
        present = self.there(list(sides)) if sides else []
        lefts = (
            Leftover(name, there, next(iter(news), None), tuple(sorted(olds)))
            for (name, (news, olds)), there in zip(sides.items(), present, strict=True)
        )
        return [left for left in lefts if left.stranded or left.new is not None]

    def counted(self, copy: Copy) -> Cost:
        return Cost(rows=self.rows(copy.name))

    def rows(self, name: TableName) -> int:
        return int(self.ask(f"SELECT count(*) FROM {self.place(name)}")[0][0])

    def since(self, copy: Copy, live: Table) -> Since:
        old = self.inspect(copy.name)
        now, then = self.place(copy.table), self.place(copy.name)
        return since(self.ask, now, then, live, shared_columns(live, old, self.compared))

    def compared(self, column: Column) -> str | None:
        """How a value is compared with another one; None where the engine cannot do it."""
        return self.quote(column.name) if comparable(column.type) else None

    # --- steps ---

    def drop_step(self, copy: Copy, live: Table) -> Step:
        return Step(
            f"drop/{copy.name.name}",
            DROP_KEPT,
            Rung.METADATA,
            f"drop {copy.name}, the old copy of {copy.table}",
            (self.drop_sql(copy.name),),
            live,
            destructive=True,
            reversible=False,
            repeatable=True,
            data=MappingProxyType({"forgets": copy.name.name}),
        )

    def revert_step(self, copy: Copy, live: Table) -> Step:
        aside = self.free_name(copy.table)
        old = self.inspect(copy.name)
        return Step(
            f"revert/{copy.name.name}",
            REVERT,
            Rung.METADATA,
            f"put {copy.name} back as {copy.table}; what is there now is kept as {aside}",
            tuple(self.revert_sql(copy, live, old, aside)),
            self.promised(old, live.name),
            data=MappingProxyType({"kept": aside.name, "forgets": copy.name.name}),
        )

    def revert_sql(self, copy: Copy, live: Table, old: Table, aside: TableName) -> Sequence[str]:
        del live, old
        return [self.rename_sql(copy.table, aside), self.rename_sql(copy.name, copy.table)]

    def promised(self, old: Table, name: TableName) -> Table:
        """What will be live once `old` has the table's name."""
        return replace(old, name=name)

    def free_name(self, table: TableName) -> TableName:
        taken = {name.casefold() for name in self.own(table.schema)}
        number = 1
        while (name := self.old_name(table, number)).name.casefold() in taken:
            number += 1
        return name

    def old_name(self, table: TableName, number: int) -> TableName:
        return TableName(table.schema, f"{table.name}__instar_old_{number}")

    def mend_step(self, left: Leftover) -> Step:
        if left.there:
            return self._drop_new(left)
        back = self._last_copy(left)
        words = f"{left.table} is gone and {back} is what is left of it: put it back"
        return Step(
            f"put-back/{back.name}",
            PUT_BACK,
            Rung.METADATA,
            words,
            (self.rename_sql(back, left.table),),
            self.promised(self.inspect(back), left.table),
            data=MappingProxyType({"from": back.name, "forgets": back.name}),
        )

    def _drop_new(self, left: Leftover) -> Step:
        assert left.new is not None
        if not self.is_ours(left.new):
            raise _not_ours(left.new)
        return Step(
            f"drop/{left.new.name}",
            DROP_NEW,
            Rung.METADATA,
            f"drop {left.new}: it was never swapped in, and {left.table} is there",
            tuple(self.drop_new_sql(left)),
            self.inspect(left.table),
            repeatable=True,
        )

    def _last_copy(self, left: Leftover) -> TableName:
        """The table as it was, where it is known which one; a copy in its new shape where nothing else is."""
        if left.new is not None:
            if not left.olds:
                return left.new
            if (source := self.source_of(left.new, left.olds)) is not None:
                return source
        elif len(left.olds) == 1:
            return left.olds[0]
        raise _ambiguous(left)

    # --- running them ---

    def run(self, step: Step, context: RunContext) -> None:
        self.execute(step, step.sql, context)

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        del before, memo
        match step.kind, self.names_there(step):
            case ("revert", (True, False, True)) | ("put_back", (True, False)):
                return Outcome.DONE
            case ("revert", (True, True, False) | (False, True, True)) | (
                "put_back",
                (False, True),
            ):
                return Outcome.NOT_DONE
            case _:
                return Outcome.UNCLEAR

    def names_there(self, step: Step) -> tuple[bool, ...]:
        """The table, the copy that is to become it, and (for a revert) what is put aside."""
        schema = step.after.name.schema
        keys = ("forgets", "kept") if step.kind == REVERT else ("from",)
        others = [TableName(schema, step.data[key]) for key in keys if key in step.data]
        return tuple(self.there([step.after.name, *others]))


class RenamingKeeper(TableKeeper):
    """For engines without transactions: two renames, each of which a crash may be the last of."""

    @abstractmethod
    def do(self, what: str, sql: str, context: RunContext) -> None:
        """One statement between two failpoints."""

    def execute(self, step: Step, sql: Sequence[str], context: RunContext) -> None:
        for number, statement in enumerate(sql, start=1):
            self.do(f"{step.kind}:{number}", statement, context)

    def run(self, step: Step, context: RunContext) -> None:
        if step.kind != REVERT:
            super().run(step, context)
            return
        for _ in range(3):
            there = self.names_there(step)
            self.look(step, there)
            match there:
                case (True, True, False):
                    self.do("revert:rename-now", step.sql[0], context)
                case (False, True, True):
                    self.do("revert:rename-old", step.sql[1], context)
                case (True, False, True):
                    return
                case _:
                    raise _lost(step, there)

    def look(self, step: Step, there: tuple[bool, ...]) -> None:
        """Before each rename of a revert: refuse it where the tables are not what was asked about."""
        del step, there


def since(ask: Any, now: str, then: str, live: Table, shared: Mapping[str, str]) -> Since:
    """Rows that only one of two sources has, counted with their repetitions."""
    rows, old_rows = (int(ask(f"SELECT count(*) FROM {side}")[0][0]) for side in (now, then))
    columns = tuple(shared)
    unseen = tuple(c.name for c in live.columns if c.name not in shared)
    only = [max(rows - old_rows, 0), max(old_rows - rows, 0)]
    if shared:
        listed = ", ".join(shared.values())
        both = "SELECT count(*) FROM (SELECT {0} FROM {1} EXCEPT ALL SELECT {0} FROM {2}) AS apart"
        sides = ((now, then), (then, now))
        only = [int(ask(both.format(listed, *side))[0][0]) for side in sides]
    return Since(rows, old_rows, only[0], only[1], columns, unseen)


def shared_columns(
    live: Table, old: Table, written: Callable[[Column], str | None]
) -> Mapping[str, str]:
    """The columns that both have under one name and type, and how each is compared, if it can be.

    A column that became NOT NULL may have been filled by the rewrite itself: it tells nothing.
    """
    then = {c.name: c for c in old.columns}
    alike = {c.name: written(c) for c in live.columns if _alike(c, then.get(c.name))}
    return {name: sql for name, sql in alike.items() if sql is not None}


def _alike(now: Column, then: Column | None) -> bool:
    return then is not None and now.nullable == then.nullable and _plain(now) == _plain(then)


def _plain(column: Column) -> Column:
    return replace(without_identity(column), comment=None, default=None)


def comparable(type_: Type) -> bool:
    """Whether every engine tells two equal values of the type from others."""
    match type_:
        case Map() | Json() | Variant() | Opaque():
            return False
        case Struct() | Array():
            return all(comparable(c.type) for c in children(type_))
        case _:
            return True


def _spelled(table: TableName, tables: Sequence[TableName]) -> TableName:
    """The table's name as the project writes it."""
    if table in tables:
        return table
    folded = (table.schema, table.name.casefold())
    return next((t for t in tables if (t.schema, t.name.casefold()) == folded), table)


def _cannot_drop(copy: Copy) -> StateError:
    return StateError("E441", f"{copy.name} cannot be dropped: {copy.stays}")


def _not_ours(new: TableName) -> StateError:
    return StateError(
        "E443",
        f"{new} has the name of an unfinished copy, but does not say that Instar made it",
        hint="Look at it; rename it or drop it by hand.",
    )


def _ambiguous(left: Leftover) -> StateError:
    names = ", ".join(str(n) for n in (*left.olds, *([left.new] if left.new else [])))
    return StateError(
        "E442",
        f"{left.table} is gone, and several copies of it are there: {names}",
        hint="Nobody can tell which is the newest. Rename the right one back by hand, then go on.",
    )


def _lost(step: Step, there: tuple[bool, ...]) -> VerificationFailed:
    words = ("the table", "its old copy", "what is put aside")
    found = [word for word, is_there in zip(words, there, strict=True) if is_there]
    return VerificationFailed(
        "E444",
        f"[{step.after.name}] cannot be put back: there are {', '.join(found) or 'none of its tables'}",
        hint="Somebody renamed or dropped one of them; look at them before anything else.",
    )
