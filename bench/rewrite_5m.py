"""Rewrite of five million rows with verification, on Delta and on DuckDB.

Reference: the engine's bare CREATE TABLE AS SELECT with the same conversion, in the same run, taking turns.
`INSTAR_BENCH_ROWS` sets another size.
"""

from __future__ import annotations

import os
from pathlib import Path

from bench.measure import alternating, timed
from bench.projects import apply_now, project_folder, write_manifest

ROWS = int(os.environ.get("INSTAR_BENCH_ROWS", "5000000"))
ROUNDS = 3
BEFORE = {"id": "BIGINT", "qty": "STRING", "price": "DECIMAL(12, 2)", "note": "STRING"}
AFTER = {**BEFORE, "qty": "INT"}
BARE = "SELECT id, CAST(qty AS INT) AS qty, price, note FROM"


def on_duckdb(root: Path) -> None:
    import duckdb

    path = root / ".instar/dev.duckdb"

    def fresh() -> None:
        path.unlink(missing_ok=True)
        (root / ".instar/state.db").unlink(missing_ok=True)
        write_manifest(root, "t", BEFORE)
        apply_now(root, "quick")
        with duckdb.connect(str(path)) as connection:
            connection.execute(
                "INSERT INTO main.t SELECT i, CAST(i % 1000 AS VARCHAR), i / 7, 'note ' || (i % 97)"
                f" FROM range({ROWS}) r(i)"
            )
        write_manifest(root, "t", AFTER)

    def bare() -> None:
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE OR REPLACE TABLE bare AS {BARE} main.t")

    def reference() -> float:
        fresh()
        return timed(bare)

    def ours() -> float:
        fresh()
        return timed(lambda: apply_now(root, "quick"))

    report("duckdb", alternating(ROUNDS, bare=reference, instar=ours))


def on_delta(root: Path) -> None:
    from instar.spark import SparkSettings, open_session

    with open_session(SparkSettings(root=root / ".instar"), print) as handle:

        def fresh() -> None:
            handle.run("DROP TABLE IF EXISTS spark_catalog.main.t")
            handle.run("DROP TABLE IF EXISTS spark_catalog.main.bare")
            (root / ".instar/state.db").unlink(missing_ok=True)
            write_manifest(root, "t", BEFORE)
            apply_now(root, "dev")
            handle.run(
                "INSERT INTO spark_catalog.main.t SELECT id, CAST(id % 1000 AS STRING),"
                " CAST(id / 7 AS DECIMAL(12, 2)), concat('note ', id % 97)"
                f" FROM range(0, {ROWS}, 1, 4)"
            )
            write_manifest(root, "t", AFTER)

        def bare() -> None:
            handle.run(
                f"CREATE TABLE spark_catalog.main.bare USING delta AS {BARE} spark_catalog.main.t"
            )

        def reference() -> float:
            fresh()
            return timed(bare)

        def ours() -> float:
            fresh()
            return timed(lambda: apply_now(root, "dev"))

        report("delta", alternating(ROUNDS, bare=reference, instar=ours))


def report(engine: str, seconds: dict[str, float]) -> None:
    print(
        f"rewrite_5m {engine}: instar plan + proofs + rewrite + verification  {seconds['instar']:.2f} s"
    )
    print(
        f"rewrite_5m {engine}: reference, bare CREATE TABLE AS                {seconds['bare']:.2f} s"
    )
    print(f"rewrite_5m {engine}: {seconds['instar'] / seconds['bare']:.2f}x", flush=True)


def main() -> None:
    with project_folder() as root:
        on_duckdb(root)
        on_delta(root)


if __name__ == "__main__":
    main()
