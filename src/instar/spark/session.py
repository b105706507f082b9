"""A session that speaks SQL and fails in Instar's words, however it was opened."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING

from instar.errors import InstarError
from instar.spark import classic, connect
from instar.spark.conf import (
    DELTA_CATALOG,
    ICEBERG_CATALOG,
    KEEPS_NOT_NULL,
    PINNED,
    USER_METADATA,
)
from instar.spark.failures import silence, translated
from instar.spark.server import Lease, lease_server
from instar.spark.settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_ATTEMPTS = 3


class SparkHandle:
    """One open session; close it, or use it as a context manager."""

    def __init__(
        self, session: SparkSession, *, at_close: Callable[[], None], shared: bool = False
    ) -> None:
        self.session = session
        self.delta_catalog = DELTA_CATALOG
        self.iceberg_catalog = ICEBERG_CATALOG
        self._at_close: Callable[[], None] | None = at_close
        # In a session that is also the user's, only what we run may be cancelled.
        self._tag = f"instar-{uuid.uuid4().hex}" if shared else None

    @cached_property
    def keeps_not_null(self) -> bool:
        """Whether CREATE … AS on Iceberg keeps the NOT NULL of its query: so in every session of ours, in one
        that was handed in where its owner has said so."""
        with self.errors():
            return str(self.session.conf.get(KEEPS_NOT_NULL, None)) == "false"

    def sql(self, text: str) -> DataFrame:
        """Run a command, or prepare a query."""
        with self.errors():
            return self.session.sql(text)

    def run(self, text: str) -> list[Row]:
        """Run a statement and fetch its rows."""
        with self.errors():
            rows: list[Row] = self.session.sql(text).collect()
            return rows

    def schema(self, place: str) -> str:
        """The columns of a table or view, as Spark's JSON.

        A session that was handed in may have read a Parquet table before another session changed it: it
        remembers the columns and the files of that day until it is told to look again.
        """
        if self._tag is not None:
            # Files named by their path are no table of a catalog; what is missing says so below.
            with contextlib.suppress(InstarError):
                self.run(f"REFRESH TABLE {place}")
        with self.errors():
            return str(self.session.table(place).schema.json())

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Put this around DataFrame work done outside `sql` and `run`."""
        with translated(), self._tagged():
            yield

    def interrupt(self) -> None:
        """Cancel what runs; from another thread, or after Ctrl-C in this one."""
        with contextlib.suppress(Exception):
            if self._tag is not None:
                self.session.interruptTag(self._tag)
            elif is_connect(self.session):
                self.session.interruptAll()
            else:
                self.session.sparkContext.cancelAllJobs()

    def close(self) -> None:
        """Let go of the session; quick, and harmless the second time."""
        at_close, self._at_close = self._at_close, None
        if at_close is not None:
            at_close()

    def __enter__(self) -> SparkHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _tagged(self) -> Iterator[None]:
        if self._tag is None:
            yield
            return
        self.session.addTag(self._tag)
        try:
            yield
        finally:
            with contextlib.suppress(Exception):
                self.session.removeTag(self._tag)


def open_session(settings: SparkSettings, note: Callable[[str], None]) -> SparkHandle:
    """Open the session that the settings describe; `note` hears what takes long."""
    if settings.connect_url is not None:
        conf = (*PINNED.items(), (KEEPS_NOT_NULL, "false"), *settings.conf)
        remote = connect.open_remote(settings.connect_url, conf)
        return SparkHandle(remote, at_close=partial(connect.close, remote))
    if settings.master is not None:
        own = classic.open_classic(settings, settings.master, note)
        return SparkHandle(own, at_close=own.stop)
    return _open_embedded(settings, note)


def adopt(session: SparkSession) -> SparkHandle:
    """Use a notebook's or a job's own session; closing gives it back as it was."""
    silence()
    with translated():
        found = {key: session.conf.get(key, None) for key in PINNED}
        before = {key: value for key, value in found.items() if value != PINNED[key]}
        for key in before:
            session.conf.set(key, PINNED[key])
        before[USER_METADATA] = session.conf.get(USER_METADATA, None)

    def give_back() -> None:
        with contextlib.suppress(Exception):
            for key, value in before.items():
                if value is None:
                    session.conf.unset(key)
                else:
                    session.conf.set(key, value)

    return SparkHandle(session, at_close=give_back, shared=True)


def is_connect(session: SparkSession) -> bool:
    """Whether the session speaks Spark Connect; asked without loading anything."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _open_embedded(settings: SparkSettings, note: Callable[[str], None]) -> SparkHandle:
    for attempt in range(1, _ATTEMPTS + 1):
        with _client_loading():
            lease = lease_server(settings, note)
        try:
            session = connect.open_local(lease.port, lease.token)
        except InstarError:
            lease.release()
            # The server was killed between the look at its file and the first call.
            if attempt == _ATTEMPTS:
                raise
            continue
        except BaseException:
            lease.release()
            raise
        return SparkHandle(session, at_close=partial(_close_leased, session, lease))
    raise AssertionError("unreachable")


@contextlib.contextmanager
def _client_loading() -> Iterator[None]:
    """The client's import and the server's start take seconds each: do both at once.

    Joined before anyone else imports pyspark: its import cycles break between threads.
    """
    loading = threading.Thread(target=connect.preload)
    loading.start()
    try:
        yield
    finally:
        loading.join()


def _close_leased(session: SparkSession, lease: Lease) -> None:
    connect.close(session)
    lease.release()
