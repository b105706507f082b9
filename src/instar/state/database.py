"""What the store asks of a database, SQLite or PostgreSQL: durable transactions, reads, a clock, coded errors."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from instar.errors import StateError

FORMAT = 1
APPLICATION = 0x494E5354  # "INST": tells our store from anybody else's
BUSY_SECONDS = 30.0


class Answer(Protocol):
    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...


class Sql(Protocol):
    """Statements of an open transaction; `?` stands for a value."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Answer: ...
    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object: ...


class Database(ABC):
    """A connection to the state; safe to share between threads.

    The store speaks SQL that every database here understands. One writer at a time: what a transaction
    has read stays true until it ends.
    """

    title: str
    """What it is called in messages; never with a password."""
    lost: str
    """What to do when it cannot be read and there is no backup."""

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._inside = False

    @contextmanager
    def write(self, *, waits: bool = True) -> Iterator[Sql]:
        """One durable transaction: all of it, or nothing. Inside another one it joins that one.

        Not `waits`: one that outlives this process at once, and a loss of power after the next that does.
        """
        with self._guard, self._words():
            if self._inside:
                yield self._sql()
                return
            with self._paced(waits):
                self._begin()
                self._inside = True
                try:
                    yield self._sql()
                    self._commit()
                except BaseException:
                    self._rollback()
                    raise
                finally:
                    self._inside = False

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._guard, self._words():
            return self._rows(sql, values)

    def _paced(self, waits: bool) -> AbstractContextManager[None]:
        """Whether a commit within waits for the disk. One that always does is never wrong."""
        del waits
        return nullcontext()

    @abstractmethod
    def clock(self) -> float:
        """Seconds since 1970, by the one clock that all who share this database go by."""

    @abstractmethod
    def another(self) -> Database:
        """A second connection to the same place."""

    @abstractmethod
    def add_tables(self, statements: Sequence[str]) -> None:
        """Make tables that a database of an earlier day may not have."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _sql(self) -> Sql: ...

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _rollback(self) -> None: ...

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def _words(self) -> AbstractContextManager[None]:
        """A context in which the driver's errors become Instar's."""

    def damaged(self, what: str) -> StateError:
        return StateError(
            "E301",
            f"{self.title} cannot be read: {what}",
            hint=f"Restore it from a backup. Without one, {self.lost}: tables are not harmed, but"
            " unfinished runs, schema versions and the memory of renames are lost.",
        )

    def unusable(self, what: str, hint: str) -> StateError:
        return StateError("E305", f"{self.title} cannot be used: {what}", hint=hint)

    def full(self, what: str) -> StateError:
        return StateError(
            "E306",
            f"writing {self.title} failed: {what}",
            hint="Free some disk space and run the command again; what was journalled is kept.",
        )

    def busy(self) -> StateError:
        return StateError(
            "E307",
            f"{self.title} has been busy for {BUSY_SECONDS:.0f} s",
            hint="Another program holds it open in a transaction; end that and run the command again.",
        )

    def check_format(self, found: int) -> None:
        if found > FORMAT:
            raise StateError(
                "E302",
                f"{self.title} has format {found}; this Instar knows up to {FORMAT}",
                hint="Use the newer Instar that wrote it: pip install --upgrade instar.",
            )


def put(sql: Sql, table: str, key: str, rest: str, rows: Iterable[Sequence[Any]]) -> None:
    """Rows that replace those of the same key; columns are words, those of the key first."""
    columns = [*key.split(), *rest.split()]
    marks = ", ".join("?" for _ in columns)
    told = ", ".join(f"{column} = excluded.{column}" for column in rest.split())
    sql.executemany(
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        f" ON CONFLICT ({', '.join(key.split())}) DO UPDATE SET {told}",
        rows,
    )
