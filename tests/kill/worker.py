"""The fork server of the kill suite, and what its children do: prepare a world, or apply in it."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pickle
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from apply.worlds import CASES, ENV, Case, Row, plan
from instar.app.events import Silent
from instar.app.lifecycle import World as LifecycleWorld
from instar.app.lifecycle import mend
from instar.apply import apply_table, resume
from instar.backends.base import Backend
from instar.backends.memory import MemoryBackend
from instar.backends.registry import Engine, EngineSettings, open_engine
from instar.core.schema import Table, TableName, Wanted
from instar.sources.project import Environment
from instar.state import Store, open_store
from kill.dsql_world import DsqlWorld, adapted
from kill.postgres_world import PostgresWorld
from kill.spark_world import ROOT, SparkWorld

STATE = "INSTAR_TEST_STATE_ON_POSTGRES"


class World(Protocol):
    """An engine in a folder: how it is opened, filled and read, apart from Instar."""

    def open(self, root: Path) -> Backend: ...
    def insert(self, root: Path, table: Table, rows: Sequence[Row]) -> None: ...
    def rows(self, root: Path, table: TableName) -> list[dict[str, Any]]: ...


class MemoryWorld:
    def open(self, root: Path) -> MemoryBackend:
        return MemoryBackend(root / "engine.json")

    def insert(self, root: Path, table: Table, rows: Sequence[Row]) -> None:
        self.open(root).insert(table.name, rows)

    def rows(self, root: Path, table: TableName) -> list[dict[str, Any]]:
        return self.open(root).rows(table)


class DuckDBWorld:
    def open(self, root: Path) -> Backend:
        settings = EngineSettings("duckdb", "", root, database="data.duckdb")
        return open_engine(settings, lambda _: None).backend("")

    def insert(self, root: Path, table: Table, rows: Sequence[Row]) -> None:
        import duckdb

        with duckdb.connect(str(root / "data.duckdb")) as sql:
            for row in rows:
                names = ", ".join(row)
                marks = ", ".join("?" for _ in row)
                sql.execute(
                    f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(row.values())
                )

    def rows(self, root: Path, table: TableName) -> list[dict[str, Any]]:
        import duckdb

        with duckdb.connect(str(root / "data.duckdb")) as sql:
            found = sql.execute(f"SELECT * FROM {table}")
            names = [d[0] for d in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


WORLDS: dict[str, World] = {
    "memory": MemoryWorld(),
    "duckdb": DuckDBWorld(),
    "postgres": PostgresWorld(),
    "dsql": DsqlWorld(),
    **{format_: SparkWorld(format_) for format_ in ("delta", "iceberg", "parquet")},
}


def state_of(root: Path) -> str:
    """The address of the folder's state store: a file in it, or a database beside it."""
    return PostgresWorld().place(root) if STATE in os.environ else "sqlite:///state.db"


@contextlib.contextmanager
def opened(world: World, root: Path) -> Iterator[Backend]:
    backend = world.open(root)
    try:
        yield backend
    finally:
        backend.close()


def prepare(world: World, root: Path, case: Case) -> None:
    """The table of the case with its rows, and a state store that knows of it."""
    with opened(world, root) as backend, open_store(state_of(root), root) as store:
        if case.start is None:
            return
        report = apply_table(plan(backend, store, Wanted(case.start)), backend, store, ENV)
        assert report.ok, report
    if case.rows:
        world.insert(root, case.start, case.rows)


def lifecycle_world(backend: Backend, store: Store, name: TableName) -> LifecycleWorld:
    env = Environment(ENV, "", name.schema)
    return LifecycleWorld(env, Engine({"": backend}, "", backend.close), store, Silent(), [name])


def apply(world: World, root: Path, case: Case) -> None:
    """What `instar apply` does: finish what is unfinished, then plan and apply; then look."""
    name = case.wish.table.name
    with opened(world, root) as backend, open_store(state_of(root), root) as store:
        for run in store.unfinished(ENV):
            report = resume(backend, store, ENV, run)
            assert report.ok, report
        mended = mend(lifecycle_world(backend, store, name))
        assert all(report.ok for report in mended), mended
        report = apply_table(plan(backend, store, case.wish, case.policy), backend, store, ENV)
        assert report.ok, report
        with store.lock(ENV, name, "a dead process holds no lock"):
            pass
        keeper = backend.keeper()
        kept = {copy.name for copy in keeper.copies(name.schema, [name])} if keeper else ()
        result: dict[str, Any] = {
            "left to do": plan(backend, store, case.wish, case.policy).steps,
            "unfinished": len(store.unfinished(ENV)),
            "tables": [t for t in backend.list_tables(name.schema) if t not in kept],
        }
    result["rows"] = sorted(world.rows(root, name), key=lambda r: r["id"])
    with (root / "result").open("wb") as file:
        pickle.dump(result, file)


def obey(order: dict[str, Any]) -> None:
    os.environ.update(order["environment"])
    work = {"prepare": prepare, "apply": apply}[order["work"]]
    engine, case = order["engine"], CASES[order["case"]]
    work(WORLDS[engine], Path(order["root"]), adapted(case) if engine == "dsql" else case)


def serve() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                obey(json.loads(line))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def preload() -> None:
    """Import once, before any fork, what every child would import; DuckDB takes pandas if it is there."""
    modules = [
        "instar.backends.duckdb.engine",
        "instar.backends.dsql.engine",
        "instar.state.postgres",
        "pandas",
    ]
    modules += ["instar.backends.spark.engine", "pyspark.sql.connect"] if ROOT in os.environ else []
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


if __name__ == "__main__":
    preload()
    serve()
