"""What the state store remembers of models: what was built from what, which intervals, which run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from instar.core.schema import TableName
from instar.state.database import Database
from instar.state.redact import redacted

_TABLES = (
    """CREATE TABLE IF NOT EXISTS model_builds (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, fingerprint TEXT NOT NULL,
  inputs TEXT NOT NULL, build TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (env, schema, name))""",
    """CREATE TABLE IF NOT EXISTS model_intervals (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, start TEXT NOT NULL,
  stop TEXT NOT NULL, closed INTEGER NOT NULL, run TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (env, schema, name, start))""",
    """CREATE TABLE IF NOT EXISTS model_wholes (
  env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL, granularity TEXT NOT NULL,
  start TEXT NOT NULL, stop TEXT NOT NULL, run TEXT NOT NULL, at REAL NOT NULL,
  PRIMARY KEY (env, schema, name))""",
    """CREATE TABLE IF NOT EXISTS model_runs (
  run TEXT PRIMARY KEY, env TEXT NOT NULL, options TEXT NOT NULL, status TEXT NOT NULL,
  started REAL NOT NULL, ended REAL)""",
    """CREATE TABLE IF NOT EXISTS model_results (
  run TEXT NOT NULL, env TEXT NOT NULL, schema TEXT NOT NULL, name TEXT NOT NULL,
  status TEXT NOT NULL, rows INTEGER, seconds REAL, reason TEXT, error TEXT, at REAL NOT NULL,
  PRIMARY KEY (run, schema, name))""",
)


@dataclass(frozen=True, slots=True)
class Build:
    """The last time that a model's data was made: by which query, from which inputs.

    Without a fingerprint it is a claim: Instar made the table for a model, and has built nothing yet.
    """

    fingerprint: str
    inputs: Mapping[str, str]
    build: str


@dataclass(frozen=True, slots=True)
class Done:
    """An interval that was built. `closed`: later rows were there already, so it was whole."""

    start: str
    stop: str
    closed: bool


@dataclass(frozen=True, slots=True)
class Whole:
    """Every interval of a granularity from `start` to `stop`: closed, and built at once."""

    granularity: str
    start: str
    stop: str


@dataclass(frozen=True, slots=True)
class ModelRun:
    run: str
    options: Mapping[str, Any]
    status: str


@dataclass(frozen=True, slots=True)
class ModelResult:
    """What became of one model in one run: built, skipped, failed, behind a failure, cancelled."""

    table: TableName
    status: str
    rows: int | None = None
    seconds: float = 0.0
    reason: str = ""
    error: str | None = None
    run: str = ""
    at: float = field(default=0.0, compare=False)


class ModelLog:
    """Its tables come into being with the first model."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock
        self._ready = False

    def _prepare(self) -> Database:
        if not self._ready:
            with self._database.write() as sql:
                for statement in _TABLES:
                    sql.execute(statement)
            self._ready = True
        return self._database

    def builds(self, env: str) -> Mapping[TableName, Build]:
        rows = self._prepare().read(
            "SELECT schema, name, fingerprint, inputs, build FROM model_builds WHERE env = ?",
            (env,),
        )
        return {TableName(s, n): Build(f, json.loads(i), b) for s, n, f, i, b in rows}

    def claim(self, env: str, table: TableName, *, anew: bool) -> None:
        """Written before a model's table is first touched: what is there is a model's from now on.

        `anew`: the table is created, so whatever was built under its name before is gone.
        """
        key = (env, table.schema, table.name)
        with self._prepare().write() as sql:
            if anew:
                for log in ("model_builds", "model_intervals", "model_wholes"):
                    sql.execute(f"DELETE FROM {log} WHERE env = ? AND schema = ? AND name = ?", key)
            sql.execute(
                "INSERT OR IGNORE INTO model_builds VALUES (?, ?, ?, '', '{}', '', ?)",
                (*key, self._clock()),
            )

    def built(self, env: str, table: TableName, build: Build) -> None:
        told = (env, table.schema, table.name, build.fingerprint, json.dumps(build.inputs))
        with self._prepare().write() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO model_builds VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*told, build.build, self._clock()),
            )

    def intervals(self, env: str, table: TableName) -> Mapping[str, Done]:
        rows = self._prepare().read(
            "SELECT start, stop, closed FROM model_intervals"
            " WHERE env = ? AND schema = ? AND name = ? ORDER BY start",
            (env, table.schema, table.name),
        )
        return {start: Done(start, stop, bool(closed)) for start, stop, closed in rows}

    def whole(self, env: str, table: TableName) -> Whole | None:
        """What the last build of all rows has covered."""
        rows = self._prepare().read(
            "SELECT granularity, start, stop FROM model_wholes"
            " WHERE env = ? AND schema = ? AND name = ?",
            (env, table.schema, table.name),
        )
        return Whole(*rows[0]) if rows else None

    def intervals_done(
        self,
        env: str,
        table: TableName,
        done: Sequence[Done],
        run: str,
        *,
        anew: bool = False,
        whole: Whole | None = None,
    ) -> None:
        """`anew`: what was done before counts no more."""
        key = (env, table.schema, table.name)
        with self._prepare().write() as sql:
            for log in ("model_intervals", "model_wholes") if anew else ():
                sql.execute(f"DELETE FROM {log} WHERE env = ? AND schema = ? AND name = ?", key)
            if whole is not None:
                told = (whole.granularity, whole.start, whole.stop, run, self._clock())
                sql.execute(
                    "INSERT OR REPLACE INTO model_wholes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*key, *told),
                )
            sql.executemany(
                "INSERT OR REPLACE INTO model_intervals VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(*key, d.start, d.stop, int(d.closed), run, self._clock()) for d in done],
            )

    def begin(self, env: str, run: str, options: Mapping[str, Any]) -> None:
        with self._prepare().write() as sql:
            sql.execute(
                "INSERT INTO model_runs VALUES (?, ?, ?, 'open', ?, NULL)",
                (run, env, json.dumps(options), self._clock()),
            )

    def end(self, run: str, status: str) -> None:
        with self._prepare().write() as sql:
            sql.execute(
                "UPDATE model_runs SET status = ?, ended = ? WHERE run = ?",
                (status, self._clock(), run),
            )

    def last_run(self, env: str) -> ModelRun | None:
        rows = self._prepare().read(
            "SELECT run, options, status FROM model_runs WHERE env = ? ORDER BY started DESC, rowid"
            " DESC LIMIT 1",
            (env,),
        )
        return ModelRun(rows[0][0], json.loads(rows[0][1]), rows[0][2]) if rows else None

    def result(self, env: str, run: str, found: ModelResult) -> None:
        error = redacted(found.error) if found.error else None
        told = (found.status, found.rows, found.seconds, found.reason, error, self._clock())
        with self._prepare().write() as sql:
            sql.execute(
                "INSERT OR REPLACE INTO model_results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (run, env, found.table.schema, found.table.name, *told),
            )

    def results(self, env: str, run: str | None = None) -> tuple[ModelResult, ...]:
        """Newest first."""
        where, values = ("env = ? AND run = ?", (env, run)) if run else ("env = ?", (env,))
        rows = self._prepare().read(
            "SELECT schema, name, status, rows, seconds, reason, error, run, at FROM model_results"
            f" WHERE {where} ORDER BY at DESC, rowid DESC",
            values,
        )
        return tuple(
            ModelResult(TableName(s, n), status, r, sec or 0.0, reason or "", e, run_, at)
            for s, n, status, r, sec, reason, e, run_, at in rows
        )
