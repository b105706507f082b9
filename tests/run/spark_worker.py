"""A process that runs a project's models on the shared Spark, to be killed by its failpoint."""

from __future__ import annotations

import sys
from pathlib import Path

from instar import Project
from instar.spark import SparkSettings, open_session


def main(root: str, spark_root: str) -> None:
    with open_session(SparkSettings(Path(spark_root)), note=lambda _: None) as handle:
        Project.load(root).run(confirm=lambda _: True, spark=handle.session)


if __name__ == "__main__":
    main(*sys.argv[1:])
