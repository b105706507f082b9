"""The driver's peak memory with 1,000 models on Spark: a cold plan of a new project on the embedded server.

Reference: the same server and the same kind of command for a project of one model. `INSTAR_BENCH_MODELS` sets
another number. The driver is the server's JVM, which has its limit by `spark.driver.memory`; beside it stands
the planning process itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from bench.measure import INSTAR, Measured, command, conditions
from bench.model_projects import SOURCE, TABLE, write_instar
from bench.projects import project_folder

MODELS = int(os.environ.get("INSTAR_BENCH_MODELS", "1000"))


def peak(pid: int) -> float:
    """MiB that the process has held at most since it began."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def planned(count: int) -> tuple[Measured, float]:
    from instar.spark import SparkSettings, open_session, server_status

    with project_folder() as root:
        write_instar(root, count)
        with open_session(SparkSettings(root=root / ".instar"), print) as spark:
            source = SOURCE.replace("i + ", "id + ")
            spark.run("CREATE SCHEMA IF NOT EXISTS spark_catalog.main")
            spark.run(
                f"CREATE TABLE spark_catalog.main.{TABLE} USING delta AS SELECT {source} FROM range(9)"
            )
        plan = [*INSTAR, "plan", "--env", "dev", "--format", "json", "--detailed-exit-code"]
        found = command(plan, root, expect=(5,), says=f"m{count - 1:04}")
        server = server_status(root / ".instar")
        assert server is not None
        return found, peak(server.jvm)


def main() -> None:
    one, driver_of_one = planned(1)
    many, driver = planned(MODELS)
    print(f"models_spark: instar plan, {MODELS} new models  {many}; driver {driver:.0f} MiB")
    print(f"models_spark: reference, one model       {one}; driver {driver_of_one:.0f} MiB")
    print(f"models_spark: {driver / driver_of_one:.2f}x the driver's memory ({conditions()})")


if __name__ == "__main__":
    main()
