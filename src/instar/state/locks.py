"""A lock per table with a lease: kept alive while its holder lives, taken over when it does not."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType

from instar.core.schema import TableName
from instar.errors import StateError
from instar.state.database import Database, put
from instar.state.process import Process, is_dead, this_process

LEASE_SECONDS = 60.0

_held_here: set[str] = set()
"""The tokens that this process holds: any other one under its name could not be released."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock."""

    owner: str
    process: Process
    since: float
    expires: float
    token: str

    def is_gone(self, now: float) -> bool:
        if self.expires <= now or is_dead(self.process):
            return True
        return self.process == this_process() and self.token not in _held_here


class Lock:
    """`with store.lock(env, table, owner) as lock:`; `lock.check()` says when it was lost meanwhile."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float],
        env: str,
        table: TableName,
        owner: str,
        lease: float = LEASE_SECONDS,
    ) -> None:
        self._database, self._clock = database, clock
        self._env, self.table, self._owner, self._lease = env, table, owner, lease
        self._key = (env, table.schema, table.name)
        self._token = uuid.uuid4().hex
        self._end = threading.Event()
        self._heart: threading.Thread | None = None

    def __enter__(self) -> Lock:
        _held_here.add(self._token)
        try:
            self._take()
        except BaseException:
            _held_here.discard(self._token)
            raise
        self._heart = threading.Thread(target=self._beat, name="instar-lease", daemon=True)
        self._heart.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        _held_here.discard(self._token)
        if self._heart is not None:
            self._heart.join(timeout=5)
        # A store that cannot be written now must not hide what went wrong inside; the lease runs out.
        with contextlib.suppress(StateError) if error else contextlib.nullcontext():
            self._release()

    def check(self) -> None:
        """Renew the lease; an error when somebody else has taken the lock over."""
        if not self._renew(self._database):
            raise StateError(
                "E308",
                f"[{self.table}] the lock was lost: its lease ran out and another process took it",
                hint="Was this machine asleep? Look with `instar plan`, then run the command again.",
            )

    def _take(self) -> None:
        me = this_process()
        with self._database.write() as sql:
            now = self._clock()
            held = holder(self._database, self._env, self.table)
            if held is not None and not held.is_gone(now):
                raise _taken(self.table, held, now)
            who = (self._token, self._owner, me.host, me.node, me.pid, me.born)
            put(
                sql,
                "locks",
                "env schema name",
                "token owner host node pid born since expires",
                [(*self._key, *who, now, now + self._lease)],
            )

    def _release(self) -> None:
        with self._database.write() as sql:
            sql.execute(
                "DELETE FROM locks WHERE env = ? AND schema = ? AND name = ? AND token = ?",
                (*self._key, self._token),
            )

    def _renew(self, database: Database) -> bool:
        with database.write() as sql:
            found = sql.execute(
                "UPDATE locks SET expires = ?"
                " WHERE env = ? AND schema = ? AND name = ? AND token = ?",
                (self._clock() + self._lease, *self._key, self._token),
            )
            return found.rowcount == 1

    def _beat(self) -> None:
        """Its own connection: the holder's may be busy in a transaction. A missed beat is tried again."""
        while not self._end.wait(self._lease / 4):
            with contextlib.suppress(StateError):
                database = self._database.another()
                try:
                    if not self._renew(database):
                        return
                finally:
                    database.close()


def holder(database: Database, env: str, table: TableName) -> Holder | None:
    rows = database.read(
        "SELECT owner, host, node, pid, born, since, expires, token FROM locks"
        " WHERE env = ? AND schema = ? AND name = ?",
        (env, table.schema, table.name),
    )
    if not rows:
        return None
    owner, host, node, pid, born, since, expires, token = rows[0]
    return Holder(owner, Process(host, node, pid, born), since, expires, token)


def _taken(table: TableName, held: Holder, now: float) -> StateError:
    since = datetime.fromtimestamp(held.since).isoformat(sep=" ", timespec="seconds")
    left = max(1, round(held.expires - now))
    return StateError(
        "E303",
        f"[{table}] is locked by '{held.owner}' (process {held.process.pid} on {held.process.host},"
        f" since {since})",
        hint="Wait until it ends. If it no longer runs, its lock is taken over"
        f" once the lease runs out (in {left} s).",
    )
