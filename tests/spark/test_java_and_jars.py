"""What must be on the machine: a Java that fits and the engine jars."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from instar.errors import EnvironmentProblem
from instar.spark import SparkSettings, jars
from instar.spark.jars import engine_jars
from instar.spark.java import find_java
from instar.spark.launch import clean_environment, spark_home
from instar.spark.versions import PACKAGES


def fake_java(folder: Path, version: str) -> Path:
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    executable.chmod(0o755)
    return folder


@pytest.mark.parametrize(("version", "major"), [("17.0.15", 17), ("21", 21), ("21.0.2-ea", 21)])
def test_java_home_with_a_fitting_java_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, major: int
) -> None:
    home = fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", "/nowhere")
    assert (find_java().home, find_java().major) == (home, major)


@pytest.mark.parametrize(("version", "shown"), [("1.8.0_392", "Java 8"), ("11.0.2", "Java 11")])
def test_java_too_old_says_what_was_found_and_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, shown: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentProblem) as caught:
        find_java()
    assert caught.value.code == "E201"
    assert shown in caught.value.message
    assert "openjdk-17" in (caught.value.hint or "")


def test_old_java_home_is_passed_over_for_a_fitting_java_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.2")))
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "new", "17.0.1") / "bin"))
    assert find_java().home == tmp_path / "new"


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentProblem, match="no `java`"):
        find_java()


def put_jars(folder: Path, *more: str) -> None:
    for package in PACKAGES:
        (folder / f"{package.artifact}-{package.version}.jar").touch()
    for name in more:
        (folder / name).touch()


def test_jars_of_a_folder_without_what_spark_ships(tmp_path: Path) -> None:
    put_jars(tmp_path, "jackson-core-2.1.0.jar", "delta-storage-4.4.0.jar")
    names = [jar.name for jar in engine_jars(SparkSettings(tmp_path, jars=tmp_path), print)]
    assert "delta-storage-4.4.0.jar" in names
    assert "jackson-core-2.1.0.jar" not in names
    assert names == sorted(names)


def test_environment_names_the_folder_over_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_jars(tmp_path)
    monkeypatch.setenv("INSTAR_JARS", str(tmp_path))
    monkeypatch.setenv("INSTAR_MAVEN_REPOSITORY", "file:///mirror")
    settings = SparkSettings(tmp_path, jars=tmp_path / "other", repository="file:///other")
    assert engine_jars(settings, print)[0].parent == tmp_path
    assert settings.maven_repository == "file:///mirror"


def test_folder_that_lacks_a_jar_names_it(tmp_path: Path) -> None:
    put_jars(tmp_path)
    (tmp_path / f"{PACKAGES[1].artifact}-{PACKAGES[1].version}.jar").unlink()
    with pytest.raises(EnvironmentProblem, match=PACKAGES[1].artifact) as caught:
        engine_jars(SparkSettings(tmp_path, jars=tmp_path), print)
    assert caught.value.code == "E206"


def resolver(tmp_path: Path, body: str) -> str:
    script = tmp_path / "spark-submit"
    script.write_text(f"#!{sys.executable}\nimport os, pathlib, sys\n{body}\n")
    script.chmod(0o755)
    return str(script)


def test_fetched_once_from_the_mirror_then_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = (
        "assert os.environ['DEFAULT_ARTIFACT_REPOSITORY'] == 'file:///mirror'\n"
        "ivy = next(a for a in sys.argv if a.startswith('spark.jars.ivy=')).split('=', 1)[1]\n"
        "folder = pathlib.Path(ivy, 'jars'); folder.mkdir(parents=True)\n"
        "for package in sys.argv[sys.argv.index('--packages') + 1].split(','):\n"
        "    (folder / '{}_{}-{}.jar'.format(*package.split(':'))).touch()\n"
    )
    monkeypatch.setattr(jars, "script", lambda _: resolver(tmp_path, body))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    notes: list[str] = []
    settings = SparkSettings(tmp_path, repository="file:///mirror")
    first = engine_jars(settings, notes.append)
    assert engine_jars(settings, notes.append) == first
    assert len(first) == len(PACKAGES)
    assert len(notes) == 1


def test_failed_fetch_leaves_nothing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "sys.exit('Server access error at url: Connection refused')"
    monkeypatch.setattr(jars, "script", lambda _: resolver(tmp_path, body))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(EnvironmentProblem, match="Connection refused") as caught:
        engine_jars(SparkSettings(tmp_path), lambda _: None)
    assert caught.value.code == "E206"
    assert not list((tmp_path / "cache" / "instar" / "jars").glob("*/"))


def test_environment_of_spark_is_free_of_other_sparks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("SPARK_HOME", "elsewhere")
    made = clean_environment(tmp_path)
    assert "elsewhere" not in made.values()
    assert made["SPARK_HOME"] == str(spark_home())


def test_importing_the_package_does_not_load_pyspark() -> None:
    probe = "import sys, instar.spark; sys.exit('pyspark' in sys.modules or 'grpc' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
