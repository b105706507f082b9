"""Probe every operation on every engine and publish what was seen: `python -m tests.matrix`."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import uuid
from pathlib import Path

import duckdb

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from backends.duckdb.harness import DuckDBHarness  # noqa: E402
from backends.spark.harness import BACKENDS, SparkHarness  # noqa: E402
from instar.app.matrix import RESOURCE, matrix  # noqa: E402
from instar.backends.spark.base import SparkBackend  # noqa: E402
from instar.backends.sql import quote_backtick  # noqa: E402
from instar.spark import SparkHandle, SparkSettings, open_session, stop_server  # noqa: E402
from instar.spark.versions import DELTA, ICEBERG, SPARK  # noqa: E402
from instar.testing.matrix import Cell, Known, matrix_text, probed  # noqa: E402
from instar.testing.scenario import Harness  # noqa: E402

PARTIAL = ROOT / ".instar" / "matrix.json"

PAGE = """\
# Capability matrix

What each engine did when each operation was run on it, with rows, by `make docs`. Generated; `instar matrix` prints
the same.

"""


def versions() -> dict[str, str]:
    return {
        "duckdb": duckdb.__version__,
        "delta": DELTA,
        "iceberg": ICEBERG,
        "parquet": f"(Spark {SPARK})",
    }


def spark_harness(handle: SparkHandle, make: type[SparkBackend], label: str) -> SparkHarness:
    backend = make(handle)
    schema = f"matrix_{label}_{backend.rules.name}_{uuid.uuid4().hex[:8]}"
    place = f"{quote_backtick(backend.catalog)}.{quote_backtick(schema)}"
    handle.run(f"CREATE SCHEMA IF NOT EXISTS {place}")
    return SparkHarness(backend, schema)


def remembered() -> Known:
    """The cells of a probe that was cut off."""
    if not PARTIAL.exists():
        return {}
    rows = json.loads(PARTIAL.read_text(encoding="utf-8"))["operations"]
    return {op: {b: Cell(**cell) for b, cell in row.items()} for op, row in rows.items()}


def remember(operation: str, backend: str, known: Known) -> None:
    print(f"{operation}: {backend} {known[operation][backend].rung}", flush=True)
    PARTIAL.parent.mkdir(exist_ok=True)
    PARTIAL.write_text(matrix_text(known, versions()), encoding="utf-8")


def main() -> None:
    kept = os.environ.get("INSTAR_TEST_SPARK_ROOT")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(kept or folder)
        with open_session(SparkSettings(root), print) as handle:
            spark = [spark_harness(handle, make, "docs") for make in BACKENDS.values()]
            harnesses: list[Harness] = [DuckDBHarness(duckdb.connect()), *spark]
            found = probed(harnesses, remembered(), remember)
        if not kept:
            stop_server(root)
    (ROOT / "src/instar" / RESOURCE).write_text(matrix_text(found, versions()), encoding="utf-8")
    page = PAGE + matrix("markdown") + "\n"
    (ROOT / "docs/reference/matrix.md").write_text(page, encoding="utf-8")
    PARTIAL.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
