"""Old tables that recreations keep on Aurora DSQL: put back by two renames, then names of indexes follow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from instar.backends.base import Outcome, RunContext
from instar.backends.dsql.catalog import READER
from instar.backends.dsql.naming import indexes_of, set_aside, take_back
from instar.backends.dsql.position import SWAP, SWAPPED, Position
from instar.backends.dsql.recreate import Recreation
from instar.backends.dsql.session import DsqlSession
from instar.backends.keeping import DROP_NEW, REVERT, Copy, Leftover, RenamingKeeper, TableKeeper
from instar.backends.postgres.definition import Altered
from instar.backends.postgres.facts import facts_of
from instar.backends.postgres.keeper import PostgresKeeper
from instar.backends.postgres.names import NEW, POS, beside
from instar.backends.postgres.revert import MARK, REVERSION, Reversion, check
from instar.backends.sql import qualified
from instar.core.plan import Rung, Step
from instar.core.schema import Table, TableName, Unique

if TYPE_CHECKING:
    from instar.backends.dsql.backend import DsqlBackend


_KNOWN = "names"


class DsqlKeeper(RenamingKeeper, PostgresKeeper):
    """Finds copies as PostgreSQL's keeper does; one DDL a transaction, recoverable between any two."""

    def __init__(self, backend: DsqlBackend) -> None:
        super().__init__(backend)
        self._dsql: DsqlSession = backend.session

    def drop_new_sql(self, left: Leftover) -> Sequence[str]:
        return [
            f"DROP TABLE IF EXISTS {qualified(beside(left.table, suffix))}" for suffix in (NEW, POS)
        ]

    def _serials(self, now: TableName, then: TableName) -> Iterator[tuple[str, str, bool]]:
        """A table that a sequence numbers is never recreated here."""
        del now, then
        return iter(())

    def mend_step(self, left: Leftover) -> Step:
        """A position alone: of a swap whose end nobody saw, or of a copy that was never made."""
        if not left.there or left.new is not None:
            return super().mend_step(left)
        live = self.inspect(left.table)
        state = Position(self._dsql, left.table).read()
        if state is None or state.phase not in (SWAP, *SWAPPED):
            words = f"no copy of {left.table} was begun: drop what was to tell its position"
            return _mending(left, words, tuple(self.drop_new_sql(left)), live)
        words = f"finish the swap of {left.table}: keys and indexes take their names"
        lasting = dict(state.recipe.keys)
        hidden = [k for k in facts_of(live).keys if not k.primary and k.name in lasting]
        uniques = tuple(Unique(lasting[k.name], k.columns) for k in hidden)
        after = replace(live, constraints=(*live.constraints, *uniques))
        return _mending(left, words, (), after)

    def source_of(self, new: TableName, olds: Sequence[TableName]) -> TableName | None:
        """The position beside the copy names the table that it was made from."""
        place = qualified(TableName(new.schema, new.name.removesuffix(NEW) + POS))
        if self._dsql.ask("SELECT to_regclass(%s) IS NOT NULL", [place])[0][0]:
            kept = {str(row[0]) for row in self._dsql.ask(f"SELECT kept FROM {place}")}
            return next((old for old in olds if old.name in kept), None)
        return super().source_of(new, olds)

    def revert_sql(self, copy: Copy, live: Table, old: Table, aside: TableName) -> Sequence[str]:
        return TableKeeper.revert_sql(self, copy, live, old, aside)

    def revert_step(self, copy: Copy, live: Table) -> Step:
        """Long names are cut when they are put aside: what they were must outlive that."""
        step = super().revert_step(copy, live)
        known = json.dumps(list(indexes_of(self._dsql, live.name)))
        return replace(step, data=MappingProxyType({**step.data, _KNOWN: known}))

    def look(self, step: Step, there: tuple[bool, ...]) -> None:
        work = Reversion.load(step.data[REVERSION])
        match there:
            case (True, True, False):
                check(self._dsql, work, reader=READER)
            case (False, True, True):
                try:
                    check(self._dsql, work, work.aside, READER)
                except Altered:
                    self._dsql.ddl(
                        self.rename_sql(TableName(work.schema, work.aside), work.live_name)
                    )
                    raise
            case _:
                pass

    def do(self, what: str, sql: str, context: RunContext) -> None:
        context.failpoint(f"{what} before")
        self._dsql.ddl(sql)
        context.failpoint(f"{what} after")

    def run(self, step: Step, context: RunContext) -> None:
        if step.kind == DROP_NEW and not step.sql:
            state = Position(self._dsql, step.after.name).read()
            if state is not None:
                Recreation(self._dsql, state.recipe, context).run()
            return
        super().run(step, context)
        if step.kind == REVERT:
            table = step.after.name
            set_aside(self._dsql, TableName(table.schema, step.data["kept"]), context.failpoint)
            known = json.loads(step.data[_KNOWN])
            take_back(self._dsql, table, known, context.failpoint)

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        found = super().outcome(step, before, memo)
        if step.kind == REVERT and found is Outcome.DONE:
            marked = any(MARK.search(name) for name in indexes_of(self._dsql, step.after.name))
            return Outcome.NOT_DONE if marked else Outcome.DONE
        return found


def _mending(left: Leftover, words: str, sql: tuple[str, ...], after: Table) -> Step:
    return Step(
        f"finish/{left.table.name}", DROP_NEW, Rung.METADATA, words, sql, after, repeatable=True
    )
