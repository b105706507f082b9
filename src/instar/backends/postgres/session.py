"""One connection to PostgreSQL: pinned settings, short transactions, locks with a timeout and retries."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from instar.backends.postgres.errors import (
    LockNotGranted,
    too_old,
    translated,
    unreachable,
)

Rows = list[tuple[Any, ...]]
_T = TypeVar("_T")

MINIMUM = 160000
_CUT_OVER = 0.5
PINNED = (
    "SET TimeZone = 'UTC'",
    "SET DateStyle = 'ISO, YMD'",
    "SET IntervalStyle = 'postgres'",
    "SET bytea_output = 'hex'",
    "SET extra_float_digits = 1",
    "SET standard_conforming_strings = on",
    # Names in the texts that the catalog gives are then always written with their schema.
    "SET search_path = ''",
    "SET statement_timeout = 0",
    "SET idle_in_transaction_session_timeout = 0",
    "SET array_nulls = on",
    "SET quote_all_identifiers = off",
)
_OWN = (
    # A snapshot that is older than a lock would not see what was written before the lock was granted.
    "SET default_transaction_isolation = 'read committed'",
    "SET idle_session_timeout = 0",
    # PostgreSQL 17 brought it.
    "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'",
)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a lock is waited for, and how often it is tried; `batch` rows start a copy."""

    lock_timeout: float = 5.0
    attempts: int = 8
    batch: int = 2000
    batch_seconds: float = 0.5
    """Of work whose rows a writer would wait for."""
    reading_seconds: float = 2.0
    """Of work that nobody waits for: each batch has its price."""
    most_under_lock: int = 5000
    """Changes that a cut-over takes over while writers wait; more of them are taken over beside the writers."""
    under_lock: float = 1.0
    """Seconds that a statement of a cut-over may take; then it lets go of its lock, and nothing is done."""

    @property
    def lock_sql(self) -> str:
        return _lock_sql(self.lock_timeout)

    @property
    def cut_over_sql(self) -> str:
        """Whoever comes meanwhile queues behind the request: it is a short one."""
        return _lock_sql(min(self.lock_timeout, _CUT_OVER))

    def at_least_sql(self, seconds: float) -> str:
        """For a lock that no reader and no writer waits for."""
        return _lock_sql(max(self.lock_timeout, seconds))


def _lock_sql(seconds: float) -> str:
    return f"SET LOCAL lock_timeout = '{max(1, round(seconds * 1000))}ms'"


class Session:
    """Opens again when the connection was lost between two transactions; never inside one."""

    engine: ClassVar[str] = "PostgreSQL"

    def __init__(self, conninfo: str, patience: Patience = Patience()) -> None:
        self._conninfo = conninfo
        self.patience = patience
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._connected()

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            self._connection = self._opened()
        return self._connection

    def _opened(self) -> psycopg.Connection[tuple[Any, ...]]:
        connection = connect(self._conninfo, self.engine)
        connection.execute("; ".join((*PINNED, *_OWN)))
        return connection

    @property
    def inside(self) -> bool:
        found = self._connection
        return found is not None and found.info.transaction_status != pq.TransactionStatus.IDLE

    def ask(self, sql: str, values: Sequence[object] | None = None) -> Rows:
        """Rows of one statement; `%s` stands for a value only where values are given."""
        with self._cursor(sql, values) as cursor:
            return cursor.fetchall() if cursor.description is not None else []

    def execute(self, sql: str, values: Sequence[object] | None = None) -> int:
        """The number of rows that a statement touched."""
        with self._cursor(sql, values) as cursor:
            return max(cursor.rowcount, 0)

    def describe(self, sql: str) -> Sequence[psycopg.Column]:
        """What columns a query has."""
        with self._cursor(sql, None) as cursor:
            return cursor.description or ()

    @contextlib.contextmanager
    def _cursor(
        self, sql: str, values: Sequence[object] | None
    ) -> Iterator[psycopg.Cursor[tuple[Any, ...]]]:
        try:
            with self._connected().cursor() as cursor:
                cursor.execute(sql, values)
                yield cursor
        except psycopg.Error as error:
            raise translated(error, sql, self.engine) from error

    @contextlib.contextmanager
    def transaction(self, *, snapshot: bool = False) -> Iterator[None]:
        """All or nothing; `snapshot`: every statement sees the rows of one moment."""
        level = " ISOLATION LEVEL REPEATABLE READ" if snapshot else ""
        self.execute(f"BEGIN{level}")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            self.rollback()
            raise

    @contextlib.contextmanager
    def patient_transaction(self) -> Iterator[None]:
        """One that waits only so long for its locks."""
        with self.transaction():
            self.execute(self.patience.lock_sql)
            yield

    def outside(self, sql: str) -> None:
        """A statement outside a transaction: CONCURRENTLY waits for old ones; nobody queues behind it."""
        self.execute(sql)

    def rollback(self) -> None:
        connection = self._connection
        if connection is not None and not connection.closed:
            with contextlib.suppress(psycopg.Error):
                connection.rollback()

    def patiently(self, work: Callable[[], _T], attempts: int | None = None) -> _T:
        """The work, tried again while a lock is not granted; each try begins anew."""
        left = self.patience.attempts if attempts is None else attempts
        wait = 0.1
        while True:
            try:
                return work()
            except LockNotGranted:
                left -= 1
                if left <= 0:
                    raise
                time.sleep(wait * random.uniform(0.5, 1.5))
                wait = min(wait * 2, 5.0)

    def locked_transaction(self, statements: Sequence[str]) -> None:
        """Statements in one transaction that waits only so long for its locks."""

        def once() -> None:
            with self.patient_transaction():
                for statement in statements:
                    self.execute(statement)

        self.patiently(once)

    def cancel(self) -> None:
        if self._connection is not None and not self._connection.closed:
            with contextlib.suppress(psycopg.Error):
                self._connection.cancel_safe(timeout=2)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def connect(conninfo: str, engine: str) -> psycopg.Connection[tuple[Any, ...]]:
    try:
        connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise unreachable(error, engine) from None
    if connection.info.server_version < MINIMUM:
        connection.close()
        raise too_old(connection.info.server_version)
    return connection


def conninfo_of(url: str | None, options: dict[str, str], engine: str = Session.engine) -> str:
    """One text for the driver, from a URL and single settings (which win)."""
    try:
        base = {k: str(v) for k, v in conninfo_to_dict(url or "").items() if v is not None}
        given = {key: value for key, value in options.items() if value}
        defaults = {"application_name": "instar", "connect_timeout": "10"}
        return make_conninfo("", **{**defaults, **base, **given})
    except psycopg.Error as error:
        raise unreachable(error, engine) from None
