"""The memory engine: tables of Python rows, changed atomically step by step."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from instar.backends.base import Backend, NotATable, Outcome, RunContext
from instar.backends.memory.convert import Lossy
from instar.backends.memory.expressions import Failed
from instar.backends.memory.proving import broken_projected, broken_rows, witness
from instar.backends.memory.rows import (
    Row,
    expression_value,
    from_text,
    project_row,
    with_identities,
)
from instar.backends.memory.rules import MemoryRules
from instar.backends.memory.store import Store, Stored
from instar.core.checks import (
    MAX_WITNESSES,
    NotNullProof,
    Proof,
    ProofResult,
    RowProof,
    UniqueProof,
)
from instar.core.plan import Cost, Job, Step
from instar.core.schema import Check, Table, TableName, Unique
from instar.core.serial import loads
from instar.core.types import Column, children, walk, with_children
from instar.errors import EngineError

HIDDEN = "__instar_"


class MemoryBackend(Backend):
    """`file`: where everything is kept after each change; without one it ends with the process."""

    def __init__(self, file: Path | None = None) -> None:
        self.rules = MemoryRules()
        self._store = Store(file)

    # --- what is there ---

    def inspect(self, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
        found: dict[TableName, Table | NotATable] = {}
        for name in names:
            if stored := self._store.get(name):
                found[name] = replace(stored.table, name=name)
            elif self._store.is_view(name):
                found[name] = NotATable(name, "view")
        return found

    def list_tables(self, schema: str) -> Sequence[TableName]:
        fold = self.rules.fold
        return sorted(
            n
            for n in self._store.names()
            if fold(n.schema) == fold(schema) and not n.name.startswith(HIDDEN)
        )

    def measure(self, names: Sequence[TableName]) -> Mapping[TableName, Cost]:
        return {n: Cost(rows=len(s.rows)) for n in names if (s := self._store.get(n))}

    def rows(self, name: TableName) -> list[dict[str, Any]]:
        return [dict(row) for row in self._stored(name).rows]

    def insert(self, name: TableName, rows: Sequence[Row]) -> None:
        """Append rows; a column that is not given takes its default."""
        stored = self._stored(name)
        new = [_complete(stored.table, row) for row in rows]
        self._commit(replace(stored, rows=[*stored.rows, *new], writes=stored.writes + 1))

    def create_view(self, name: TableName) -> None:
        self._store.put_view(name)

    def prove(self, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        assert job.live is not None, "a table that is not there has no rows to prove"
        rows = self._stored(job.live.name).rows
        results = []
        for proof in proofs:
            broken = broken_rows(proof, job, rows)
            shown = tuple(witness(job.live, proof, rows[i]) for i in broken[:MAX_WITNESSES])
            results.append(ProofResult(proof, len(broken), shown))
        return results

    # --- what changes ---

    def run(self, step: Step, context: RunContext) -> None:
        name = step.after.name
        if (before := self._store.get(name)) is not None:
            context.memo["version"] = str(before.version)
        context.failpoint(f"{step.kind}:begun")
        match step.kind:
            case "create":
                self._create(step.after)
            case "alter" | "convert":
                self._commit(self._projected(step, step.after, self._stored(name)))
            case "copy":
                self._copy(step, context)
            case "swap":
                self._swap(step)
            case "drop_old":
                self._store.put(without=self._old_copies(name))
            case _:
                raise EngineError("E261", f"the memory engine has no step '{step.kind}'")

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        stored = self._store.get(step.after.name)
        match step.kind:
            case "copy":
                return _answer(memo.get("copied") == "yes")
            case "drop_old":
                return _answer(not self._old_copies(step.after.name))
            case _ if before is None or stored is None:
                return super().outcome(step, before, memo)
            case _:
                return _answer("version" in memo and stored.version > int(memo["version"]))

    def close(self) -> None:
        """Nothing is held open: the file is written after each change."""

    def _create(self, table: Table) -> None:
        if self._store.get(table.name) or self._store.is_view(table.name):
            raise EngineError("E261", f"{table.name} already exists")
        columns = self._numbered(table.columns)
        tracked = bool(table.change_tracking)
        self._commit(Stored(replace(table, columns=columns, change_tracking=tracked), []))

    def _projected(self, step: Step, target: Table, old: Stored) -> Stored:
        live = old.table
        projection = from_text(step.data["projection"], live.columns, target.columns)
        try:
            rows = [project_row(projection, row) for row in old.rows]
        except (Lossy, Failed) as error:
            raise EngineError("E261", f"{target.name}: {step.title}: {error}") from error
        columns = self._numbered(with_identities(live.columns, target.columns, projection))
        return replace(
            old, table=replace(target, columns=columns), rows=rows, version=old.version + 1
        )

    def _copy(self, step: Step, context: RunContext) -> None:
        source = self._stored(step.after.name)
        copy = self._projected(step, loads(step.data["target"]), source)
        context.progress("copy", len(copy.rows), len(source.rows))
        aside = replace(copy.table, name=_aside(step.after.name, "new"))
        self._commit(replace(copy, table=aside))
        context.failpoint("copied")
        context.memo["copied"] = "yes"

    def _swap(self, step: Step) -> None:
        name = step.after.name
        source, copy = self._stored(name), self._stored(_aside(name, "new"))
        if copy.writes != source.writes:
            # Rows came in after the copy was made: make it again rather than lose them.
            copy = self._projected(step, step.after, source)
        old = replace(source.table, name=_aside(name, f"old{len(self._old_copies(name)) + 1}"))
        new = replace(copy, table=replace(copy.table, name=source.table.name))
        _hold(new)
        self._store.put(replace(source, table=old), new, without=[_aside(name, "new")])

    def _old_copies(self, name: TableName) -> list[TableName]:
        mine = re.compile(rf"{HIDDEN}old\d+_{re.escape(name.name)}", re.IGNORECASE)
        here = [n for n in self._store.names() if n.schema.casefold() == name.schema.casefold()]
        return [n for n in here if mine.fullmatch(n.name)]

    def _numbered(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """Every column at every depth has an identity; new ones get the next."""
        return tuple(
            replace(
                c,
                type=with_children(c.type, self._numbered(children(c.type))),
                identity=c.identity or self._store.next_id(),
            )
            for c in columns
        )

    def _stored(self, name: TableName) -> Stored:
        if (stored := self._store.get(name)) is None:
            raise EngineError("E261", f"there is no table {name}")
        return stored

    def _commit(self, stored: Stored) -> None:
        _hold(stored)
        self._store.put(stored)


def _answer(done: bool) -> Outcome:
    return Outcome.DONE if done else Outcome.NOT_DONE


def _aside(name: TableName, role: str) -> TableName:
    return TableName(name.schema, f"{HIDDEN}{role}_{name.name}")


def _hold(stored: Stored) -> None:
    """What the schema says must hold for the rows; else nothing is committed."""
    table = stored.table
    promises: list[NotNullProof | RowProof | UniqueProof] = [
        NotNullProof(path) for path, column in walk(table.columns) if not column.nullable
    ]
    if table.primary_key:
        promises += [NotNullProof((_spelling(table, key),)) for key in table.primary_key]
        promises.append(UniqueProof("primary key", table.primary_key, primary=True))
    for constraint in table.constraints:
        match constraint:
            case Check(name, expression):
                promises.append(RowProof(name, expression))
            case Unique(name, columns):
                promises.append(UniqueProof(name, columns))
    for promise in promises:
        if broken := broken_projected(promise, table, stored.rows):
            raise EngineError("E261", f"{table.name}: {len(broken)} rows break {promise}")


def _spelling(table: Table, name: str) -> str:
    return next(c.name for c in table.columns if c.name.casefold() == name.casefold())


def _complete(table: Table, row: Row) -> dict[str, Any]:
    unknown = set(row) - {c.name for c in table.columns}
    if unknown:
        raise EngineError("E261", f"{table.name} has no column {', '.join(sorted(unknown))}")
    return {
        c.name: row[c.name]
        if c.name in row
        else None
        if c.default is None
        else expression_value(c.default, c.type, row)
        for c in table.columns
    }
