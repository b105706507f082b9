"""The demo's last part: a PostgreSQL table is recreated, killed on the way, finished, put back, cleaned up.

The server is a real one, from the binaries that the tests use; it ends with the demo.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from backends.postgres.server import PostgresServer

URL = "DEMO_POSTGRES"
ENVIRONMENT = f"  prod: {{type: postgres, url: '${{{URL}}}', schema: shop}}\n"
ROWS = 20_000

BEFORE = """\
table: payments
primary_key: [id]
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: code, type: TEXT, nullable: false}
  - {name: amount, type: TEXT}
"""
# Another key, a number out of text: no ALTER does that without a rewrite under lock.
AFTER = """\
table: payments
primary_key: [code]
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: code, type: TEXT, nullable: false}
  - {name: amount, type: "DECIMAL(12, 2)"}
"""

Instar = Callable[..., None]


@contextmanager
def server() -> Iterator[PostgresServer]:
    running = PostgresServer()
    running.start()
    try:
        yield running
    finally:
        running.stop()


def show(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for sql in statements:
            found = connection.execute(sql)
            for row in found.fetchall() if found.description else ():
                print("   ", row, flush=True)


def recreate(root: Path, instar: Instar) -> None:
    """Needs the project at `root`; `instar` runs one command in it."""
    manifest = root / "tables" / "payments.yml"
    project = root / "instar.yml"
    project.write_text(project.read_text() + ENVIRONMENT)
    with server() as postgres:
        env = {URL: postgres.url()}
        manifest.write_text(BEFORE)
        show(postgres.url(), "CREATE SCHEMA shop")
        instar("apply", "payments", "--env", "prod", environment=env)
        show(
            postgres.url(),
            "INSERT INTO shop.payments SELECT i, 'P' || i, (i / 7.0)::numeric(12, 2)::text"
            f" FROM generate_series(1, {ROWS}) i",
        )
        manifest.write_text(AFTER)
        words = ("apply", "payments", "--env", "prod", "--allow-rewrite", "--yes")
        killed = {**env, "INSTAR_FAILPOINT": "recreate batch done:2"}
        instar(*words, environment=killed, expect=-signal.SIGKILL)
        instar(*words, environment=env)
        instar("revert", "payments", "--env", "prod", "--yes", environment=env)
        show(
            postgres.url(), "SELECT id, code, amount, pg_typeof(amount) FROM shop.payments LIMIT 2"
        )
        instar("revert", "payments", "--env", "prod", "--yes", environment=env)
        show(
            postgres.url(), "SELECT id, code, amount, pg_typeof(amount) FROM shop.payments LIMIT 2"
        )
        instar("cleanup", "payments", "--env", "prod", "--yes", environment=env)
        instar("plan", "payments", "--env", "prod", environment=env)
