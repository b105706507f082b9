"""The state in one SQLite file: its format, its settings, and its failures in Instar's words."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from instar.errors import StateError
from instar.state.database import APPLICATION, BUSY_SECONDS, FORMAT, Database
from instar.state.tables import TABLES

IN_MEMORY = Path(":memory:")
_WAITS = "PRAGMA synchronous = FULL"
_GOES_ON = "PRAGMA synchronous = NORMAL"
"""The log is written to the disk by the next commit that waits, with all that stands in it before."""
_PLACE = "Check the folder and its permissions, or point `state` in instar.yml elsewhere."


class SqliteDatabase(Database):
    """Those who share a file share a machine, and so its clock."""

    lost = "move it away"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.title = f"the state file '{path}'"
        with self._words():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self.unusable(error.strerror or str(error), _PLACE) from error
            self._file = sqlite3.connect(
                path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            with self._words():
                self._prepare()
        except BaseException:
            self._file.close()
            raise

    def _prepare(self) -> None:
        self._check_file()
        self._use_wal()
        # A journal entry that the disk forgets is worse than one that took longer to write.
        self._file.execute(_WAITS)
        if self._pragma("user_version") < FORMAT:
            with self.write():
                if self._pragma("user_version") < FORMAT:
                    self._create()

    def _create(self) -> None:
        for statement in TABLES:
            self._file.execute(statement)
        self._file.execute(f"PRAGMA application_id = {APPLICATION}")
        self._file.execute(f"PRAGMA user_version = {FORMAT}")

    def _use_wal(self) -> None:
        """Switching needs the file alone for a moment, and does not wait for it by itself."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                self._file.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _check_file(self) -> None:
        version, application = self._pragma("user_version"), self._pragma("application_id")
        if application not in (0, APPLICATION) or (application == 0 and self._has_tables()):
            raise StateError(
                "E301",
                f"'{self.path}' is not a state file of Instar",
                hint="Point `state` in instar.yml at another file; this one belongs to something else.",
            )
        self.check_format(version)

    def _has_tables(self) -> bool:
        # One statement, one snapshot: another process may create the tables at this moment.
        row = self._file.execute(
            "SELECT count(*), (SELECT application_id FROM pragma_application_id) FROM sqlite_master"
        ).fetchone()
        return bool(row[0]) and row[1] == 0

    def _pragma(self, name: str) -> int:
        return int(self._file.execute(f"PRAGMA {name}").fetchone()[0])

    def clock(self) -> float:
        return time.time()

    def another(self) -> SqliteDatabase:
        return SqliteDatabase(self.path)

    def add_tables(self, statements: Sequence[str]) -> None:
        with self.write() as sql:
            for statement in statements:
                sql.execute(statement)

    def close(self) -> None:
        with self._guard:
            self._file.close()

    def _sql(self) -> sqlite3.Connection:
        return self._file

    @contextmanager
    def _paced(self, waits: bool) -> Iterator[None]:
        if waits:
            yield
            return
        self._file.execute(_GOES_ON)
        try:
            yield
        finally:
            self._file.execute(_WAITS)

    def _begin(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")

    def _commit(self) -> None:
        self._file.execute("COMMIT")

    def _rollback(self) -> None:
        if self._file.in_transaction:
            self._file.execute("ROLLBACK")

    def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._file.execute(sql, values).fetchall()

    @contextmanager
    def _words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._translated(error) from error

    def _translated(self, error: sqlite3.DatabaseError) -> Exception:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FORMAT")):
            return self.damaged(str(error))
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
            return self.unusable(str(error), _PLACE)
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_NOLFS")):
            return self.full(str(error))
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return self.busy()
        if name == "SQLITE_ERROR" and str(error).startswith(("no such table", "no such column")):
            return self.damaged(str(error))
        return error
