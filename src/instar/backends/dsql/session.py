"""One connection to Aurora DSQL: no locks; a transaction that loses against another is tried again.

The service ends a connection after an hour: between two transactions it is opened anew before that. Its password
lives less, so that each opening asks for a new one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import psycopg

from instar.backends.postgres.errors import RowsInTheWay
from instar.backends.postgres.session import PINNED, Patience, Rows, Session, connect
from instar.errors import EngineError, EnvironmentProblem

_NEEDED = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "search_path": '""',
}
_STATUS = "SELECT status, details FROM sys.jobs WHERE job_id = %s"
_FAILED, _COMPLETED = ("failed", "cancelled"), "completed"
_PAUSES = (0.02, 0.1, 0.5, 2.0)
"""Seconds between two looks at a job; the last one stays."""


class DsqlSession(Session):
    """`conninfo` makes the text for the driver anew each time a connection is opened."""

    engine: ClassVar[str] = "Aurora DSQL"
    lifetime: ClassVar[float] = 50 * 60
    """Seconds after which no transaction is begun any more: the longest ones take minutes."""

    def __init__(self, conninfo: Callable[[], str], patience: Patience = Patience()) -> None:
        self._make = conninfo
        self._since = 0.0
        super().__init__("", patience)

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A copy of hours outlives many connections; one that the service ends would stop it."""
        if not self.inside and time.monotonic() - self._since > self.lifetime:
            self.close()
        return super()._connected()

    def _opened(self) -> psycopg.Connection[tuple[Any, ...]]:
        self._since = time.monotonic()
        connection = connect(self._make(), self.engine)
        for setting in PINNED:
            # The service takes fewer settings than PostgreSQL; those that count are looked at.
            with contextlib.suppress(psycopg.Error):
                connection.execute(setting)
        for name, wish in _NEEDED.items():
            found = connection.execute("SELECT current_setting(%s)", [name]).fetchall()[0][0]
            if found != wish:
                connection.close()
                raise _set_otherwise(name, str(found), wish)
        return connection

    @contextlib.contextmanager
    def patient_transaction(self) -> Iterator[None]:
        """There is no lock to wait for."""
        with self.transaction():
            yield

    def ask(self, sql: str, values: Sequence[object] | None = None) -> Rows:
        """A statement that is a transaction of its own has left nothing when it lost: it is repeated."""
        if self.inside:
            return super().ask(sql, values)
        return self.patiently(lambda: super(DsqlSession, self).ask(sql, values))

    def execute(self, sql: str, values: Sequence[object] | None = None) -> int:
        if self.inside:
            return super().execute(sql, values)
        return self.patiently(lambda: super(DsqlSession, self).execute(sql, values))

    def ddl(self, sql: str) -> None:
        """One statement that changes the catalog: a transaction of its own."""
        assert not self.inside, "one DDL a transaction"
        self.execute(sql)

    def outside(self, sql: str) -> None:
        """A statement that starts a job: it is done when the job is."""
        job = self.ask(sql)
        if job and job[0][0] is not None:
            self._wait(str(job[0][0]), sql)

    def _wait(self, job: str, sql: str) -> None:
        looks = 0
        while True:
            found = self.ask(_STATUS, [job])
            status, details = found[0] if found else (None, None)
            if status == _COMPLETED:
                return
            if status is None or status in _FAILED:
                raise _job_failed(sql, status, details)
            time.sleep(_PAUSES[min(looks, len(_PAUSES) - 1)])
            looks += 1


def _job_failed(sql: str, status: str | None, details: str | None) -> RowsInTheWay | EngineError:
    words = f"the job of a statement has {status or 'vanished'}: {details or 'no reason is given'}\n  in: {sql}"
    if status == "failed":
        return RowsInTheWay(
            "E227",
            words,
            hint="Rows that came after the plan may stand in the way. Run `instar plan` again.",
        )
    return EngineError("E254", words)


def _set_otherwise(name: str, found: str, wish: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        "E251",
        f"the session's {name} is {found!r}, and it did not take {wish!r}",
        hint=f"Set it for the role: ALTER ROLE … SET {name} = …",
    )
