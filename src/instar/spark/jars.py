"""The engine jars: from a folder, from the user's cache, or fetched once by Spark's own resolver."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from instar.errors import EnvironmentProblem
from instar.spark.files import locked
from instar.spark.launch import clean_environment, script, spark_home
from instar.spark.settings import SparkSettings
from instar.spark.versions import DELTA, ICEBERG, PACKAGES, SPARK, SPARK_LINE, SQLITE_JDBC

# Spark ships these itself; not fetching them halves the download.
_SHIPPED = ("org.apache.hadoop:*", "org.apache.parquet:*", "org.apache.logging.log4j:*")
_VERSION = re.compile(r"-\d[\w.\-]*\.jar$")
_FETCH_SECONDS = 900


def engine_jars(settings: SparkSettings, note: Callable[[str], None]) -> list[Path]:
    """The jars to put on Spark's class path, sorted by name."""
    folder = settings.jars_folder
    if folder is None:
        folder = cache_folder() / _set_name()
        if not folder.is_dir():
            _fetch(folder, settings.maven_repository, note)
    found = sorted(folder.absolute().glob("*.jar"))
    missing = [str(p) for p in PACKAGES if not any(j.name.startswith(p.artifact) for j in found)]
    if missing:
        raise EnvironmentProblem(
            "E206",
            f"The jars folder {folder} lacks {', '.join(missing)}.",
            hint="Put these jars and what they depend on into the folder, or name none"
            " and let Instar fetch them.",
        )
    return _without_shipped(found)


def cache_folder() -> Path:
    """Where fetched jars are kept for all projects of this user."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "instar" / "jars"


def _set_name() -> str:
    return f"spark-{SPARK}-delta-{DELTA}-iceberg-{ICEBERG}-sqlite-{SQLITE_JDBC}"


def _fetch(folder: Path, repository: str | None, note: Callable[[str], None]) -> None:
    with locked(folder.parent / "fetch.lock"):
        if folder.is_dir():
            return
        note(f"Fetching the Delta {DELTA} and Iceberg {ICEBERG} jars for Spark {SPARK_LINE}, once.")
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetch-") as work:
            _resolve(Path(work), repository)
            ready = Path(work) / "ready"
            ready.mkdir()
            for jar in (Path(work) / "ivy" / "jars").glob("*.jar"):
                # The resolver writes `group_artifact-version.jar`; groups have no underscore.
                shutil.move(jar, ready / jar.name.split("_", 1)[1])
            ready.rename(folder)


def _resolve(work: Path, repository: str | None) -> None:
    (work / "conf").mkdir()
    environment = clean_environment(work / "conf")
    if repository:
        environment["DEFAULT_ARTIFACT_REPOSITORY"] = repository
    command = [
        script("spark-submit"),
        *("--conf", f"spark.jars.ivy={work / 'ivy'}"),
        *("--packages", ",".join(str(package) for package in PACKAGES)),
        *("--exclude-packages", ",".join(_SHIPPED)),
        # Any main class would do: the jars are resolved before it runs.
        *("--class", "org.apache.ivy.Main", "spark-internal", "-version"),
    ]
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_FETCH_SECONDS,
            check=False,
            cwd=work,
        )
        output = done.stdout + done.stderr
        failed = done.returncode != 0
    except subprocess.TimeoutExpired:
        output, failed = f"No answer within {_FETCH_SECONDS} s.", True
    if failed or not (work / "ivy" / "jars").is_dir():
        raise EnvironmentProblem(
            "E206",
            f"The engine jars could not be fetched: {_reason(output)}",
            hint="Set INSTAR_MAVEN_REPOSITORY to a Maven mirror, or INSTAR_JARS to a folder"
            " that holds the jars.",
        )


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"not found|Exception|error|refused", line)]
    return (telling or lines or ["the resolver said nothing."])[0]


def _without_shipped(jars: list[Path]) -> list[Path]:
    """Leave out what Spark has in another version: ours would come first and break it."""
    shipped = {_VERSION.sub("", jar.name) for jar in (spark_home() / "jars").glob("*.jar")}
    return [jar for jar in jars if _VERSION.sub("", jar.name) not in shipped]
