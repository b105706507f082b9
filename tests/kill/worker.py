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
from typing import Any, ClassVar, Protocol

from apply.worlds import CASES, ENV, Case, Row, plan
from instar.app.events import Silent
from instar.app.lifecycle import LifecycleWorld
from instar.app.mending import mend
from instar.apply import apply_table, resume
from instar.backends.base import Backend
from instar.backends.keeping import Copy
from instar.backends.memory import MemoryBackend
from instar.backends.registry import Engine, EngineSettings, open_engine
from instar.core.schema import Table, TableName, Wanted
from instar.sources.project import Environment
from instar.state import Store, open_store
from kill import catalog
from kill.dsql_world import DsqlWorld, adapted
from kill.postgres_world import PostgresWorld
from kill.spark_world import ROOT, SparkWorld

STATE = "INSTAR_TEST_STATE_ON_POSTGRES"


class World(Protocol):
    """An engine in a folder: how it is opened, filled and read, apart from Instar.

    `words` are the engine's own for the types of the cases, where a catalog is held against a wish.
    """

    words: ClassVar[catalog.Words]

    def open(self, root: Path) -> Backend: ...
    def insert(self, root: Path, table: Table, rows: Sequence[Row]) -> None: ...
    def rows(self, root: Path, copy: Copy) -> list[dict[str, Any]]: ...
    def picture(self, root: Path, table: TableName) -> catalog.Picture: ...
    def tables(self, root: Path, schema: str) -> list[str]: ...


class MemoryWorld:
    words: ClassVar[catalog.Words] = {}

    def open(self, root: Path) -> MemoryBackend:
        return MemoryBackend(root / "engine.json")

    def insert(self, root: Path, table: Table, rows: Sequence[Row]) -> None:
        self.open(root).insert(table.name, rows)

    def rows(self, root: Path, copy: Copy) -> list[dict[str, Any]]:
        return self.open(root).rows(copy.name)

    def picture(self, root: Path, table: TableName) -> catalog.Picture:
        found = self.open(root).inspect([table])[table]
        return {"columns": [(c.name, str(c.type), c.nullable) for c in found.columns]}

    def tables(self, root: Path, schema: str) -> list[str]:
        return sorted(t.name for t in self.open(root).list_tables(schema))


_COLUMNS = """SELECT column_name, data_type, is_nullable, column_default FROM duckdb_columns()
WHERE schema_name = ? AND table_name = ? ORDER BY column_index"""
_CONSTRAINTS = """SELECT constraint_type, constraint_column_names FROM duckdb_constraints()
WHERE schema_name = ? AND table_name = ? AND constraint_type <> 'NOT NULL'"""


class DuckDBWorld:
    words: ClassVar[catalog.Words] = catalog.DUCKDB

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

    def rows(self, root: Path, copy: Copy) -> list[dict[str, Any]]:
        import duckdb

        with duckdb.connect(str(root / "data.duckdb")) as sql:
            found = sql.execute(f"SELECT * FROM {copy.name}")
            names = [d[0] for d in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def picture(self, root: Path, table: TableName) -> catalog.Picture:
        import duckdb

        with duckdb.connect(str(root / "data.duckdb")) as sql:
            columns, constraints = (
                sql.execute(question, [table.schema, table.name]).fetchall()
                for question in (_COLUMNS, _CONSTRAINTS)
            )
        return catalog.picture(columns, constraints)

    def tables(self, root: Path, schema: str) -> list[str]:
        import duckdb

        asked = "SELECT table_name FROM duckdb_tables() WHERE schema_name = ? ORDER BY 1"
        with duckdb.connect(str(root / "data.duckdb")) as sql:
            return [name for (name,) in sql.execute(asked, [schema]).fetchall()]


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


def in_order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda r: r["id"])


def lifecycle_world(backend: Backend, store: Store, name: TableName) -> LifecycleWorld:
    env = Environment(ENV, "", name.schema)
    return LifecycleWorld(env, Engine({"": backend}, "", backend.close), store, Silent(), [name])


def apply(world: World, root: Path, case: Case) -> None:
    """What `instar apply` does: finish what is unfinished, then plan and apply; then look."""
    name, words = case.wish.table.name, world.words
    with opened(world, root) as backend, open_store(state_of(root), root) as store:
        reports = [resume(backend, store, ENV, run) for run in store.unfinished(ENV)]
        reports += mend(lifecycle_world(backend, store, name))
        found = plan(backend, store, case.wish, case.policy)
        reports.append(apply_table(found, backend, store, ENV))
        assert all(report.ok for report in reports), reports
        with store.lock(ENV, name, "a dead process holds no lock"):
            pass
        keeper = backend.keeper()
        copies = keeper.copies(name.schema, [name]) if keeper else ()
        kept = {copy.name for copy in copies}
        result: dict[str, Any] = {
            "left to do": plan(backend, store, case.wish, case.policy).steps,
            "unfinished": len(store.unfinished(ENV)),
            "said": [note for report in reports[:-1] for note in report.notes],
            "tables": [t for t in backend.list_tables(name.schema) if t not in kept],
        }
    shown = world.picture(root, name)
    result["catalog"] = shown
    result["not as wished"] = catalog.wrong(shown, case.wish.table, words) if words else ""
    result["rows"] = in_order(world.rows(root, Copy(name, name)))
    result["kept"] = [in_order(world.rows(root, copy)) for copy in copies]
    with (root / "result").open("wb") as file:
        pickle.dump(result, file)


def look(world: World, root: Path, case: Case) -> None:
    """Which tables are there now, for the page about kill points."""
    # DuckDB alone cannot always replay its log after a crash; the backend can.
    with opened(world, root):
        pass
    found = world.tables(root, case.wish.table.name.schema)
    (root / "tables").write_text(json.dumps(found))


def obey(order: dict[str, Any]) -> None:
    os.environ.update(order["environment"])
    work = {"prepare": prepare, "apply": apply, "look": look}[order["work"]]
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
