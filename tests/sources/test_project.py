"""instar.yml: what it says, where it is found, and how it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar.errors import InstarError, ProjectError, UsageError
from instar.sources.models import load_models
from instar.sources.project import find_root, load_project

FULL = """\
name: shop
version: 1
state: ${STORE}
default_env: prod
environments:
  dev:
    type: spark
    conf: {spark.sql.shuffle.partitions: 4, spark.hadoop.fs.s3a.secret.key: "${KEY}"}
  prod:
    type: spark
    schema: sales
    format: iceberg
    connect_url: sc://host:15002/;token=${KEY}
  quick: {type: duckdb}
  snow:
    type: snowflake
    account: me-1
    database: SHOP
    user: loader
    password: ${KEY}
models:
  legacy: {format: parquet, n: 3, on: true, price: '$${NOT_A_VARIABLE}'}
"""


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE", "postgresql://me:hunter2@host/db")
    monkeypatch.setenv("KEY", "hunter2")


def load(folder: Path, text: str):  # type: ignore[no-untyped-def]
    (folder / "instar.yml").write_text(text)
    return load_project(folder)


@pytest.mark.usefixtures("secrets")
def test_everything_that_is_said_is_read(tmp_path: Path) -> None:
    project = load(tmp_path, FULL)
    assert (project.name, project.version, project.default_env) == ("shop", 1, "prod")
    assert project.state.reveal() == "postgresql://me:hunter2@host/db"
    dev, prod, quick, snow = project.environments.values()
    assert (dev.type, dev.schema, dev.format) == ("spark", "main", "delta")
    assert dev.conf["spark.sql.shuffle.partitions"] == "4"
    assert (prod.schema, prod.format) == ("sales", "iceberg")
    assert prod.connect_url.reveal() == "sc://host:15002/;token=hunter2"
    assert (quick.format, quick.database) == ("", ".instar/dev.duckdb")
    assert (snow.schema, snow.database) == ("PUBLIC", "SHOP")
    assert dict(snow.options) == {"account": "me-1", "user": "loader", "password": "hunter2"}
    assert project.models["legacy"] == {
        "format": "parquet",
        "n": 3,
        "on": True,
        "price": "${NOT_A_VARIABLE}",
    }


@pytest.mark.usefixtures("secrets")
def test_secrets_never_show(tmp_path: Path) -> None:
    project = load(tmp_path, FULL)
    shown = f"{project} {project!r} {project.state} {project.environments['snow'].options}"
    assert "hunter2" not in shown
    assert "*****" in shown


def test_the_least_that_must_be_said(tmp_path: Path) -> None:
    project = load(tmp_path, "name: x\nenvironments: {only: {type: duckdb}}\n")
    assert project.default_env == "only"
    assert project.state.reveal() == "sqlite:///.instar/state.db"
    assert project.environment().name == "only"


def test_a_project_is_found_from_a_folder_inside(tmp_path: Path) -> None:
    (tmp_path / "instar.yml").write_text("name: x\nenvironments: {e: {type: duckdb}}\n")
    inside = tmp_path / "tables" / "deep"
    inside.mkdir(parents=True)
    assert find_root(inside) == tmp_path
    assert load_project(inside).root == tmp_path


def test_no_project_is_said(tmp_path: Path) -> None:
    with pytest.raises(ProjectError) as caught:
        load_project(tmp_path)
    assert caught.value.code == "E108"


def test_an_unknown_environment_is_said_with_the_nearest(tmp_path: Path) -> None:
    project = load(tmp_path, "name: x\nenvironments: {prod: {type: duckdb}}\n")
    with pytest.raises(UsageError) as caught:
        project.environment("prd")
    assert caught.value.code == "E110"
    assert caught.value.hint == "Did you mean 'prod'?"


HEAD = "name: x\nenvironments:\n"


@pytest.mark.parametrize(
    ("text", "code", "line", "says"),
    [
        ("nmae: x\n", "E103", 1, "Did you mean 'name'?"),
        ("name: x\n", "E106", 1, "'environments' is missing"),
        ("name: x\nenvironments: {}\n", "E106", 2, "names none"),
        ("name: x\nenvironments:\n", "E106", None, "'environments' is empty"),
        ("name: x\nname: y\n", "E105", 2, "'name' stands twice"),
        ("name: x\nversion: 2\nenvironments: {e: {type: duckdb}}\n", "E111", 2, "version 2"),
        ("name: x\nversion: one\n", "E104", 2, "a whole number, not 'one'"),
        ("name: [x]\n", "E104", 1, "'name' must be a text, not a list"),
        ("- a\n", "E104", 1, "must be a mapping"),
        (HEAD + "  e: duckdb\n", "E104", 3, "must be a mapping"),
        (HEAD + "  e: {schema: s}\n", "E106", 3, "'type' is missing"),
        (HEAD + "  e: {type: sprak}\n", "E109", 3, "Did you mean 'spark'?"),
        (HEAD + "  e: {type: bigquery}\n", "E109", 3, "not available yet"),
        (HEAD + "  e:\n    type: duckdb\n    databse: x\n", "E103", 5, "Did you mean 'database'?"),
        (HEAD + "  e: {type: duckdb}\n  e: {type: duckdb}\n", "E105", 4, "'e' stands twice"),
        (HEAD + "  e:\n    type: spark\n    format: detla\n", "E111", 5, "Did you mean 'delta'?"),
        (
            HEAD + "  e:\n    type: spark\n    connect_url: sc://h\n    master: m\n",
            "E112",
            6,
            "both 'connect_url' and 'master'",
        ),
        (HEAD + "  e: {type: snowflake, database: D}\n", "E106", 3, "'account' is missing"),
        ("default_env: b\n" + HEAD + "  e: {type: duckdb}\n", "E110", 1, "There are: e."),
        ("state: ${NO_SUCH_VARIABLE}\n", "E107", 1, "NO_SUCH_VARIABLE is not set"),
        (HEAD + "  e:\n    type: ${}\n", "E107", 4, "Write ${NAME}."),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, text: str, code: str, line: int | None, says: str
) -> None:
    with pytest.raises(InstarError) as caught:
        load(tmp_path, text).environment()
    error = caught.value
    assert error.code == code
    assert says in f"{error.message} {error.hint}"
    assert error.where is not None
    assert error.where.file == "instar.yml"
    if line is not None:
        assert error.where.line == line
        assert error.where.text == text.splitlines()[line - 1]


def test_a_substituted_value_is_never_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KIND", "hunter2")
    with pytest.raises(ProjectError) as caught:
        load(tmp_path, HEAD + "  e: {type: '${KIND}'}\n")
    error = caught.value
    assert error.code == "E109"
    assert "hunter2" not in f"{error.message} {error.hint} {error.where}"
    assert "${KIND}" in error.message


TWO = """\
name: x
environments:
  dev: {type: duckdb, database: dev.duckdb}
  prod:
    type: postgres
    database: ${NO_SUCH_HOST}/x
    password: ${NO_SUCH_KEY}
models:
  m: {materialization: view}
"""


def test_a_variable_is_missed_only_where_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.sql").write_text("SELECT 1 AS n")
    found = load(tmp_path, TWO)
    assert found.environment().name == "dev"
    assert load_models(found, found.environment()).order == ("m",)
    assert found.names == ("dev", "prod")
    with pytest.raises(ProjectError) as caught:
        found.environment("prod")
    error = caught.value
    assert error.message == "the environment variable NO_SUCH_HOST is not set"
    assert str(error.where) == "instar.yml:6:15"
    assert [(e.code, e.where.line) for e in error.every if e.where] == [("E107", 6), ("E107", 7)]
    with pytest.raises(UsageError, match="no environment 'prd'") as named:
        found.environment("prd")
    assert named.value.hint == "Did you mean 'prod'?"


def test_a_setting_that_is_nothing_but_empty_variables_is_no_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("BLANK", " ")
    monkeypatch.setenv("SAID", "x")
    text = (
        "name: p\ndefault_env: a\nenvironments:\n"
        '  a: {type: duckdb, database: "${SAID}${EMPTY}", schema: "s${EMPTY}"}\n'
        '  b: {type: duckdb, database: "${EMPTY}"}\n'
        '  c: {type: duckdb, database: " ${EMPTY}${BLANK} "}\n'
    )
    found = load(tmp_path, text)
    assert (found.environment().database, found.environment().schema) == ("x", "s")
    told = {}
    for name in ("b", "c"):
        with pytest.raises(ProjectError) as caught:
            found.environment(name)
        told[name] = (caught.value.code, caught.value.message, str(caught.value.where))
    assert told == {
        "b": ("E107", "the environment variable EMPTY is empty", "instar.yml:5:31"),
        "c": ("E107", "the environment variables EMPTY and BLANK are empty", "instar.yml:6:31"),
    }


def test_every_mistake_of_the_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProjectError) as caught:
        load(
            tmp_path,
            "nmae: x\nstate: ${NO_SUCH_STATE}\ndefault_env: c\nenvironments:\n"
            "  a: {type: sprak}\n  b: {type: duckdb, databse: x, schema: [s]}\n",
        )
    told = {(e.code, e.where.line) for e in caught.value.every if e.where}
    expected = {("E103", 1), ("E107", 2), ("E110", 3), ("E109", 5), ("E103", 6), ("E104", 6)}
    assert told == expected
    assert len(caught.value.every) == len(expected), "and each of them once"
