"""Recreation of a PostgreSQL table of five million rows while it may be written to.

Reference: the bare INSERT ... SELECT with the same conversion and the same index builds, in the same run.
The checksum of the verification is set against a count of the same rows.
`INSTAR_BENCH_ROWS` sets another size. Besides the wall time it says the CPU seconds of the server and of the client:
on a machine that has other work to do they are the steadier figure.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psycopg
from tests.backends.postgres.server import PostgresServer

from bench.measure import conditions
from bench.projects import project_folder, write_manifest
from instar import Policy, Project
from instar.backends.postgres.checksum import compared, content
from instar.core.types import Column, Decimal, Integer, String

ROWS = int(os.environ.get("INSTAR_BENCH_ROWS", "5000000"))
ROUNDS = 3
READS = 5
BEFORE = {"id": "BIGINT NOT NULL", "qty": "STRING", "price": "DECIMAL(12, 2)", "note": "STRING"}
AFTER = {**BEFORE, "qty": "INT"}
TYPES = {"id": Integer(64), "qty": Integer(32), "price": Decimal(12, 2), "note": String()}
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


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds: on the wall, of the server's processes, of this one."""

    wall: float
    server: float
    client: float

    def __str__(self) -> str:
        return (
            f"{self.wall:.1f} s wall, CPU {self.server:.1f} s server + {self.client:.1f} s client"
        )


def server_seconds(pid: int) -> float:
    """CPU of a server: its first process with all that have ended, and those that have not."""
    ticks = sum(_times(pid)[1:])
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent, user, system, *_ = _times(int(folder.name))
        except OSError:
            continue
        ticks += user + system if parent == pid else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def _times(pid: int) -> tuple[int, ...]:
    """The parent, then ticks: user, system, and both of children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[1]), *map(int, fields[11:15]))


def spent(server: PostgresServer, action: Callable[[], object]) -> Spent:
    server_before = _settled(server)
    wall, client = time.perf_counter(), time.process_time()
    action()
    wall, client = time.perf_counter() - wall, time.process_time() - client
    return Spent(wall, _settled(server) - server_before, client)


def _settled(server: PostgresServer) -> float:
    """Connections that were closed have ended by then: one that ends meanwhile would not be seen."""
    time.sleep(1)
    return server_seconds(server.pid())


def bare(server: PostgresServer) -> Spent:
    fill(server.url())
    with psycopg.connect(server.url(), autocommit=True) as sql:
        return spent(server, lambda: [sql.execute(statement) for statement in BARE])


def ours(root: Path, server: PostgresServer) -> Spent:
    fill(server.url())
    (root / ".instar/state.db").unlink(missing_ok=True)
    project = Project.load(root)
    plan = project.plan("pg", Policy.of(allow_rewrite=True))
    assert plan.pending, plan.tables

    def apply() -> None:
        (report,) = project.apply(plan, confirm=lambda _: True).tables
        assert report.ok, report.error

    return spent(server, apply)


def middle(runs: list[Spent]) -> Spent:
    """The median of each figure."""
    return Spent(*(median(getattr(r, f) for r in runs) for f in ("wall", "server", "client")))


def checksum_against_count(server: PostgresServer) -> None:
    """Of the table that was recreated, read as a whole; several times, as the server counts CPU in ticks."""
    columns = [Column(name, type_) for name, type_ in TYPES.items()]
    counts = ", ".join(f"count({column.name})" for column in columns)
    sides = (f"SELECT {counts} FROM t", content(compared(columns), "t"))
    with psycopg.connect(server.url(), autocommit=True) as sql:
        sql.execute("VACUUM ANALYZE t")

        def read(statement: str) -> Spent:
            return spent(server, lambda: [sql.execute(statement) for _ in range(READS)])

        runs = [[read(statement) for statement in sides] for _ in range(ROUNDS)]
    count, checksum = (middle([run[side] for run in runs]) for side in (0, 1))
    print(f"recreate_pg: the checksum of all columns, {READS} times  {checksum}")
    print(f"recreate_pg: reference, a count of each, {READS} times   {count}")
    cpu = checksum.server / count.server
    print(f"recreate_pg: {checksum.wall / count.wall:.2f}x wall, {cpu:.2f}x CPU", flush=True)


def main() -> None:
    with PostgresServer() as server:
        with project_folder() as root:
            with (root / "instar.yml").open("a") as file:
                file.write("  pg: {type: postgres, url: '${INSTAR_BENCH_PG}', schema: public}\n")
            os.environ["INSTAR_BENCH_PG"] = server.url()
            declare(root, AFTER)
            runs = [(bare(server), ours(root, server)) for _ in range(ROUNDS)]
        report(runs)
        checksum_against_count(server)


def report(runs: list[tuple[Spent, Spent]]) -> None:
    reference, instar = (middle([run[side] for run in runs]) for side in (0, 1))
    cpu = (instar.server + instar.client) / (reference.server + reference.client)
    print(f"recreate_pg: {ROWS:,} rows, {conditions()}")
    print(f"recreate_pg: instar apply, captured, copied, verified, swapped  {instar}")
    print(f"recreate_pg: reference, INSERT ... SELECT and index builds      {reference}")
    print(f"recreate_pg: {instar.wall / reference.wall:.2f}x wall, {cpu:.2f}x CPU", flush=True)


if __name__ == "__main__":
    main()
