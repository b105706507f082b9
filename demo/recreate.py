"""The demo's last part: a PostgreSQL table is recreated, killed on the way, finished, put back, cleaned up.

The server is a real one, from the binaries that the tests use; it ends with the demo.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from backends.postgres.server import PostgresServer

URL = "DEMO_POSTGRES"
PROJECT = f"""\
name: payments
version: 1
default_env: prod
environments:
  prod: {{type: postgres, url: "${{{URL}}}", schema: shop}}
"""
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


def show(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for sql in statements:
            found = connection.execute(sql)
            for row in found.fetchall() if found.description else ():
                print("   ", row, flush=True)


def recreate(root: Path, instar: Instar) -> None:
    """Makes a project at `root`; `instar` runs one command in it."""
    manifest = root / "tables" / "payments.yml"
    manifest.parent.mkdir(parents=True)
    (root / "instar.yml").write_text(PROJECT)
    with PostgresServer() as postgres:
        env = {URL: postgres.url()}
        manifest.write_text(BEFORE)
        show(postgres.url(), "CREATE SCHEMA shop")
        instar("apply", "payments", environment=env, where=root)
        show(
            postgres.url(),
            "INSERT INTO shop.payments SELECT i, 'P' || i, (i / 7.0)::numeric(12, 2)::text"
            f" FROM generate_series(1, {ROWS}) i",
        )
        manifest.write_text(AFTER)
        words = ("apply", "payments", "--allow-rewrite", "--yes")
        killed = {**env, "INSTAR_FAILPOINT": "recreate batch done:2"}
        instar(*words, environment=killed, where=root, expect=-signal.SIGKILL)
        instar(*words, environment=env, where=root)
        instar("revert", "payments", "--yes", environment=env, where=root)
        show(
            postgres.url(), "SELECT id, code, amount, pg_typeof(amount) FROM shop.payments LIMIT 2"
        )
        instar("revert", "payments", "--yes", environment=env, where=root)
        show(
            postgres.url(), "SELECT id, code, amount, pg_typeof(amount) FROM shop.payments LIMIT 2"
        )
        instar("cleanup", "payments", "--yes", environment=env, where=root)
        instar("plan", "payments", environment=env, where=root)
