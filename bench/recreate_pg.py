"""Recreation of a PostgreSQL table of five million rows while it may be written to.

Reference: the bare INSERT ... SELECT with the same conversion and the same index builds, in the same run.
`INSTAR_BENCH_ROWS` sets another size.
"""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
from tests.backends.postgres.server import PostgresServer

from bench.measure import alternating, timed
from bench.projects import project_folder, write_manifest
from instar import Policy, Project

ROWS = int(os.environ.get("INSTAR_BENCH_ROWS", "5000000"))
ROUNDS = 3
BEFORE = {"id": "BIGINT NOT NULL", "qty": "STRING", "price": "DECIMAL(12, 2)", "note": "STRING"}
AFTER = {**BEFORE, "qty": "INT"}
KEY = "primary_key: [id]\n"
BARE = (
    "CREATE TABLE bare (id bigint NOT NULL, qty integer, price numeric(12, 2), note text)",
    "INSERT INTO bare SELECT id, qty::integer, price, note FROM t",
    "ALTER TABLE bare ADD PRIMARY KEY (id)",
    "CREATE INDEX ON bare (note)",
    "ANALYZE bare",
)


def declare(root: Path, columns: dict[str, str]) -> None:
    write_manifest(root, "t", columns)
    with (root / "tables/t.yml").open("a") as file:
        file.write(KEY)


def fill(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as sql:
        sql.execute("DROP SCHEMA public CASCADE")
        sql.execute("CREATE SCHEMA public")
        sql.execute(
            "CREATE TABLE t AS SELECT i AS id, (i % 1000)::text AS qty,"
            f" (i / 7.0)::numeric(12, 2) AS price, 'note ' || i % 97 AS note FROM generate_series(1::bigint, {ROWS}) i"
        )
        sql.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
        sql.execute("CREATE INDEX t_note ON t (note)")
        sql.execute("VACUUM ANALYZE t")


def bare(url: str) -> float:
    fill(url)
    with psycopg.connect(url, autocommit=True) as sql:
        return timed(lambda: [sql.execute(statement) for statement in BARE])


def ours(root: Path, url: str) -> float:
    fill(url)
    (root / ".instar/state.db").unlink(missing_ok=True)
    project = Project.load(root)
    plan = project.plan("pg", Policy.of(allow_rewrite=True))
    assert plan.pending, plan.tables

    def apply() -> None:
        (report,) = project.apply(plan, confirm=lambda _: True).tables
        assert report.ok, report.error

    return timed(apply)


def main() -> None:
    server = PostgresServer()
    server.start()
    try:
        with project_folder() as root:
            with (root / "instar.yml").open("a") as file:
                file.write("  pg: {type: postgres, url: '${INSTAR_BENCH_PG}', schema: public}\n")
            os.environ["INSTAR_BENCH_PG"] = server.url()
            declare(root, AFTER)
            seconds = alternating(
                ROUNDS, bare=lambda: bare(server.url()), instar=lambda: ours(root, server.url())
            )
    finally:
        server.stop()
    print(
        f"recreate_pg: instar apply, captured, copied, verified, swapped  {seconds['instar']:.1f} s"
    )
    print(
        f"recreate_pg: reference, INSERT ... SELECT and index builds      {seconds['bare']:.1f} s"
    )
    print(f"recreate_pg: {seconds['instar'] / seconds['bare']:.2f}x", flush=True)


if __name__ == "__main__":
    main()
