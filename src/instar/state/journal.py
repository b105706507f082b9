"""The journal: which step of which table was begun, done or failed, and the way back after a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from instar.core.matching import DoneRenames
from instar.core.plan import Step
from instar.core.schema import Table, TableName
from instar.core.serial import NotADocument, dumps, loads
from instar.errors import StateError
from instar.state.database import Database, put
from instar.state.memory import Memory
from instar.state.redact import redacted


class StepStatus(Enum):
    PENDING = "pending"
    APPLYING = "applying"
    APPLIED = "applied"
    FAILED = "failed"


class Entry(Enum):
    """What became of a table's run. OPEN: it must be resumed (or forgotten) before a new one."""

    OPEN = "open"
    FINISHED = "finished"
    FAILED = "failed"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class JournalStep:
    """`before`: the live table as it was seen right before the step was begun."""

    step: Step
    status: StepStatus
    before: Table | None
    error: str | None


class JournalRun:
    """One table's run. Every method that says something writes it durably before it returns."""

    def __init__(self, journal: Journal, row: tuple[Any, ...]) -> None:
        self._journal, self._database = journal, journal.database
        self._id: int = row[0]
        self.run: str = row[1]
        self.command: str = row[2]
        self.env: str = row[3]
        self.table = TableName(row[4], row[5])
        self.backend: str = row[6]
        self.origin: str = row[7]
        self.before: Table | None = journal.read_doc(row[8])
        self.fingerprint: str = row[9]
        self.renames: DoneRenames = journal.read_doc(row[10])
        self.started: float = row[12]

    @property
    def status(self) -> Entry:
        rows = self._database.read("SELECT status FROM entries WHERE id = ?", (self._id,))
        return Entry(rows[0][0])

    @property
    def steps(self) -> tuple[JournalStep, ...]:
        rows = self._database.read(
            "SELECT doc, status, before, error FROM steps WHERE entry = ? ORDER BY n", (self._id,)
        )
        read = self._journal.read_doc
        return tuple(JournalStep(read(d), StepStatus(s), read(b), e) for d, s, b, e in rows)

    def applying(self, step: Step, before: Table | None) -> None:
        """The step begins now, on the table as it is."""
        told = dumps(before) if before is not None else None
        self._mark(
            step, "status = 'applying', before = ?, error = NULL, ended = NULL, started = ?", told
        )

    def applied(self, step: Step) -> None:
        self._mark(step, "status = 'applied', error = NULL, ended = ?")

    def failed(self, step: Step, error: str) -> None:
        """The step failed; the run stays open until `close_failed`, `finished` or `abandon`."""
        self._mark(step, "status = 'failed', error = ?, ended = ?", redacted(error))

    def _mark(self, step: Step, what: str, *values: object) -> None:
        """The last `?` of what is set takes the time."""
        with self._database.write() as sql:
            found = sql.execute(
                f"UPDATE steps SET {what} WHERE entry = ? AND step = ?"
                " AND EXISTS (SELECT 1 FROM entries WHERE id = entry AND status = 'open')",
                (*values, self._journal.clock(), self._id, step.id),
            )
            if found.rowcount != 1:
                raise _not_open(self.table)

    def finished(self, live: Table | None = None) -> None:
        """All done: the version of the live table and its renames are kept in the same transaction."""
        with self._database.write():
            self._close(Entry.FINISHED)
            if live is not None:
                self._journal.memory.record_version(
                    self.env, self.table, live, origin=self.origin, run=self.run
                )
            self._journal.memory.remember_renames(self.env, self.table, self.renames)

    def close_failed(self) -> None:
        """Nothing of the run reached the table: there is nothing to resume."""
        self._close(Entry.FAILED)

    def abandon(self) -> None:
        self._close(Entry.ABANDONED)

    def _close(self, status: Entry) -> None:
        with self._database.write() as sql:
            found = sql.execute(
                "UPDATE entries SET status = ?, ended = ? WHERE id = ? AND status = 'open'",
                (status.value, self._journal.clock(), self._id),
            )
            if found.rowcount != 1:
                raise _not_open(self.table)
            sql.execute("DELETE FROM memo WHERE entry = ?", (self._id,))

    def memo(self, step: Step) -> MutableMapping[str, str]:
        """What the step remembers across a crash."""
        return _Memo(self._database, self._id, step.id)


class _Memo(MutableMapping[str, str]):
    def __init__(self, database: Database, entry: int, step: str) -> None:
        self._database, self._key = database, (entry, step)

    def _all(self) -> dict[str, str]:
        rows = self._database.read(
            "SELECT key, value FROM memo WHERE entry = ? AND step = ? ORDER BY key", self._key
        )
        return dict(rows)

    def __getitem__(self, key: str) -> str:
        return self._all()[key]

    def __setitem__(self, key: str, value: str) -> None:
        with self._database.write() as sql:
            put(sql, "memo", "entry step key", "value", [(*self._key, key, value)])

    def __delitem__(self, key: str) -> None:
        with self._database.write() as sql:
            found = sql.execute(
                "DELETE FROM memo WHERE entry = ? AND step = ? AND key = ?", (*self._key, key)
            )
            if not found.rowcount:
                raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


class Journal:
    """Every run of every table."""

    def __init__(self, database: Database, clock: Callable[[], float], memory: Memory) -> None:
        self.database, self.clock, self.memory = database, clock, memory

    def begin(
        self, env: str, table: TableName, steps: Sequence[Step], before: Table | None, said: Said
    ) -> JournalRun:
        with self.database.write() as sql:
            if self.unfinished(env, table):
                raise unfinished_run(table)
            # Only one transaction writes at a time, so that the next number is nobody else's.
            entry = int(sql.execute("SELECT coalesce(max(id), 0) + 1 FROM entries").fetchone()[0])
            sql.execute(
                "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'open', ?, NULL)",
                (
                    entry,
                    said.run,
                    redacted(said.command),
                    env,
                    table.schema,
                    table.name,
                    said.backend,
                    said.origin,
                    dumps(before) if before is not None else None,
                    said.fingerprint,
                    dumps(said.renames),
                    self.clock(),
                ),
            )
            sql.executemany(
                "INSERT INTO steps VALUES (?, ?, ?, ?, ?, NULL, 'pending', NULL, NULL, NULL)",
                [(entry, n, s.id, redacted(s.title), dumps(s)) for n, s in enumerate(steps)],
            )
        return next(r for r in self.unfinished(env, table) if r._id == entry)

    def unfinished(self, env: str, table: TableName | None = None) -> tuple[JournalRun, ...]:
        where, values = "env = ? AND status = 'open'", [env]
        if table is not None:
            where, values = f"{where} AND schema = ? AND name = ?", [env, table.schema, table.name]
        rows = self.database.read(f"SELECT * FROM entries WHERE {where} ORDER BY id", values)
        return tuple(JournalRun(self, row) for row in rows)

    def read_doc(self, text: str | None) -> Any:
        try:
            return None if text is None else loads(text)
        except NotADocument as error:
            raise self.database.damaged(str(error)) from error


@dataclass(frozen=True, slots=True)
class Said:
    """What a run is kept with, beside its steps."""

    fingerprint: str
    run: str
    command: str
    backend: str
    origin: str
    renames: DoneRenames


def unfinished_run(table: TableName) -> StateError:
    return StateError(
        "E309",
        f"[{table}] an earlier run did not end",
        hint="`instar apply` or `instar recover` finishes it first.",
    )


def _not_open(table: TableName) -> StateError:
    return StateError(
        "E310",
        f"[{table}] this run was finished or forgotten by somebody else",
        hint="Look with `instar history` and `instar plan`, then run the command again.",
    )
