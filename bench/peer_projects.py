"""The same tables for each peer: many tables of fifty columns, one column wider in ten of them."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from pathlib import Path

from bench.plan_1000 import CHANGED, COLUMNS, DUCK, PLACE
from bench.venvs import OUTSIDE

WIDER = "BIGINT"
VALUES = {
    "INTEGER": "1",
    "BIGINT": "1",
    "VARCHAR": "'a'",
    "DECIMAL(10,2)": "1",
    "DOUBLE": "1",
    "TIMESTAMP": "'2024-01-01'",
}
SQLMESH_CONFIG = """gateways: {local: {connection: {type: duckdb, database: dev.duckdb}}}
default_gateway: local
model_defaults: {dialect: duckdb, start: 2024-01-01}
"""
SQLMESH_HEAD = """MODEL (name main.%s, kind INCREMENTAL_BY_UNIQUE_KEY (unique_key c00, forward_only true,
on_destructive_change allow));
"""
DBT_PROJECT = "name: bench\nversion: 1.0.0\nprofile: bench\nmodel-paths: [models]\n"
DBT_PROFILE = "bench: {target: dev, outputs: {dev: {type: duckdb, path: dev.duckdb, threads: 1}}}\n"
DBT_HEAD = "{{ config(materialized='incremental', unique_key='c00', on_schema_change='sync_all_columns') }}\n"
ALEMBIC_INI = "[alembic]\nscript_location = migrations\nsqlalchemy.url = sqlite:///dev.sqlite\n"
ALEMBIC_ENV = """
from alembic import context
from sqlalchemy import engine_from_config
from tables import metadata
engine = engine_from_config(context.config.get_section("alembic"))
with engine.connect() as connection:
    context.configure(connection=connection, target_metadata=metadata, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()
"""
ALEMBIC_TABLES = """
import sqlalchemy as sa
metadata = sa.MetaData()
INTEGER, BIGINT, VARCHAR, DOUBLE, TIMESTAMP = sa.Integer, sa.BigInteger, sa.String, sa.Double, sa.TIMESTAMP
def DECIMAL(p, s): return sa.Numeric(p, s)
"""


def columns(changed: bool) -> list[tuple[str, str]]:
    """(name, type) of each column; PLACE is wider where the table has changed."""
    kinds = [DUCK[n % len(DUCK)] for n in range(COLUMNS)]
    if changed:
        kinds[PLACE] = WIDER
    return [(f"c{n:02}", kind) for n, kind in enumerate(kinds)]


def names(tables: int) -> list[str]:
    return [f"t{n:04}" for n in range(tables)]


def query(changed: bool) -> str:
    cast = (f"CAST({VALUES[kind]} AS {kind}) AS {name}" for name, kind in columns(changed))
    return f"SELECT {', '.join(cast)}\n"


def write_models(root: Path, tables: int, head: str, *, changed: bool) -> None:
    """Queries of one row for each table, or for those that change."""
    (root / "models").mkdir(exist_ok=True)
    for name in names(CHANGED if changed else tables):
        text = (head % name if "%s" in head else head) + query(changed)
        (root / "models" / f"{name}.sql").write_text(text)


def sqlmesh(tools: Path, root: Path, tables: int) -> list[str]:
    """Deployed once; what is measured is the plan of the ten changes, up to its question."""
    (root / "config.yaml").write_text(SQLMESH_CONFIG)
    write_models(root, tables, SQLMESH_HEAD, changed=False)
    plan = [str(tools / "sqlmesh"), "plan", "--skip-tests", "--no-prompts"]
    prepared([*plan, "--auto-apply"], root)
    write_models(root, tables, SQLMESH_HEAD, changed=True)
    return plan


def dbt(tools: Path, root: Path, tables: int) -> list[str]:
    """dbt has no plan: the nearest is the list of models that have changed since a kept state."""
    (root / "dbt_project.yml").write_text(DBT_PROJECT)
    (root / "profiles.yml").write_text(DBT_PROFILE)
    write_models(root, tables, DBT_HEAD, changed=False)
    prepared([str(tools / "dbt"), "--quiet", "parse", "--profiles-dir", "."], root)
    (root / "state").mkdir()
    shutil.copy(root / "target" / "manifest.json", root / "state")
    write_models(root, tables, DBT_HEAD, changed=True)
    listing = ["ls", "--select", "state:modified", "--state", "state", "--output", "name"]
    return [str(tools / "dbt"), "--quiet", *listing, "--profiles-dir", "."]


def alembic(tools: Path, root: Path, tables: int) -> list[str]:
    """On SQLite, which it knows by itself; the revision is written, printed and thrown away."""
    (root / "migrations" / "versions").mkdir(parents=True)
    (root / "alembic.ini").write_text(ALEMBIC_INI)
    (root / "migrations" / "env.py").write_text(ALEMBIC_ENV)
    template = "lib/python*/site-packages/alembic/templates/generic/script.py.mako"
    shutil.copy(next(tools.parent.glob(template)), root / "migrations")
    with sqlite3.connect(root / "dev.sqlite") as connection:
        for name in names(tables):
            body = ", ".join(f"{column} {kind}" for column, kind in columns(False))
            connection.execute(f"CREATE TABLE {name} ({body})")
    text = [ALEMBIC_TABLES]
    for n, name in enumerate(names(tables)):
        body = ", ".join(f"sa.Column('{c}', {kind})" for c, kind in columns(n < CHANGED))
        text.append(f"sa.Table('{name}', metadata, {body})\n")
    (root / "tables.py").write_text("".join(text))
    return [str(tools / "python"), "-c", ALEMBIC_RUN]


ALEMBIC_RUN = """
import pathlib, sys
sys.path.insert(0, ".")
from alembic.config import CommandLine
for old in pathlib.Path("migrations/versions").glob("*.py"):
    old.unlink()
CommandLine().main(["revision", "--autogenerate", "-m", "ten"])
for new in pathlib.Path("migrations/versions").glob("*.py"):
    print(new.read_text())
"""


def prepared(argv: list[str], root: Path) -> None:
    run = subprocess.run(
        argv, cwd=root, env=OUTSIDE, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if run.returncode:
        raise SystemExit(f"{' '.join(argv)} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
