"""What the state store remembers of models: what was built from what, which intervals, which run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from instar.core.schema import TableName
from instar.state.database import Database, Sql, put
from instar.state.redact import redacted
from instar.state.tables import MODEL_TABLES

_TABLE = "env schema name"
_LOGS = ("model_builds", "model_intervals", "model_wholes", "model_ways")


@dataclass(frozen=True, slots=True)
class Build:
    """The last time that a model's data was made: by which query, from which inputs.

    Without a fingerprint it is a claim: Instar made the table for a model, and has built nothing yet.
    `way`: how rows came into the table, so that another way is seen; empty where that is not known.
    """

    fingerprint: str
    inputs: Mapping[str, str]
    build: str
    way: str = ""


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
            self._database.add_tables(MODEL_TABLES)
            self._ready = True
        return self._database

    def builds(self, env: str) -> Mapping[TableName, Build]:
        rows = self._prepare().read(
            "SELECT b.schema, b.name, b.fingerprint, b.inputs, b.build, COALESCE(w.way, '')"
            " FROM model_builds AS b LEFT JOIN model_ways AS w"
            " ON w.env = b.env AND w.schema = b.schema AND w.name = b.name WHERE b.env = ?",
            (env,),
        )
        return {TableName(s, n): Build(f, json.loads(i), b, w) for s, n, f, i, b, w in rows}

    def claim(self, env: str, table: TableName, *, anew: bool) -> None:
        """Written before a model's table is first touched: what is there is a model's from now on.

        `anew`: the table is created, so whatever was built under its name before is gone.
        """
        key = (env, table.schema, table.name)
        if not anew and self._knows(("model_builds",), key):
            return
        with self._prepare().write() as sql:
            if anew:
                _forget(sql, key)
            sql.execute(
                "INSERT INTO model_builds VALUES (?, ?, ?, '', '{}', '', ?) ON CONFLICT DO NOTHING",
                (*key, self._clock()),
            )

    def release(self, env: str, tables: Iterable[TableName]) -> None:
        """No model's any more: what has the name from now on was not made for one."""
        known = self.builds(env)
        if gone := [table for table in tables if table in known]:
            with self._prepare().write() as sql:
                for table in gone:
                    _forget(sql, (env, table.schema, table.name))

    def built(self, env: str, table: TableName, build: Build) -> None:
        with self._prepare().write() as sql:
            _put_build(sql, (env, table.schema, table.name), build, self._clock())

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
        logs = ("model_intervals", "model_wholes") if anew else ()
        if not done and whole is None and not self._knows(logs, key):
            return
        with self._prepare().write() as sql:
            for log in logs:
                sql.execute(f"DELETE FROM {log} WHERE env = ? AND schema = ? AND name = ?", key)
            if whole is not None:
                told = (whole.granularity, whole.start, whole.stop, run, self._clock())
                put(sql, "model_wholes", _TABLE, "granularity start stop run at", [(*key, *told)])
            rows = [(*key, d.start, d.stop, int(d.closed), run, self._clock()) for d in done]
            put(sql, "model_intervals", f"{_TABLE} start", "stop closed run at", rows)

    def _knows(self, logs: Sequence[str], key: tuple[str, str, str]) -> bool:
        """Whether one of them has anything about a table: to look costs no write to the disk."""
        asked = "SELECT 1 FROM {} WHERE env = ? AND schema = ? AND name = ? LIMIT 1"
        return any(self._prepare().read(asked.format(log), key) for log in logs)

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
            "SELECT run, options, status FROM model_runs WHERE env = ?"
            " ORDER BY started DESC, run LIMIT 1",
            (env,),
        )
        return ModelRun(rows[0][0], json.loads(rows[0][1]), rows[0][2]) if rows else None

    def result(self, env: str, run: str, found: ModelResult, build: Build | None = None) -> None:
        """What became of a model in a run, and in the same transaction what its rows were built from.

        The end of the run waits for the disk. What the disk forgets before that is built again, and a build
        that was committed is known by its mark; to wait for each would cost more than a small model.
        """
        error = redacted(found.error) if found.error else None
        key = (run, found.table.schema, found.table.name)
        told = (found.status, found.rows, found.seconds, found.reason, error)
        with self._prepare().write(waits=False) as sql:
            rest = "env status rows seconds reason error at"
            row = (*key, env, *told, self._clock())
            put(sql, "model_results", "run schema name", rest, [row])
            if build is not None:
                _put_build(sql, (env, *key[1:]), build, self._clock())

    def results(self, env: str, run: str | None = None) -> tuple[ModelResult, ...]:
        """Newest first."""
        where, values = ("env = ? AND run = ?", (env, run)) if run else ("env = ?", (env,))
        rows = self._prepare().read(
            "SELECT schema, name, status, rows, seconds, reason, error, run, at FROM model_results"
            f" WHERE {where} ORDER BY at DESC, schema, name",
            values,
        )
        return tuple(
            ModelResult(TableName(s, n), status, r, sec or 0.0, reason or "", e, run_, at)
            for s, n, status, r, sec, reason, e, run_, at in rows
        )


def _put_build(sql: Sql, table: tuple[str, str, str], build: Build, at: float) -> None:
    row = (*table, build.fingerprint, json.dumps(build.inputs), build.build, at)
    put(sql, "model_builds", _TABLE, "fingerprint inputs build at", [row])
    put(sql, "model_ways", _TABLE, "way", [(*table, build.way)])


def _forget(sql: Sql, key: tuple[str, str, str]) -> None:
    for log in _LOGS:
        sql.execute(f"DELETE FROM {log} WHERE env = ? AND schema = ? AND name = ?", key)
