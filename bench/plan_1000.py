"""Plan of 1,000 tables x 50 columns, ten of them changed, on DuckDB, in a cold process.

Reference: a cold Python that imports duckdb and reads the same catalog (columns and constraints).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measure import INSTAR, command, conditions, middle

TABLES, COLUMNS, CHANGED = 1000, 50, 10
PLACE = 5
"""The column that becomes wider."""
AIM_WALL, AIM_MIB = 2.0, 200.0
TYPES = ("INT", "STRING", "DECIMAL(10, 2)", "DOUBLE", "TIMESTAMP_NTZ")
DUCK = ("INTEGER", "VARCHAR", "DECIMAL(10,2)", "DOUBLE", "TIMESTAMP")

READ = """
import duckdb
c = duckdb.connect('.instar/dev.duckdb', read_only=True)
n = len(c.execute('SELECT * FROM duckdb_columns()').fetchall())
c.execute('SELECT * FROM duckdb_constraints()').fetchall()
assert n >= 50000, n
"""


MAKE = "from pathlib import Path; from bench.plan_1000 import prepare; prepare(Path({!r}), {})"
"""In a process of its own: a child's peak memory begins at its parent's."""


def prepare(root: Path, tables: int) -> None:
    import duckdb

    (root / "tables").mkdir()
    (root / ".instar").mkdir()
    (root / "instar.yml").write_text(
        "name: bench\nversion: 1\ndefault_env: quick\nenvironments:\n"
        "  quick: {type: duckdb, database: .instar/dev.duckdb, schema: main}\n"
    )
    with duckdb.connect(str(root / ".instar/dev.duckdb")) as connection:
        columns = ", ".join(f"c{n:02} {DUCK[n % 5]}" for n in range(COLUMNS))
        for table in range(tables):
            connection.execute(f"CREATE TABLE t{table:04} ({columns})")
    for table in range(tables):
        lines = [f"table: t{table:04}", "columns:"]
        for n in range(COLUMNS):
            kind = "BIGINT" if n == PLACE and table < CHANGED else TYPES[n % 5]
            lines.append(f"  - {{name: c{n:02}, type: '{kind}'}}")
        (root / "tables" / f"t{table:04}.yml").write_text("\n".join(lines) + "\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        subprocess.run([sys.executable, "-c", MAKE.format(folder, TABLES)], check=True)
        plan = [*INSTAR, "plan", "--format", "json", "--detailed-exit-code"]
        first = command(plan, root, expect=(5,))
        rounds = [
            (command(plan, root, expect=(5,)), command([sys.executable, "-c", READ], root))
            for _ in range(5)
        ]
        ours = middle([ours for ours, _ in rounds])
        bare = middle([bare for _, bare in rounds])
        print(f"plan_1000: first time (manifests not cached)  {first}")
        print(f"plan_1000: instar plan                        {ours}")
        print(f"plan_1000: reference, bare catalog read       {bare}")
        print(f"plan_1000: {ours.wall / bare.wall:.2f}x wall, {ours.cpu / bare.cpu:.2f}x CPU")
        met = ours.wall < AIM_WALL and ours.mib < AIM_MIB
        aim = f"aim {AIM_WALL:.0f} s wall on a quiet machine, {AIM_MIB:.0f} MiB"
        print(f"plan_1000: {aim}: {'met' if met else 'MISSED'} ({conditions()})")


if __name__ == "__main__":
    main()
