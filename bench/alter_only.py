"""An ALTER-only apply against the bare statements that it runs, warm, on Delta and on DuckDB."""

from __future__ import annotations

from pathlib import Path

from bench.measure import alternating, timed
from bench.projects import apply_now, project_folder, write_manifest
from instar import Project

ROUNDS = 5
BEFORE = {"id": "BIGINT", "qty": "INT", "st": "STRUCT<a INT>"}
AFTER = {"id": "BIGINT", "amount": "BIGINT", "st": "STRUCT<a INT, b STRING>", "note": "STRING"}
RENAME = {"amount": "renamed_from: qty"}


def on_delta(root: Path) -> None:
    from instar.spark import SparkSettings, open_session

    with open_session(SparkSettings(root=root / ".instar"), print) as handle:

        def fresh() -> list[str]:
            handle.run("DROP TABLE IF EXISTS spark_catalog.main.t")
            (root / ".instar/state.db").unlink(missing_ok=True)
            write_manifest(root, "t", BEFORE)
            apply_now(root, "dev")
            handle.run("INSERT INTO spark_catalog.main.t VALUES (1, 2, named_struct('a', 3))")
            write_manifest(root, "t", AFTER, RENAME)
            plan = Project.load(root).plan("dev")
            return [sql for step in plan.tables[0].steps for sql in step.sql]

        def bare() -> float:
            statements = fresh()
            return timed(lambda: [handle.sql(sql) for sql in statements])

        def ours() -> float:
            fresh()
            project = Project.load(root)
            plan = project.plan("dev", spark=handle.session)
            return timed(lambda: project.apply(plan, confirm=lambda _: True, spark=handle.session))

        report("delta", alternating(ROUNDS, bare=bare, instar=ours))


def on_duckdb(root: Path) -> None:
    import duckdb

    path = root / ".instar/dev.duckdb"

    def fresh() -> list[str]:
        path.unlink(missing_ok=True)
        (root / ".instar/state.db").unlink(missing_ok=True)
        write_manifest(root, "t", BEFORE)
        apply_now(root, "quick")
        write_manifest(root, "t", AFTER, RENAME)
        plan = Project.load(root).plan("quick")
        return [sql for step in plan.tables[0].steps for sql in step.sql]

    def bare() -> float:
        statements = fresh()

        def run() -> None:
            with duckdb.connect(str(path)) as connection:
                connection.execute("BEGIN")
                for sql in statements:
                    connection.execute(sql)
                connection.execute("COMMIT")

        return timed(run)

    def ours() -> float:
        fresh()
        project = Project.load(root)
        plan = project.plan("quick")
        return timed(lambda: project.apply(plan, confirm=lambda _: True))

    report("duckdb", alternating(ROUNDS, bare=bare, instar=ours))


def report(engine: str, seconds: dict[str, float]) -> None:
    print(f"alter_only {engine}: instar apply, verified and journalled  {seconds['instar']:.3f} s")
    print(f"alter_only {engine}: reference, the bare statements         {seconds['bare']:.3f} s")
    print(f"alter_only {engine}: {seconds['instar'] / seconds['bare']:.2f}x", flush=True)


def main() -> None:
    with project_folder() as root:
        on_duckdb(root)
        on_delta(root)


if __name__ == "__main__":
    main()
