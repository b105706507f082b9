"""Runs the benchmarks by name, or all: `python -m bench [name …]`."""

from __future__ import annotations

import importlib
import sys

from bench.measure import conditions

ALL = (
    "help_time",
    "plan_1000",
    "peers",
    "models_1000",
    "models_spark",
    "run_100",
    "alter_only",
    "rewrite_5m",
    "recreate_pg",
    "model_changes",
    "twelve_changes",
    "delta_200",
)


def main(names: list[str]) -> None:
    unknown = [n for n in names if n not in ALL]
    if unknown:
        raise SystemExit(f"no benchmark {', '.join(unknown)}; there are {', '.join(ALL)}")
    for name in names or ALL:
        print(f"# {name} ({conditions()})", flush=True)
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
