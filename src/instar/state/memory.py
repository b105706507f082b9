"""What stays when a run is over: schema versions, swaps that were done, old copies, history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from instar.core.matching import DoneRenames
from instar.core.schema import Table, TableName
from instar.core.serial import NotADocument, dumps, fingerprint, loads
from instar.state.database import Database, put


@dataclass(frozen=True, slots=True)
class Version:
    """The `n`th schema of a table that was applied (from 1); `origin` is the file that asked for it."""

    n: int
    when: float
    table: Table
    origin: str
    run: str


@dataclass(frozen=True, slots=True)
class Kept:
    """An old copy that a rewrite or a revert left behind until somebody confirms its DROP."""

    table: TableName
    kept_name: TableName
    run: str
    when: float
    command: str = ""
    """What put it aside, where the journal knows."""

    @property
    def in_history(self) -> bool:
        """A version of the table's own history (`t@v3`), which no cleanup can drop alone."""
        return self.kept_name.name.startswith(f"{self.table.name}@v")


@dataclass(frozen=True, slots=True)
class Event:
    """One line of history. `outcome`: finished, failed, abandoned, or open (unfinished).

    Of a model: what became of it (`status`) and why, and how many `rows` a build has written, where the
    engine says.
    """

    when: float
    table: TableName
    what: str
    steps: int
    applied: int
    seconds: float | None
    outcome: str
    error: str | None
    command: str
    run: str
    rows: int | None = None
    status: str | None = None
    reason: str | None = None


class Memory:
    """Facts per environment and table."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def versions(self, env: str, table: TableName) -> tuple[Version, ...]:
        rows = self._database.read(
            "SELECT n, at, doc, origin, run FROM versions"
            " WHERE env = ? AND schema = ? AND name = ? ORDER BY n",
            (env, table.schema, table.name),
        )
        return tuple(
            Version(n, at, self._doc(doc), origin, run) for n, at, doc, origin, run in rows
        )

    def record_version(
        self, env: str, table: TableName, live: Table, *, origin: str = "", run: str = ""
    ) -> int:
        """The number of this schema; a schema that equals the last one is not kept twice."""
        key, mark = (env, table.schema, table.name), fingerprint(live)
        with self._database.write() as sql:
            last = sql.execute(
                "SELECT n, fingerprint FROM versions"
                " WHERE env = ? AND schema = ? AND name = ? ORDER BY n DESC LIMIT 1",
                key,
            ).fetchone()
            if last is not None and last[1] == mark:
                return int(last[0])
            n = last[0] + 1 if last is not None else 1
            sql.execute(
                "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, n, self._clock(), dumps(live), mark, origin, run),
            )
            return int(n)

    def done_renames(self, env: str, table: TableName) -> DoneRenames:
        rows = self._database.read(
            "SELECT doc FROM renames WHERE env = ? AND schema = ? AND name = ?",
            (env, *_parts(table)),
        )
        found: DoneRenames = self._doc(rows[0][0]) if rows else frozenset()
        return found

    def all_done_renames(self, env: str) -> Mapping[TableName, DoneRenames]:
        rows = self._database.read("SELECT schema, name, doc FROM renames WHERE env = ?", (env,))
        return {TableName(schema, name): self._doc(doc) for schema, name, doc in rows}

    def remember_renames(self, env: str, table: TableName, renames: DoneRenames) -> None:
        """Replaces what was remembered: a hint taken out of the file is forgotten, and may come again."""
        key = (env, table.schema, table.name)
        with self._database.write() as sql:
            sql.execute("DELETE FROM renames WHERE env = ? AND schema = ? AND name = ?", key)
            if renames:
                sql.execute("INSERT INTO renames VALUES (?, ?, ?, ?)", (*key, dumps(renames)))

    def renames_before(self, env: str, table: TableName, run: str) -> DoneRenames:
        """What the last finished run before another one had left as done."""
        rows = self._database.read(
            "SELECT renames FROM entries WHERE env = ? AND schema = ? AND name = ? AND"
            " status = 'finished' AND id < (SELECT min(id) FROM entries WHERE env = ? AND schema = ?"
            " AND name = ? AND run = ?) ORDER BY id DESC LIMIT 1",
            (env, *_parts(table), env, *_parts(table), run),
        )
        found: DoneRenames = self._doc(rows[0][0]) if rows else frozenset()
        return found

    def renames_until(
        self, env: str, table: TableName, run: str | None = None
    ) -> tuple[tuple[int, DoneRenames], ...]:
        """What each finished run had as done, newest first, from that run back; by the entry's number."""
        where, values = "env = ? AND schema = ? AND name = ?", [env, *_parts(table)]
        upto = ""
        if run is not None:
            upto = f" AND id <= (SELECT max(id) FROM entries WHERE {where} AND run = ?)"
            values = [*values, *values, run]
        rows = self._database.read(
            f"SELECT id, renames FROM entries WHERE {where} AND status = 'finished'{upto}"
            " ORDER BY id DESC",
            values,
        )
        return tuple((int(n), self._doc(doc)) for n, doc in rows)

    def kept(self, env: str) -> tuple[Kept, ...]:
        rows = self._database.read(
            "SELECT k.schema, k.name, k.kept_schema, k.kept_name, k.run, k.at, (SELECT min(e.command)"
            " FROM entries e WHERE e.env = k.env AND e.schema = k.schema AND e.name = k.name"
            " AND e.run = k.run) FROM kept k WHERE k.env = ? ORDER BY k.at, k.kept_schema, k.kept_name",
            (env,),
        )
        return tuple(
            Kept(TableName(s, n), TableName(ks, kn), run, at, command or "")
            for s, n, ks, kn, run, at, command in rows
        )

    def keep(self, env: str, table: TableName, kept_name: TableName, run: str) -> None:
        with self._database.write() as sql:
            row = (env, kept_name.schema, kept_name.name, *_parts(table), run, self._clock())
            put(sql, "kept", "env kept_schema kept_name", "schema name run at", [row])

    def forget(self, env: str, kept_name: TableName) -> None:
        with self._database.write() as sql:
            sql.execute(
                "DELETE FROM kept WHERE env = ? AND kept_schema = ? AND kept_name = ?",
                (env, kept_name.schema, kept_name.name),
            )

    def history(self, env: str, table: TableName | None = None) -> tuple[Event, ...]:
        """Newest first."""
        where, values = "e.env = ?", [env]
        if table is not None:
            where, values = f"{where} AND e.schema = ? AND e.name = ?", [env, *_parts(table)]
        rows = self._database.read(
            "SELECT e.id, e.started, e.schema, e.name, e.ended - e.started, e.status, e.command, e.run,"
            " s.title, s.status, s.error"
            f" FROM entries e LEFT JOIN steps s ON s.entry = e.id WHERE {where}"
            " ORDER BY e.started DESC, e.id DESC, s.n",
            values,
        )
        return tuple(_event(list(steps)) for _, steps in groupby(rows, key=lambda row: row[0]))

    def _doc(self, text: str) -> Any:
        try:
            return loads(text)
        except NotADocument as error:
            raise self._database.damaged(str(error)) from error


def _parts(table: TableName) -> tuple[str, str]:
    return table.schema, table.name


def _event(rows: Sequence[tuple[Any, ...]]) -> Event:
    """One entry, a row for each of its steps."""
    _, when, schema, name, seconds, outcome, command, run, *_ = rows[0]
    steps = [(title, status, error) for *_, title, status, error in rows if title is not None]
    errors = [error for *_, error in steps if error is not None]
    return Event(
        when,
        TableName(schema, name),
        what="; ".join(title for title, *_ in steps),
        steps=len(steps),
        applied=sum(status == "applied" for _, status, _ in steps),
        seconds=seconds,
        outcome=outcome,
        error=max(errors, default=None),
        command=command,
        run=run,
    )
