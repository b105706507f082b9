"""One SQLite file: its format, durable transactions, and its failures in Instar's words."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from instar.errors import StateError

FORMAT = 1
APPLICATION = 0x494E5354  # "INST": tells our file from anybody else's
BUSY_SECONDS = 30.0
IN_MEMORY = Path(":memory:")

_TABLES = """
CREATE TABLE locks (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL,
  token TEXT NOT NULL, owner TEXT NOT NULL, host TEXT NOT NULL, node TEXT NOT NULL,
  pid INTEGER NOT NULL, born TEXT NOT NULL, since REAL NOT NULL, expires REAL NOT NULL,
  PRIMARY KEY (env, schema, name)
);
CREATE TABLE entries (
  id INTEGER PRIMARY KEY, run TEXT NOT NULL, command TEXT NOT NULL, env TEXT NOT NULL,
  schema TEXT NOT NULL, name TEXT NOT NULL, backend TEXT NOT NULL, origin TEXT NOT NULL,
  before TEXT, fingerprint TEXT NOT NULL, renames TEXT NOT NULL,
  status TEXT NOT NULL, started REAL NOT NULL, ended REAL
);
CREATE INDEX entries_by_table ON entries (env, schema, name);
CREATE INDEX open_entries ON entries (env) WHERE status = 'open';
CREATE TABLE steps (
  entry INTEGER NOT NULL REFERENCES entries (id), n INTEGER NOT NULL,
  step TEXT NOT NULL, title TEXT NOT NULL, doc TEXT NOT NULL, before TEXT,
  status TEXT NOT NULL, error TEXT, started REAL, ended REAL,
  PRIMARY KEY (entry, n), UNIQUE (entry, step)
);
CREATE TABLE memo (
  entry INTEGER NOT NULL REFERENCES entries (id), step TEXT NOT NULL,
  key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (entry, step, key)
);
CREATE TABLE versions (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL,
  at REAL NOT NULL, doc TEXT NOT NULL, fingerprint TEXT NOT NULL,
  origin TEXT NOT NULL, run TEXT NOT NULL,
  PRIMARY KEY (env, schema, name, n)
);
CREATE TABLE renames (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, doc TEXT NOT NULL,
  PRIMARY KEY (env, schema, name)
);
CREATE TABLE kept (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL,
  kept_schema TEXT NOT NULL, kept_name TEXT NOT NULL, run TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (env, kept_schema, kept_name)
);
"""


class Database:
    """A connection to the state file; safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.RLock()
        with self._words():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise cannot_write(path, error.strerror or str(error)) from error
            self._sql = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            with self._words():
                self._prepare()
        except BaseException:
            self._sql.close()
            raise

    def _prepare(self) -> None:
        self._check_format()
        self._use_wal()
        # A journal entry that the disk forgets is worse than one that took longer to write.
        self._sql.execute("PRAGMA synchronous = FULL")
        if self._pragma("user_version") < FORMAT:
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                if self._pragma("user_version") < FORMAT:
                    self._create()
                self._sql.execute("COMMIT")
            except BaseException:
                self._sql.execute("ROLLBACK")
                raise

    def _create(self) -> None:
        for statement in _TABLES.split(";"):
            if statement.strip():
                self._sql.execute(statement)
        self._sql.execute(f"PRAGMA application_id = {APPLICATION}")
        self._sql.execute(f"PRAGMA user_version = {FORMAT}")

    def _use_wal(self) -> None:
        """Switching needs the file alone for a moment, and does not wait for it by itself."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._sql.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _check_format(self) -> None:
        version, application = self._pragma("user_version"), self._pragma("application_id")
        if application not in (0, APPLICATION) or (application == 0 and self._has_tables()):
            raise StateError(
                "E301",
                f"'{self.path}' is not a state file of Instar",
                hint="Point `state` in instar.yml at another file; this one belongs to something else.",
            )
        if version > FORMAT:
            raise StateError(
                "E302",
                f"the state file '{self.path}' has format {version}; this Instar knows up to {FORMAT}",
                hint="Use the newer Instar that wrote it: pip install --upgrade instar.",
            )

    def _has_tables(self) -> bool:
        # One statement, one snapshot: another process may create the tables at this moment.
        row = self._sql.execute(
            "SELECT count(*), (SELECT application_id FROM pragma_application_id) FROM sqlite_master"
        ).fetchone()
        return bool(row[0]) and row[1] == 0

    def _pragma(self, name: str) -> int:
        return int(self._sql.execute(f"PRAGMA {name}").fetchone()[0])

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One durable transaction: all of it, or nothing. Inside another one it joins that one."""
        with self._guard, self._words():
            if self._sql.in_transaction:
                yield self._sql
                return
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                yield self._sql
                self._sql.execute("COMMIT")
            except BaseException:
                if self._sql.in_transaction:
                    self._sql.execute("ROLLBACK")
                raise

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._guard, self._words():
            return self._sql.execute(sql, values).fetchall()

    def close(self) -> None:
        with self._guard:
            self._sql.close()

    @contextmanager
    def _words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise _translated(self.path, error) from error


def damaged(path: Path, what: str) -> StateError:
    return StateError(
        "E301",
        f"the state file '{path}' cannot be read: {what}",
        hint="Restore it from a backup. Without one, move it away: tables are not harmed, but unfinished"
        " runs, schema versions and the memory of renames are lost.",
    )


def cannot_write(path: Path, what: str) -> StateError:
    return StateError(
        "E305",
        f"the state file '{path}' cannot be written: {what}",
        hint="Check the folder and its permissions, or point `state` in instar.yml elsewhere.",
    )


def _translated(path: Path, error: sqlite3.DatabaseError) -> Exception:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FORMAT")):
        return damaged(path, str(error))
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return cannot_write(path, str(error))
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_NOLFS")):
        return StateError(
            "E306",
            f"writing the state file '{path}' failed: {error}",
            hint="Free some disk space and run the command again; what was journalled is kept.",
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StateError(
            "E307",
            f"the state file '{path}' has been busy for {BUSY_SECONDS:.0f} s",
            hint="Another program holds it open in a transaction; end that and run the command again.",
        )
    if name == "SQLITE_ERROR" and str(error).startswith(("no such table", "no such column")):
        return damaged(path, str(error))
    return error
