"""The state store of a project: one door to locks, journal, versions, renames and kept copies."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from instar.core.matching import DoneRenames
from instar.core.plan import Step
from instar.core.schema import Table, TableName
from instar.core.serial import fingerprint as fingerprint_of
from instar.errors import EnvironmentProblem, UsageError
from instar.state.database import Database
from instar.state.journal import Journal, JournalRun, Said
from instar.state.locks import LEASE_SECONDS, Holder, Lock, holder
from instar.state.memory import Event, Kept, Memory, Version
from instar.state.models import ModelLog
from instar.state.sqlite import IN_MEMORY, SqliteDatabase

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")


class Store:
    """Everything Instar remembers; several processes may have it open at once."""

    def __init__(self, database: Database, clock: Callable[[], float] | None = None) -> None:
        """`clock`: another one than the database's own."""
        self._database, self._clock = database, clock or database.clock
        self._memory = Memory(database, self._clock)
        self._journal = Journal(database, self._clock, self._memory)
        self.models = ModelLog(database, self._clock)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    def lock(self, env: str, table: TableName, owner: str, *, lease: float = LEASE_SECONDS) -> Lock:
        """`with store.lock(…)`: the table is ours; E303 says who has it when it is not."""
        return Lock(self._database, self._clock, env, table, owner, lease)

    def holder(self, env: str, table: TableName) -> Holder | None:
        return holder(self._database, env, table)

    def begin(
        self,
        env: str,
        table: TableName,
        steps: Sequence[Step],
        before: Table | None,
        fingerprint: str | None = None,
        *,
        run: str = "",
        command: str = "",
        backend: str = "",
        origin: str = "",
        renames: DoneRenames = frozenset(),
    ) -> JournalRun:
        """Write down what is about to happen to a table; `run` groups the tables of one command."""
        mark = fingerprint or (fingerprint_of(before) if before is not None else "")
        said = Said(mark, run or new_run(), command, backend, origin, renames)
        return self._journal.begin(env, table, steps, before, said)

    def unfinished(self, env: str, table: TableName | None = None) -> tuple[JournalRun, ...]:
        """The runs that did not end, oldest first."""
        return self._journal.unfinished(env, table)

    def abandon(self, run: JournalRun) -> None:
        """Forget an unfinished run: the table stays as it is, and the next plan starts from there."""
        with self.lock(run.env, run.table, "instar recover --forget"):
            run.abandon()

    def versions(self, env: str, table: TableName) -> tuple[Version, ...]:
        """Every schema that was applied, oldest first."""
        return self._memory.versions(env, table)

    def record_version(
        self, env: str, table: TableName, live: Table, *, origin: str = "", run: str = ""
    ) -> int:
        return self._memory.record_version(env, table, live, origin=origin, run=run)

    def done_renames(self, env: str, table: TableName) -> DoneRenames:
        return self._memory.done_renames(env, table)

    def all_done_renames(self, env: str) -> Mapping[TableName, DoneRenames]:
        return self._memory.all_done_renames(env)

    def renames_before(self, env: str, table: TableName, run: str) -> DoneRenames:
        return self._memory.renames_before(env, table, run)

    def renames_until(
        self, env: str, table: TableName, run: str | None = None
    ) -> tuple[tuple[int, DoneRenames], ...]:
        return self._memory.renames_until(env, table, run)

    def remember_renames(self, env: str, table: TableName, renames: DoneRenames) -> None:
        self._memory.remember_renames(env, table, renames)

    def kept(self, env: str) -> tuple[Kept, ...]:
        """Old copies that rewrites left behind, oldest first."""
        return self._memory.kept(env)

    def keep(self, env: str, table: TableName, kept_name: TableName, run: str) -> None:
        self._memory.keep(env, table, kept_name, run)

    def forget(self, env: str, kept_name: TableName) -> None:
        self._memory.forget(env, kept_name)

    def history(self, env: str, table: TableName | None = None) -> tuple[Event, ...]:
        return self._memory.history(env, table)


def new_run() -> str:
    """The name of one command's run."""
    return uuid.uuid4().hex[:12]


def open_store(
    url: str, root: Path, clock: Callable[[], float] | None = None, *, reading: bool = False
) -> Store:
    """The store at `sqlite:///path` (a relative path starts at the project's root) or `postgresql://…`.

    `reading`: a store that is not there yet is an empty one in memory.
    """
    if url.startswith(_POSTGRES):
        return Store(_on_postgres(url, reading), clock)
    path = url.removeprefix(_SQLITE)
    if not url.startswith(_SQLITE) or not path:
        scheme = url.partition("://")[0] if "://" in url else "no scheme"
        raise UsageError(
            "E311",
            f"`state` in instar.yml is no address of a state store ({scheme})",
            hint="Write `sqlite:///` and a path, such as `sqlite:///.instar/state.db`, or"
            " `postgresql://…`.",
        )
    file = root / path
    return Store(SqliteDatabase(file if not reading or file.exists() else IN_MEMORY), clock)


def _on_postgres(url: str, reading: bool) -> Database:
    """The driver is imported only now."""
    try:
        from instar.state.postgres import PostgresDatabase
    except ImportError as error:
        if (error.name or "").startswith("instar"):
            raise
        raise EnvironmentProblem(
            "E230",
            "the driver for a state store on PostgreSQL is not installed",
            hint="pip install 'instar[postgres]'",
        ) from None
    database = PostgresDatabase(url)
    try:
        if not reading:
            database.make()
        elif not database.exists():
            database.close()
            return SqliteDatabase(IN_MEMORY)
    except BaseException:
        database.close()
        raise
    return database
