"""The demo: tables on five engines grow, one refuses with its rows named, two are rewritten and verified.

It makes a project in .demo/ and runs the same commands that you would type. The project stays there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import duckdb
from recreate import recreate

from instar.apply.failpoints import POINT
from instar.spark import SparkSettings, open_session, stop_server

ROOT = Path(__file__).resolve().parent.parent / ".demo"
INSTAR = [sys.executable, "-m", "instar.cli.main"]
NOTHING: Mapping[str, str] = MappingProxyType({})

PROJECT = """\
name: shop
version: 1
default_env: dev
environments:
  dev: {type: spark, format: delta, schema: shop}        # an embedded Spark
  quick: {type: duckdb, database: .instar/dev.duckdb, schema: shop}
"""

BEFORE = {
    "orders": """\
table: orders                 # Delta
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: qty, type: INT}
  - {name: zip, type: STRING}
  - {name: customer, type: "STRUCT<first STRING, address STRUCT<city STRING>>"}
""",
    "events": """\
table: events
format: iceberg
columns:
  - {name: id, type: BIGINT}
  - {name: kind, type: STRING}
  - {name: items, type: "ARRAY<STRUCT<sku STRING, n INT>>"}
""",
    "archive": """\
table: archive
format: parquet
columns:
  - {name: id, type: INT}
  - {name: note, type: STRING}
""",
}

# What the team wants now. Look at customer.first: a rename inside a struct.
AFTER = {
    "orders": """\
table: orders                 # Delta
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: quantity, type: BIGINT, renamed_from: qty}
  - {name: zip, type: STRING}
  - name: customer
    type: STRUCT<given STRING, address STRUCT<city STRING, country STRING>>
    fields:
      given: {renamed_from: first}
  - {name: status, type: STRING, nullable: false, _default: "'open'"}
""",
    "events": """\
table: events
format: iceberg
columns:
  - {name: id, type: BIGINT}
  - {name: type, type: STRING, renamed_from: kind}
  - {name: items, type: "ARRAY<STRUCT<sku STRING, n BIGINT, price DECIMAL(10, 2)>>"}
""",
    "archive": """\
table: archive
format: parquet
columns:
  - {name: id, type: BIGINT}                # wider: a new definition over the same files
  - {name: note, type: STRING}
""",
}

# Two layers of models over the declared table; then the team changes both queries.
MODELS = {
    "lines": """\
---
incremental: {unique_key: id}
---
SELECT id, quantity, status FROM ref('orders')
""",
    "by_status": """\
SELECT status, count(*) AS orders, sum(quantity)::BIGINT AS quantity FROM ref('lines') GROUP BY status
""",
}
CHANGED = {
    "lines": """\
---
incremental: {unique_key: id}
columns:
  units: {renamed_from: quantity}
  big: {backfill: quantity > 3}
---
SELECT id, quantity AS units, status, quantity > 3 AS big FROM ref('orders')
""",
    "by_status": """\
---
columns: {units: {renamed_from: quantity}}
---
SELECT status, count(*) AS orders, sum(units)::BIGINT AS units FROM ref('lines') GROUP BY status
""",
}

ROWS = {
    "dev": (
        """INSERT INTO spark_catalog.shop.orders VALUES
           (1, 3, '10115', named_struct('first', 'Ada', 'address', named_struct('city', 'Berlin'))),
           (2, 5, 'SW1A', named_struct('first', 'Alan', 'address', NULL)),
           (3, NULL, '75001', NULL)""",
        """INSERT INTO ice.shop.events VALUES
           (1, 'view', array(named_struct('sku', 'a', 'n', 1))), (2, 'buy', NULL)""",
        "INSERT INTO spark_catalog.shop.archive VALUES (1, 'old'), (2, NULL)",
    ),
}


DUCKDB_ROWS = """\
INSERT INTO shop.orders VALUES
  (1, 3, '10115', {'first': 'Ada', 'address': {'city': 'Berlin'}}),
  (2, 5, 'SW1A', {'first': 'Alan', 'address': NULL}), (3, 7, '75001', NULL)
"""


def say(text: str) -> None:
    print(f"\n\033[1m# {text}\033[0m" if sys.stdout.isatty() else f"\n# {text}", flush=True)


def instar(
    *words: str, expect: int = 0, environment: Mapping[str, str] = NOTHING, where: Path = ROOT
) -> None:
    failpoint = environment.get(POINT)
    crash = f"{POINT}='{failpoint}' " if failpoint else ""
    print(f"$ {crash}instar {' '.join(words)}", flush=True)
    done = subprocess.run([*INSTAR, *words], cwd=where, env={**os.environ, **environment})
    if done.returncode != expect:
        raise SystemExit(f"instar ended with {done.returncode}, expected {expect}")


def write(manifests: dict[str, str]) -> None:
    for name, text in manifests.items():
        (ROOT / "tables" / f"{name}.yml").write_text(text)


def write_models(models: dict[str, str]) -> None:
    (ROOT / "models").mkdir(exist_ok=True)
    for name, text in models.items():
        (ROOT / "models" / f"{name}.sql").write_text(text)


def ask_duckdb(*statements: str) -> None:
    with duckdb.connect(str(ROOT / ".instar" / "dev.duckdb")) as connection:
        for sql in statements:
            for row in connection.execute(sql).fetchall():
                print("   ", row, flush=True)


def query(*statements: str) -> None:
    with open_session(SparkSettings(root=ROOT / ".instar"), print) as spark:
        for sql in statements:
            rows = spark.run(sql)
            if sql.startswith("SELECT"):
                for row in rows:
                    print("   ", row.asDict(recursive=True), flush=True)


def main() -> None:
    started = time.perf_counter()
    if ROOT.exists():
        stop_server(ROOT / ".instar")
        shutil.rmtree(ROOT)
    (ROOT / "tables").mkdir(parents=True)
    (ROOT / "instar.yml").write_text(PROJECT)

    say("1. Three declared tables on an embedded Spark: Delta, Iceberg, Parquet")
    write(BEFORE)
    instar("apply")
    query(*ROWS["dev"])

    say("2. The team wants other shapes: the plan says what would happen, and touches nothing")
    write(AFTER)
    instar("plan")
    instar("apply", "--yes")
    query(
        "SELECT * FROM spark_catalog.shop.orders ORDER BY id",
        "SELECT * FROM ice.shop.events ORDER BY id",
    )

    say("3. A wish that some rows do not bear: text to INT. Blocked, with the rows named")
    wish = AFTER["orders"].replace("{name: zip, type: STRING}", "{name: zip, type: INT}")
    write({"orders": wish})
    instar("plan", "orders", "--allow-rewrite", expect=3)

    say("4. Say how to mend them, and let the table be rewritten and verified")
    mended = wish.replace("type: INT}", 'type: INT, _using: "try_cast(zip AS INT)"}')
    write({"orders": mended})
    instar("apply", "orders", "--allow-rewrite", "--yes")
    query("SELECT id, zip, status FROM spark_catalog.shop.orders ORDER BY id")
    instar("plan")

    say(
        "5. The same manifests on DuckDB: the same changes by other means, and what Instar remembers"
    )
    write({"orders": BEFORE["orders"]})
    instar("apply", "orders", "--env", "quick")
    ask_duckdb(DUCKDB_ROWS)
    write({"orders": mended})
    instar("apply", "orders", "--env", "quick", "--allow-rewrite", "--yes")
    ask_duckdb("FROM shop.orders ORDER BY id")
    instar("history", "--env", "quick")

    say("6. Models over the same tables: one query renames a column, and the next layer follows")
    ask_duckdb("UPDATE shop.orders SET status = 'paid' WHERE id = 3")
    write_models(MODELS)
    instar("run", "--env", "quick")
    write_models(CHANGED)
    instar("run", "--env", "quick", "--yes")
    ask_duckdb("FROM shop.lines ORDER BY id", "FROM shop.by_status ORDER BY status")
    instar("lineage", "by_status.units", "--env", "quick")

    say(
        "7. PostgreSQL: a new key and a number out of text. Killed on the way, finished, put back, forward"
    )
    recreate(ROOT / "payments", instar)

    stop_server(ROOT / ".instar")
    seconds = time.perf_counter() - started
    say(f"Done in {seconds:.0f} s.")
    print(
        "You saw: a rename inside a struct that kept its values, widening without touching a file,\n"
        "a NOT NULL column with a fill, a plan blocked by named rows, a rewrite with verification,\n"
        "an empty plan after each apply, models whose tables followed their queries, and a recreation that\n"
        "survived its own death and could be taken back. The project is in .demo/: change tables/*.yml or\n"
        "models/*.sql and try `cd .demo && ../.venv/bin/instar plan`."
    )


if __name__ == "__main__":
    main()
