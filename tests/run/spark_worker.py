"""A process that runs a project's models on the shared Spark, to be killed by its failpoint."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from backends.spark.few_rows import for_few_rows
from instar import Project
from instar.errors import InstarError
from instar.run.options import RunOptions
from instar.spark import SparkSettings, open_session
from models.world import policy

NOTHING_TO_RESUME = "E431"


def start(root: Path, spark_root: Path, *words: str, **environment: str) -> int:
    """The exit code of such a process; minus nine if it was killed."""
    folders = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-m", "run.spark_worker", str(root), str(spark_root), *words],
        env={**os.environ, "PYTHONPATH": folders, **environment},
        check=False,
    )
    return done.returncode


def work(root: Path, session: object, *, resume: bool) -> None:
    """One model after the other: the failpoints come in the same order each time."""

    def once(*, resume: bool) -> None:
        report = Project.load(root).run(
            policy=policy(("allow_rewrite", "allow_full_refresh")),
            options=RunOptions(threads=1),
            confirm=lambda _: True,
            resume=resume,
            spark=session,
        )
        assert report.ok, report.results

    try:
        once(resume=resume)
    except InstarError as error:
        # Killed before the run was written down, or after it was ended: a new run does the rest.
        if not resume or error.code != NOTHING_TO_RESUME:
            raise
        once(resume=False)


def main(root: str, spark_root: str, resume: str = "") -> None:
    with for_few_rows(open_session(SparkSettings(Path(spark_root)), print)) as handle:
        work(Path(root), handle.session, resume=bool(resume))


if __name__ == "__main__":
    main(*sys.argv[1:])
