"""Old tables that PostgreSQL's recreations keep: one transaction puts one back with all that hangs on it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from instar.backends.keeping import DROP_NEW, Copy, Leftover
from instar.backends.postgres import catalog
from instar.backends.postgres.definition import definition
from instar.backends.postgres.facts import facts_of
from instar.backends.postgres.names import FN, LIMIT, LOG, NEW, OLD, POS, beside, fitted
from instar.backends.postgres.revert import MARK, REVERSION, Reversion, serials, shown, unmarked
from instar.backends.postgres.session import Session
from instar.backends.relational.keeper import TransactionalKeeper
from instar.backends.sql import qualified
from instar.core.plan import Cost, Rung, Step
from instar.core.schema import Table, TableName, Unique
from instar.errors import StateError

if TYPE_CHECKING:
    from instar.backends.postgres.backend import PostgresBackend


class PostgresKeeper(TransactionalKeeper):
    _backend: PostgresBackend

    def __init__(self, backend: PostgresBackend) -> None:
        self._backend = backend
        self._session: Session = backend.session

    def own(self, schema: str) -> Sequence[str]:
        return [name for name in self._names(schema) if "__instar_" in name]

    def _names(self, schema: str) -> list[str]:
        return [str(row[1]) for row in self._session.ask(catalog.LIST, [schema])]

    def resolve(self, schema: str, stem: str, name: str) -> TableName | None:
        """A name that was cut to fit tells its table only by comparison."""
        suffix = name[len(stem) :]
        for other in self._names(schema):
            if "__instar_" not in other and fitted(other, suffix) == name:
                return TableName(schema, other)
        return None if len(name.encode()) == LIMIT else TableName(schema, stem)

    def ask(self, sql: str) -> Sequence[Any]:
        return self._session.ask(sql)

    def is_ours(self, new: TableName) -> bool:
        """A copy is never without its position, which both engines keep beside it."""
        place = TableName(new.schema, new.name.removesuffix(NEW) + POS)
        return self.there([place])[0]

    def old_name(self, table: TableName, number: int) -> TableName:
        return beside(table, f"{OLD}{number}")

    def counted(self, copy: Copy) -> Cost:
        size = self._backend.measure([copy.name]).get(copy.name, Cost())
        return Cost(self.rows(copy.name), size.bytes)

    def drop_new_sql(self, left: Leftover) -> Sequence[str]:
        """Everything that an unfinished recreation has put beside the table, and its triggers."""
        helpers = ", ".join(qualified(beside(left.table, suffix)) for suffix in (NEW, LOG, POS))
        return [
            f"DROP FUNCTION IF EXISTS {qualified(beside(left.table, FN))}() CASCADE",
            f"DROP TABLE IF EXISTS {helpers}",
        ]

    def leftovers(self, schema: str) -> Sequence[Leftover]:
        """A position outlives the swap until the foreign keys are validated again."""
        known = list(super().leftovers(schema))
        named = {left.table for left in known}
        for name in self.own(schema):
            table = self.resolve(schema, name.removesuffix(POS), name)
            if name.endswith(POS) and table is not None and table not in named:
                known.append(Leftover(table, there=True, new=None, olds=()))
        return known

    def awaited(self, left: Leftover) -> Leftover | None:
        name = left.table.name.casefold()
        with self._backend.alone(left.table):
            lefts = self.leftovers(left.table.schema)
        found = (replace(x, table=left.table) for x in lefts if x.table.name.casefold() == name)
        return next(found, None)

    def mend_step(self, left: Leftover) -> Step:
        if not left.there or left.new is not None:
            return super().mend_step(left)
        position = qualified(beside(left.table, POS))
        (validate,) = self.ask(f"SELECT validate FROM {position}")[0]
        return Step(
            f"finish/{left.table.name}",
            DROP_NEW,
            Rung.METADATA,
            f"{left.table} was swapped in: validate its foreign keys again",
            (*json.loads(validate or "[]"), *self.drop_new_sql(left)),
            self.inspect(left.table),
            repeatable=True,
        )

    # --- putting one back ---

    def promised(self, old: Table, name: TableName) -> Table:
        """Its unique keys have their own names again, by which they count; serials are serials again."""
        marked = [k for k in facts_of(old).keys if not k.primary and MARK.search(k.name)]
        known = self._keys_of(name)
        uniques = tuple(Unique(unmarked(k.name, known), k.columns) for k in marked)
        serial = {column for column, _, alone in self._serials(name, old.name) if alone}
        columns = tuple(replace(c, default=None) if c.name in serial else c for c in old.columns)
        constraints = (*old.constraints, *uniques)
        return replace(old, name=name, columns=columns, constraints=constraints)

    def _keys_of(self, name: TableName) -> list[str]:
        return [k.name for k in facts_of(self.inspect(name)).keys] if self.there([name])[0] else []

    def _serials(self, now: TableName, then: TableName) -> Iterator[tuple[str, str, bool]]:
        if self.there([now])[0]:
            yield from serials(self._session, now, then)

    def revert_step(self, copy: Copy, live: Table) -> Step:
        """Its statements are written again when the lock is held; those that are shown are today's."""
        old = self.inspect(copy.name)
        if tied := [w for w in facts_of(live).tied if w not in facts_of(old).tied]:
            raise _tied(copy, tied)
        step = super().revert_step(copy, live)
        work = self._reversion(copy, TableName(live.name.schema, step.data["kept"]))
        work = replace(work, now=definition(live), then=definition(old))
        return replace(step, data=MappingProxyType({**step.data, REVERSION: work.dump()}))

    def revert_sql(self, copy: Copy, live: Table, old: Table, aside: TableName) -> Sequence[str]:
        del live, old
        return shown(self._session, self._reversion(copy, aside))

    def _reversion(self, copy: Copy, aside: TableName) -> Reversion:
        return Reversion(copy.name.schema, copy.table.name, copy.name.name, aside.name)


def _tied(copy: Copy, words: Sequence[str]) -> StateError:
    return StateError(
        "E445",
        f"{copy.name} cannot become {copy.table}: {'; '.join(words)}",
        hint="That would stay with the table that is put aside. Take it off, revert, make it again.",
    )
