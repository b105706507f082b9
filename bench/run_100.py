"""`run` of 100 small models against the bare statements in one session, on DuckDB and on Delta.

Both sides fill tables that are there, from a source whose rows have changed; Instar plans first, infers every
query, and writes down what it built. `INSTAR_BENCH_RUN_ROWS` sets the rows of the source, `INSTAR_BENCH_RUN_MODELS`
the number of models on Spark.
"""

from __future__ import annotations

import os
from pathlib import Path

from bench.measure import alternating, timed
from bench.model_projects import SOURCE, TABLE, models, write_instar
from bench.projects import project_folder
from instar import Project

MODELS = 100
ON_SPARK = int(os.environ.get("INSTAR_BENCH_RUN_MODELS", "100"))
ROWS = int(os.environ.get("INSTAR_BENCH_RUN_ROWS", "100000"))
ROUNDS = 3


def on_duckdb(root: Path) -> None:
    import duckdb

    path = str(root / ".instar/dev.duckdb")
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE {TABLE} AS SELECT {SOURCE} FROM range({ROWS}) r(i)")
    write_instar(root, MODELS)
    project = Project.load(root)
    project.run("quick", confirm=lambda _: True)

    def touch() -> None:
        with duckdb.connect(path) as connection:
            connection.execute(f"UPDATE {TABLE} SET c1 = c1 + 1 WHERE c0 < 10")

    def statements() -> None:
        with duckdb.connect(path) as connection:
            for model in models(MODELS):
                query = model.query.format(parent=model.parent or TABLE)
                connection.execute(f"CREATE OR REPLACE TABLE {model.name} AS {query}")

    def bare() -> float:
        touch()
        return timed(statements)

    def ours() -> float:
        touch()
        return timed(lambda: built(project, "quick"))

    report("duckdb", MODELS, alternating(ROUNDS, bare=bare, instar=ours))


def on_delta(root: Path) -> None:
    from instar.spark import SparkSettings, open_session

    with open_session(SparkSettings(root=root / ".instar"), print) as handle:
        place = "spark_catalog.main."
        handle.run("CREATE SCHEMA IF NOT EXISTS spark_catalog.main")
        source = SOURCE.replace("i + ", "id + ")
        handle.run(f"CREATE TABLE {place}{TABLE} USING delta AS SELECT {source} FROM range({ROWS})")
        for old in (root / "models").glob("*.sql"):
            old.unlink()
        write_instar(root, ON_SPARK)
        project = Project.load(root)
        project.run("dev", confirm=lambda _: True, spark=handle.session)

        def touch() -> None:
            handle.run(f"UPDATE {place}{TABLE} SET c1 = c1 + 1 WHERE c0 < 10")

        def statements() -> None:
            for model in models(ON_SPARK):
                query = model.query.format(parent=place + (model.parent or TABLE))
                handle.run(f"INSERT OVERWRITE {place}{model.name} {query}")

        def bare() -> float:
            touch()
            return timed(statements)

        def ours() -> float:
            touch()
            return timed(lambda: built(project, "dev", handle.session))

        report("delta", ON_SPARK, alternating(1, bare=bare, instar=ours))


def built(project: Project, env: str, spark: object = None) -> None:
    found = project.run(env, confirm=lambda _: True, spark=spark)
    status = {r.status for r in found.results}
    assert status == {"built"}, status


def report(engine: str, count: int, seconds: dict[str, float]) -> None:
    print(
        f"run_100 {engine}: instar run of {count} models, {ROWS:,} rows each  {seconds['instar']:.2f} s"
    )
    print(f"run_100 {engine}: reference, the bare statements            {seconds['bare']:.2f} s")
    print(f"run_100 {engine}: {seconds['instar'] / seconds['bare']:.2f}x (aim 1.10x)", flush=True)


def main() -> None:
    with project_folder() as root:
        on_duckdb(root)
        on_delta(root)


if __name__ == "__main__":
    main()
