"""What Delta keeps of a table before its rewrite: a version of its own history, restored in one commit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from instar.backends.base import Outcome, RunContext
from instar.backends.keeping import (
    REVERT,
    Copy,
    Keeper,
    Since,
    comparable,
    shared_columns,
    since,
)
from instar.backends.spark.base import entries
from instar.backends.spark.delta_inspect import table_from_log
from instar.backends.spark.delta_log import read_logs
from instar.backends.sql import quote_backtick
from instar.core.plan import Cost, Rung, Step
from instar.core.schema import Table, TableName
from instar.core.types import Column
from instar.errors import StateError

if TYPE_CHECKING:
    from instar.backends.spark.delta import DeltaBackend

_MARK = re.compile(r"instar (?P<step>\d+)-(?P<kind>\w+) \w+ \d+$")
_LOOK_BACK = 1000
_STAYS = "it is a version of the table's own history; Delta's VACUUM takes its files"


@dataclass(frozen=True, slots=True)
class _Commit:
    version: int
    when: float
    step: int
    kind: str


class DeltaKeeper(Keeper):
    """A commit's mark tells what made it, so the state store is not needed."""

    def __init__(self, backend: DeltaBackend) -> None:
        self._backend = backend

    def copies(self, schema: str, tables: Sequence[TableName]) -> Sequence[Copy]:
        there = self._backend.inspect([t for t in tables if t.schema == schema])
        return [c for name, t in there.items() if isinstance(t, Table) for c in self._of(name)]

    def _of(self, name: TableName) -> list[Copy]:
        """One for each rewrite (before its first step) and each revert, oldest first."""
        commits = self._commits(name)
        return [
            Copy(
                name,
                TableName(name.schema, f"{name.name}@v{c.version - 1}"),
                version=_first(c, commits) - 1,
                made=c.version,
                when=c.when,
                stays=_STAYS,
            )
            for c in commits.values()
            if c.kind in ("rewrite", REVERT)
        ]

    def _commits(self, name: TableName) -> dict[int, _Commit]:
        rows = self._backend.handle.run(
            f"DESCRIBE HISTORY {self._backend.place(name)} LIMIT {_LOOK_BACK}"
        )
        found = ((r, _MARK.match(r["userMetadata"] or "")) for r in reversed(rows))
        return {
            int(r["version"]): _Commit(
                int(r["version"]), r["timestamp"].timestamp(), int(mark["step"]), mark["kind"]
            )
            for r, mark in found
            if mark
        }

    def counted(self, copy: Copy) -> Cost:
        return Cost(rows=int(self._ask(f"SELECT count(*) AS n FROM {self._then(copy)}")[0][0]))

    def rows(self, name: TableName) -> int:
        return int(self._ask(f"SELECT count(*) AS n FROM {self._backend.place(name)}")[0][0])

    def since(self, copy: Copy, live: Table) -> Since:
        """Against the rows right after the rewrite: what was written since then, exactly."""
        after = self._table_at(copy, copy.made)
        shared = shared_columns(live, after, _compared)
        place = self._backend.place(copy.table)
        return since(self._ask, place, f"{place} VERSION AS OF {copy.made}", live, shared)

    def revert_step(self, copy: Copy, live: Table) -> Step:
        del live
        name, place = copy.table, self._backend.place(copy.table)
        now = self._newest(name)
        return Step(
            "1-revert",
            REVERT,
            Rung.METADATA,
            f"restore {name} to version {copy.version}; what is there now stays as version {now}",
            (f"RESTORE TABLE {place} TO VERSION AS OF {copy.version}",),
            self._table_at(copy, copy.version),
            data=MappingProxyType({"kept": f"{name.name}@v{now}", "forgets": copy.name.name}),
        )

    def run(self, step: Step, context: RunContext) -> None:
        self._backend.run(step, context)

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        return self._backend.outcome(step, before, memo)

    def _newest(self, name: TableName) -> int:
        rows = self._backend.handle.run(f"DESCRIBE HISTORY {self._backend.place(name)} LIMIT 1")
        return int(rows[0]["version"])

    def _then(self, copy: Copy) -> str:
        return f"{self._backend.place(copy.table)} VERSION AS OF {copy.version}"

    def _table_at(self, copy: Copy, version: int | None) -> Table:
        backend = self._backend
        entry = entries(backend.handle, backend.catalog, [copy.table])[copy.table]
        log = read_logs(backend.handle, [entry.location], up_to=version)[entry.location]
        if not log.whole:
            raise _gone(copy)
        return table_from_log(copy.table, entry, log)

    def _ask(self, sql: str) -> Sequence[Any]:
        return self._backend.handle.run(sql)


def _first(commit: _Commit, commits: Mapping[int, _Commit]) -> int:
    """The run's first commit: back over its own steps, as long as nobody else has written between."""
    first = commit
    while (before := commits.get(first.version - 1)) is not None and before.step <= first.step:
        if before.step == first.step and before.kind != first.kind:
            break
        if before.kind in ("rewrite", REVERT):
            break
        first = before
    return first.version


def _gone(copy: Copy) -> StateError:
    return StateError(
        "E440",
        f"{copy.table} cannot be put back: its log no longer reaches version {copy.version}",
        hint="Delta has cleaned its log up. What is left can be read with VERSION AS OF.",
    )


def _compared(column: Column) -> str | None:
    return quote_backtick(column.name) if comparable(column.type) else None
