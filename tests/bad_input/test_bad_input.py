"""Bad input, point by point: a code, the file and the line where there is one, and nothing touched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from backends.postgres.server import PostgresServer
from bad_input.case_text import Case, cases
from bad_input.commands import ended
from bad_input.worlds import DuckDBWorld, PostgresWorld, World, files
from cli.running import Result


@pytest.fixture
def duckdb_world(tmp_path: Path) -> DuckDBWorld:
    return DuckDBWorld(tmp_path)


@pytest.fixture
def postgres_world(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PostgresWorld]:
    case: Case = request.node.callspec.params["case"]
    full = case.part("with", "postgres") == "a full disk"
    server: PostgresServer = request.getfixturevalue("small_server" if full else "server")
    world = PostgresWorld(tmp_path, server.url())
    monkeypatch.setenv("DATABASE_URL", world.url)
    world.sql("CREATE SCHEMA main")
    yield world
    world.sql("DROP SCHEMA main CASCADE")


def prepared(case: Case, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"instar.yml": world.project(), **case.files}.items():
        path = world.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    for line in case.lines("variables", world.engine):
        name, _, value = line.partition("=")
        monkeypatch.setenv(name, value)
    if live := case.part("live", world.engine):
        world.sql(live)


def check(
    case: Case, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared(case, world, monkeypatch)
    monkeypatch.chdir(world.root)
    *before, last = case.lines("run", world.engine)
    for command in before:
        done = ended(command, case, world, capsys)
        assert done.code == 0, done
    pictures, own = [world.picture()], files(world.root)

    def meanwhile() -> None:
        world.sql(case.part("when asked", world.engine))
        pictures.append(world.picture())

    with ExitStack() as stack:
        if held := case.part("held", world.engine):
            stack.enter_context(world.held(held))
        result = ended(last, case, world, capsys, judged=True, meanwhile=meanwhile)
    said(case.lines("says", world.engine), result, world.root)
    if "afterwards" not in case.parts:
        assert world.picture() == pictures[-1], "nothing is touched"
    assert files(world.root) == own, "the project's files are as they were"


def said(expected: list[str], result: Result, root: Path) -> None:
    """Each line in its order, however far it is indented; paths begin at the project."""
    exit_line, *wanted = expected
    told = f"exit {result.code}\n{result.out}{result.err}".replace(f"{root}/", "")
    assert f"exit {result.code}" == exit_line, told
    assert "internal error" not in told, told
    rest = iter(line.strip() for line in told.splitlines())
    for line in wanted:
        assert any(_same(line.strip(), here) for here in rest), (
            f"{line}\n\nis not said by\n\n{told}"
        )


def _same(wanted: str, here: str) -> bool:
    """`…` at the end stands for what differs from run to run."""
    return here.startswith(wanted[:-1]) if wanted.endswith("…") else here == wanted


@pytest.mark.parametrize("case", cases("duckdb"), ids=lambda c: c.name)
def test_on_duckdb(
    case: Case,
    duckdb_world: DuckDBWorld,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check(case, duckdb_world, monkeypatch, capsys)


@pytest.mark.parametrize("case", cases("postgres"), ids=lambda c: c.name)
def test_on_postgres(
    case: Case,
    postgres_world: PostgresWorld,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    check(case, postgres_world, monkeypatch, capsys)
