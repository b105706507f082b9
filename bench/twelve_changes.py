"""The twelve changes on a table of one million rows, on DuckDB and on Delta.

For each: the rung taken, whether every old value is still right, and seconds for plan and apply together.
The two bad ones must be blocked with their rows named. The exit code is 1 where a value was lost or a bad change
went through. `INSTAR_BENCH_ROWS` sets another size; `python -m bench.twelve_changes duckdb` runs one engine.
"""

from __future__ import annotations

import os
import sys
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
# One row in so many is bad for the two conversions that must be refused.
BAD = max(1, min(10_000, ROWS // 2))
DUCK = """INSERT INTO main.t SELECT i, (i % 1000)::INT,
 CASE WHEN i % $BAD = 0 THEN 5000000000 + i ELSE i END,
 CASE WHEN i % $BAD = 0 THEN 'x' || i ELSE CAST(i AS VARCHAR) END,
 {'a': (i % 100)::INT, 'b': 'b' || (i % 7)}, [{'a': (i % 50)::INT}], MAP {'k': (i % 9)::INT}
 FROM range(1, $END) r(i)"""
SPARK = """INSERT INTO spark_catalog.main.t SELECT id, CAST(id % 1000 AS INT),
 CASE WHEN id % $BAD = 0 THEN 5000000000 + id ELSE id END,
 CASE WHEN id % $BAD = 0 THEN concat('x', id) ELSE CAST(id AS STRING) END,
 named_struct('a', CAST(id % 100 AS INT), 'b', concat('b', id % 7)),
 array(named_struct('a', CAST(id % 50 AS INT))), map('k', CAST(id % 9 AS INT))
 FROM range(1, $END)"""


@dataclass(frozen=True, slots=True)
class Twelve:
    """`right` is true for rows whose values in the changed column are right, in both dialects alike."""

    title: str
    columns: dict[str, str]
    right: str
    options: dict[str, str]
    blocked: str = ""

    @property
    def untouched(self) -> list[str]:
        """The columns of which every old value must be there afterwards as it was."""
        same = [name for name, type_ in BASE.items() if self.columns.get(name) == type_]
        return list(BASE) if self.blocked else same


@dataclass(frozen=True, slots=True)
class Side:
    """One engine: the environment, a query's one value, and a column as its hash function takes it."""

    env: str
    value: Callable[[str], object]
    table: str
    hashed: Callable[[list[str]], str]

    def count(self, right: str) -> int:
        return int(str(self.value(f"SELECT count(*) FROM {self.table} WHERE {right}")))

    def checksum(self, columns: list[str]) -> object:
        """Over all rows, whatever their order."""
        return self.value(f"SELECT {self.hashed(columns)} FROM {self.table}")


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
        "st.a = id % 100 AND st.b = concat('b', id % 7) AND st.c IS NULL",
        {},
    ),
    Twelve(
        "9 struct field widen",
        _with(st="STRUCT<a BIGINT, b STRING>"),
        "st.a = id % 100 AND st.b = concat('b', id % 7)",
        {},
    ),
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


def one(root: Path, side: Side, case: Twelve) -> tuple[bool, str]:
    """Whether it went as it must, and what to print."""
    write_manifest(root, "t", case.columns, case.options)
    project = Project.load(root)
    policy = Policy.of(column_conflict=POLICIES.get(case.title, "preserve"), allow_rewrite=True)
    before = side.checksum(case.untouched)
    started = time.perf_counter()
    plan = project.plan(side.env, policy)
    table = plan.tables[0]
    if case.blocked:
        seconds = time.perf_counter() - started
        found = next((f for f in table.findings if f.code == case.blocked), None)
        if found is None:
            return False, f"NOT BLOCKED  {seconds:6.2f} s"
        told = found.count == ROWS // BAD and side.checksum(case.untouched) == before
        return told, f"blocked: {found.count} rows, {len(found.witnesses)} named  {seconds:6.2f} s"
    if table.blocked:
        return False, "blocked: " + "; ".join(f.message for f in table.findings)
    report = project.apply(plan, confirm=lambda _: True)
    seconds = time.perf_counter() - started
    if not all(r.ok for r in report.tables):
        return False, f"FAILED: {report.tables[0].error}"
    rungs = "+".join(dict.fromkeys(s.rung.value for s in table.steps))
    first = "1" if side.env == "quick" else "0"
    kept = side.count(case.right.replace("{arr}", f"arr[{first}].a = id % 50"))
    same = side.checksum(case.untouched) == before
    others = "the other columns as they were" if same else "OTHER COLUMNS CHANGED"
    said = f"{rungs:<16} {kept:>9,} of {ROWS:,} kept, {others}  {seconds:6.2f} s"
    return kept == ROWS and same, said


def duckdb_side(root: Path) -> list[str]:
    import duckdb

    path = root / ".instar/dev.duckdb"

    def value(sql: str) -> object:
        with duckdb.connect(str(path)) as connection:
            row = connection.execute(sql).fetchone()
            return row[0] if row else None

    side = Side("quick", value, "main.t", lambda names: f"sum(hash({', '.join(names)}))")
    failed = []
    for case in TWELVE:
        path.unlink(missing_ok=True)
        (root / ".instar/state.db").unlink(missing_ok=True)
        write_manifest(root, "t", BASE)
        apply_now(root, "quick")
        with duckdb.connect(str(path)) as connection:
            connection.execute(_sized(DUCK))
        fine, said = one(root, side, case)
        print(f"twelve duckdb: {case.title:<30} {said}", flush=True)
        failed += [] if fine else [f"duckdb {case.title}"]
    return failed


def delta_side(root: Path) -> list[str]:
    from instar.spark import SparkSettings, open_session

    def hashed(names: list[str]) -> str:
        # Spark hashes no map.
        parts = ["map_entries(mp)" if name == "mp" else name for name in names]
        return f"sum(CAST(xxhash64({', '.join(parts)}) AS DECIMAL(38, 0)))"

    failed = []
    with open_session(SparkSettings(root=root / ".instar"), print) as handle:
        place = "spark_catalog.main.t"
        side = Side("dev", lambda sql: handle.run(sql)[0][0], place, hashed)
        for case in TWELVE:
            handle.run(f"DROP TABLE IF EXISTS {place}")
            (root / ".instar/state.db").unlink(missing_ok=True)
            write_manifest(root, "t", BASE)
            apply_now(root, "dev")
            handle.run(_sized(SPARK))
            fine, said = one(root, side, case)
            print(f"twelve delta:  {case.title:<30} {said}", flush=True)
            failed += [] if fine else [f"delta {case.title}"]
    return failed


def _sized(insert: str) -> str:
    return insert.replace("$END", str(ROWS + 1)).replace("$BAD", str(BAD))


SIDES = {"duckdb": duckdb_side, "delta": delta_side}


def main(engines: list[str] | None = None) -> None:
    with project_folder() as root:
        failed = [case for name in engines or SIDES for case in SIDES[name](root)]
    if failed:
        raise SystemExit(f"twelve: not as it must be: {'; '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
