"""DuckDB, connected: inspects, proves and runs each step in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from instar.backends.base import Backend, NotATable, Outcome, RunContext
from instar.backends.duckdb.binding import bound
from instar.backends.duckdb.errors import not_opened, translated
from instar.backends.duckdb.folding import fold, fold_sql
from instar.backends.duckdb.inspect import key_of, read_tables
from instar.backends.duckdb.keeper import DuckDBKeeper
from instar.backends.duckdb.native import AFTER, BEFORE, CHECK
from instar.backends.duckdb.opening import connected
from instar.backends.duckdb.prove import prove
from instar.backends.duckdb.replay import shorten
from instar.backends.duckdb.rewrite import OLD, run_rewrite
from instar.backends.duckdb.rules import DuckDBRules
from instar.backends.duckdb.storage import too_old_for_variant
from instar.backends.duckdb.views import DuckDBViews
from instar.core.checks import Proof, ProofResult
from instar.core.plan import Cost, Job, Step
from instar.core.schema import Table, TableName
from instar.errors import EngineError

Rows = list[tuple[Any, ...]]

_LIST = f"""SELECT schema_name, table_name FROM duckdb_tables()
WHERE NOT internal AND NOT temporary AND database_name = current_database()
AND {fold_sql("schema_name")} = {fold_sql("?")} ORDER BY table_name"""

_SIZES = f"""SELECT schema_name, table_name, estimated_size FROM duckdb_tables()
WHERE NOT internal AND database_name = current_database()
AND list_contains(?::VARCHAR[], {fold_sql("schema_name")})"""


ROWS_ONLY = "build"
"""The kind of a step that alters nothing: its log is replayed without trouble and may stay."""


class DuckDBBackend(Backend):
    """Works on cursors of its own, in UTC, and leaves the given connection as it is."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, new_file: bool = False) -> None:
        """`new_file`: the connection stands for a database file that is not there yet."""
        too_old = partial(too_old_for_variant, self._ask_outside, new_file=new_file)
        self.rules = DuckDBRules(self._unbound, too_old)
        self._connection = connection
        self._cursor = _utc(connection.cursor())
        self._outside = _utc(connection.cursor())
        self._owned = False

    def inspect(self, names: Sequence[TableName]) -> Mapping[TableName, Table | NotATable]:
        return read_tables(self._ask, names) if names else {}

    def list_tables(self, schema: str) -> Sequence[TableName]:
        names = [TableName(str(row[0]), str(row[1])) for row in self._ask(_LIST, schema)]
        return sorted(name for name in names if OLD not in name.name)

    def keeper(self) -> DuckDBKeeper:
        return DuckDBKeeper(self, self._ask)

    def views(self) -> DuckDBViews:
        return DuckDBViews(self._ask)

    def measure(self, names: Sequence[TableName]) -> Mapping[TableName, Cost]:
        schemas = sorted({fold(name.schema) for name in names})
        sizes = {
            (fold(str(row[0])), fold(str(row[1]))): row[2]
            for row in (self._ask(_SIZES, schemas) if names else ())
        }
        return {name: Cost(rows=sizes[key_of(name)]) for name in names if key_of(name) in sizes}

    def prove(self, job: Job, proofs: Sequence[Proof]) -> Sequence[ProofResult]:
        return prove(self._ask, job, proofs)

    def run(self, step: Step, context: RunContext) -> None:
        """One transaction: after a crash it is either all there or not begun."""
        context.failpoint("begin")
        self._execute("BEGIN TRANSACTION")
        try:
            self._statements(step, context)
            context.failpoint("commit")
            self._execute("COMMIT")
        except BaseException:
            self._rollback()
            raise
        context.failpoint("committed")
        if step.kind != ROWS_ONLY:
            shorten(self._cursor)

    def _statements(self, step: Step, context: RunContext) -> None:
        count = 0

        def execute(sql: str) -> None:
            nonlocal count
            count += 1
            context.failpoint(f"statement {count}")
            self._execute(sql)

        if "recipe" in step.data:
            run_rewrite(step, execute, self._ask, self._ask_outside, context)
            return
        for key in {BEFORE, AFTER} & step.data.keys():
            context.memo[key] = self._content(step.data[key])
        for place, sql in enumerate(step.sql):
            execute(sql)
            if place == 0 and CHECK in step.data:
                self._no_row_lost(step)

    def _no_row_lost(self, step: Step) -> None:
        """Other writers are shut out now: what is committed is what the step will meet."""
        count = int(self._ask_outside(step.data[CHECK])[0][0])
        if count:
            raise EngineError(
                "E227",
                f"{count:,} rows of {step.after.name} would be lost by: {step.title}; "
                "they came after the plan, and nothing was changed",
                hint="Plan again: the plan will show the rows.",
            )

    def outcome(self, step: Step, before: Table | None, memo: Mapping[str, str]) -> Outcome:
        """A rewrite puts the old table aside in its own transaction; after a swap the values tell."""
        if BEFORE in step.data:
            return self._swapped(step, memo)
        kept = memo.get("kept", step.data.get("kept", ""))
        if "recipe" not in step.data and not kept:
            return super().outcome(step, before, memo)
        aside = TableName(step.after.name.schema, kept)
        return Outcome.DONE if self.inspect([aside]) else Outcome.NOT_DONE

    def _swapped(self, step: Step, memo: Mapping[str, str]) -> Outcome:
        if not {BEFORE, AFTER} <= memo.keys():
            return Outcome.NOT_DONE
        now = self._content(step.data[BEFORE])
        told = {memo[BEFORE]: Outcome.NOT_DONE, memo[AFTER]: Outcome.DONE}
        return told.get(now, Outcome.UNCLEAR)

    def _unbound(self, sql: str) -> str | None:
        """Why the database does not understand an expression without columns; it is not run."""
        try:
            self._outside.execute(f"DESCRIBE SELECT ({sql})").fetchall()
        except duckdb.Error as error:
            return str(error).splitlines()[0]
        return None

    def _content(self, sql: str) -> str:
        return " ".join(str(part) for part in self._ask(sql)[0])

    def beside(self) -> duckdb.DuckDBPyConnection:
        """A cursor of its own on the same database; the caller closes it."""
        return _utc(self._connection.cursor())

    def interrupt(self) -> None:
        self._cursor.interrupt()
        self._outside.interrupt()

    def close(self) -> None:
        for cursor in (self._cursor, self._outside):
            cursor.close()
        if self._owned:
            self._connection.close()

    def own(self) -> DuckDBBackend:
        """Closing the backend closes the connection too."""
        self._owned = True
        return self

    def query(self, sql: str, *values: object) -> Rows:
        """Any statement on the backend's own cursor, in its own transaction unless one is open."""
        return self._ask(sql, *values)

    def _ask(self, sql: str, *values: object) -> Rows:
        return _guarded(sql, lambda: self._cursor.execute(bound(sql, values)).fetchall())

    def _ask_outside(self, sql: str) -> Rows:
        return _guarded(sql, lambda: self._outside.execute(sql).fetchall())

    def _execute(self, sql: str) -> None:
        _guarded(sql, lambda: self._cursor.execute(sql).fetchall())

    def _rollback(self) -> None:
        """A failed COMMIT has ended the transaction by itself; after Ctrl-C a statement may still run."""
        try:
            self._cursor.interrupt()
            self._cursor.execute("ROLLBACK")
        except duckdb.Error:
            return


def _guarded(sql: str, work: Callable[[], Rows]) -> Rows:
    try:
        return work()
    except duckdb.Error as error:
        raise translated(error, sql) from error
    except RuntimeError as error:
        # Ctrl-C in the middle of a statement comes out of the driver so.
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


def _utc(cursor: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Text, dates and moments are converted in one zone, whatever the machine's."""
    cursor.execute("SET TimeZone = 'UTC'")
    return cursor


def open_duckdb(path: Path | str, *, alone: bool = False, new_file: bool = False) -> DuckDBBackend:
    """A database file, or ':memory:'. `alone`: nobody else in this process opens it."""
    try:
        connection = connected(str(path), alone=alone)
    except duckdb.Error as error:
        raise not_opened(error, str(path)) from error
    return DuckDBBackend(connection, new_file=new_file).own()
