"""The twelve changes on a table of one million rows, on DuckDB and on Delta.

For each: the rung taken, whether every old value is still right, and seconds for plan and apply together.
The two bad ones must be blocked with their rows named. `INSTAR_BENCH_ROWS` sets another size.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.projects import apply_now, project_folder, write_manifest
from instar import Policy, Project

ROWS = int(os.environ.get("INSTAR_BENCH_ROWS", "1000000"))

BASE = {
    "id": "BIGINT",
    "qty": "INT",
    "big": "BIGINT",
    "txt": "STRING",
    "st": "STRUCT<a INT, b STRING>",
    "arr": "ARRAY<STRUCT<a INT>>",
    "mp": "MAP<STRING, INT>",
}
# One row in ten thousand is bad for the two conversions that must be refused.
DUCK = """INSERT INTO main.t SELECT i, (i % 1000)::INT,
 CASE WHEN i % 10000 = 0 THEN 5000000000 + i ELSE i END,
 CASE WHEN i % 10000 = 0 THEN 'x' || i ELSE CAST(i AS VARCHAR) END,
 {'a': (i % 100)::INT, 'b': 'b' || (i % 7)}, [{'a': (i % 50)::INT}], MAP {'k': (i % 9)::INT}
 FROM range(1, $END) r(i)"""
SPARK = """INSERT INTO spark_catalog.main.t SELECT id, CAST(id % 1000 AS INT),
 CASE WHEN id % 10000 = 0 THEN 5000000000 + id ELSE id END,
 CASE WHEN id % 10000 = 0 THEN concat('x', id) ELSE CAST(id AS STRING) END,
 named_struct('a', CAST(id % 100 AS INT), 'b', concat('b', id % 7)),
 array(named_struct('a', CAST(id % 50 AS INT))), map('k', CAST(id % 9 AS INT))
 FROM range(1, $END)"""


@dataclass(frozen=True, slots=True)
class Twelve:
    """`right` is true for rows whose old values survived; it is written in both dialects alike."""

    title: str
    columns: dict[str, str]
    right: str
    options: dict[str, str]
    blocked: str = ""


def _with(**changed: str) -> dict[str, str]:
    return {**BASE, **changed}


def _without(name: str) -> dict[str, str]:
    return {k: v for k, v in BASE.items() if k != name}


TWELVE = (
    Twelve("1 add nullable", _with(note="STRING"), "note IS NULL", {}),
    Twelve(
        "2 add NOT NULL with default",
        _with(status="STRING NOT NULL"),
        "status = 'new'",
        {"status": "_default: \"'new'\""},
    ),
    Twelve("3 drop", _without("qty"), "big >= id", {}),
    Twelve(
        "4 rename",
        {("amount" if k == "qty" else k): v for k, v in BASE.items()},
        "amount = id % 1000",
        {"amount": "renamed_from: qty"},
    ),
    Twelve("5 int → bigint", _with(qty="BIGINT"), "qty = id % 1000", {}),
    Twelve("6 bigint → int, bad values", _with(big="INT"), "", {}, "F201"),
    Twelve("7 text → int, bad text", _with(txt="INT"), "", {}, "F201"),
    Twelve(
        "8 struct field add",
        _with(st="STRUCT<a INT, b STRING, c INT>"),
        "st.a = id % 100 AND st.c IS NULL",
        {},
    ),
    Twelve("9 struct field widen", _with(st="STRUCT<a BIGINT, b STRING>"), "st.a = id % 100", {}),
    Twelve("10 array<struct> field add", _with(arr="ARRAY<STRUCT<a INT, z STRING>>"), "{arr}", {}),
    Twelve("11 map value widen", _with(mp="MAP<STRING, BIGINT>"), "mp['k'] = id % 9", {}),
    Twelve(
        "12 reorder",
        {k: BASE[k] for k in reversed(BASE)},
        "qty = id % 1000 AND st.a = id % 100",
        {},
    ),
)
POLICIES = {"3 drop": "drop", "12 reorder": "reorder"}


def one(root: Path, env: str, case: Twelve, count: Callable[[str], int]) -> str:
    write_manifest(root, "t", case.columns, case.options)
    project = Project.load(root)
    policy = Policy.of(column_conflict=POLICIES.get(case.title, "preserve"), allow_rewrite=True)
    started = time.perf_counter()
    plan = project.plan(env, policy)
    table = plan.tables[0]
    if case.blocked:
        found = next((f for f in table.findings if f.code == case.blocked), None)
        seconds = time.perf_counter() - started
        if found is None:
            return f"NOT BLOCKED  {seconds:6.2f} s"
        return f"blocked: {found.count} rows, {len(found.witnesses)} named  {seconds:6.2f} s"
    if table.blocked:
        return "blocked: " + "; ".join(f.message for f in table.findings)
    report = project.apply(plan, confirm=lambda _: True)
    seconds = time.perf_counter() - started
    if not all(r.ok for r in report.tables):
        return f"FAILED: {report.tables[0].error}"
    rungs = "+".join(dict.fromkeys(s.rung.value for s in table.steps))
    right = case.right.replace(
        "{arr}", "arr[1].a = id % 50" if env == "quick" else "arr[0].a = id % 50"
    )
    kept = count(right)
    return f"{rungs:<16} {kept:>9,} of {ROWS:,} kept  {seconds:6.2f} s"


def duckdb_side(root: Path) -> None:
    import duckdb

    path = root / ".instar/dev.duckdb"

    def count(right: str) -> int:
        with duckdb.connect(str(path)) as connection:
            row = connection.execute(f"SELECT count(*) FROM main.t WHERE {right}").fetchone()
            return int(row[0]) if row else -1

    for case in TWELVE:
        path.unlink(missing_ok=True)
        (root / ".instar/state.db").unlink(missing_ok=True)
        write_manifest(root, "t", BASE)
        apply_now(root, "quick")
        with duckdb.connect(str(path)) as connection:
            connection.execute(DUCK.replace("$END", str(ROWS + 1)))
        print(f"twelve duckdb: {case.title:<30} {one(root, 'quick', case, count)}", flush=True)


def delta_side(root: Path) -> None:
    from instar.spark import SparkSettings, open_session

    with open_session(SparkSettings(root=root / ".instar"), print) as handle:

        def count(right: str) -> int:
            return int(handle.run(f"SELECT count(*) FROM spark_catalog.main.t WHERE {right}")[0][0])

        for case in TWELVE:
            handle.run("DROP TABLE IF EXISTS spark_catalog.main.t")
            (root / ".instar/state.db").unlink(missing_ok=True)
            write_manifest(root, "t", BASE)
            apply_now(root, "dev")
            handle.run(SPARK.replace("$END", str(ROWS + 1)))
            print(f"twelve delta:  {case.title:<30} {one(root, 'dev', case, count)}", flush=True)


def main() -> None:
    with project_folder() as root:
        duckdb_side(root)
        delta_side(root)


if __name__ == "__main__":
    main()
