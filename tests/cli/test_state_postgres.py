"""A project on DuckDB whose state is on PostgreSQL, by the command line; its password is nowhere to be seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from backends.postgres.server import PostgresServer
from cli.running import Result, instar
from instar.apply.failpoints import POINT

SECRET = "hunter2%2F%40x"
PLAIN = "hunter2/@x"
PROJECT = (
    "name: shop\nstate: ${INSTAR_STATE}\nenvironments:\n"
    "  dev: {type: duckdb, database: data/dev.duckdb, schema: main}\n"
)
ORDERS = "table: orders\ncolumns:\n  - {name: id, type: BIGINT}\n"
SEEN = (
    "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%'"
    " AND nspname NOT IN ('public', 'information_schema')"
)


@dataclass
class Team:
    """A project in a folder, its state in a database; every word that was printed is kept."""

    root: Path
    url: str
    printed: str = ""

    def run(self, *words: str, **env: str) -> Result:
        told = {"INSTAR_STATE": self.url, "INSTAR_TRACEBACK": "1", **env}
        result = instar(*words, cwd=self.root, env=told)
        self.printed += result.out + result.err
        return result

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return connection.execute(sql).fetchall()

    def kept(self) -> str:
        """Everything in the project's files and in the state store, as text."""
        files = [f for f in self.root.rglob("*") if f.is_file()]
        tables = self.ask("SELECT tablename FROM pg_tables WHERE schemaname = 'instar'")
        rows = [self.ask(f"SELECT t::text FROM instar.{name} t") for (name,) in tables]
        return b"".join(f.read_bytes() for f in files).decode("latin-1") + str(rows)


@pytest.fixture
def team(tmp_path: Path, postgres: PostgresServer) -> Iterator[Team]:
    (tmp_path / "tables").mkdir()
    (tmp_path / "instar.yml").write_text(PROJECT)
    (tmp_path / "tables" / "orders.yml").write_text(ORDERS)
    with psycopg.connect(postgres.url(), autocommit=True) as sql:
        sql.execute("CREATE DATABASE team")
        url = postgres.url("team").replace("postgres@", f"postgres:{SECRET}@")
        yield Team(tmp_path, url)
        sql.execute("DROP DATABASE team WITH (FORCE)")


def test_from_a_first_look_to_an_empty_plan(team: Team) -> None:
    for command in ("plan", "drift", "history", "doctor", "cleanup --dry-run", "run --dry-run"):
        assert team.run(*command.split()).code in (0, 5), command
    assert team.ask(SEEN) == [], "a look makes nothing"
    assert team.run("apply", "--yes").code == 0
    assert team.ask(SEEN) == [("instar",)]
    assert "orders" in team.run("history").out
    assert "nothing to do, 1 unchanged" in team.run("plan").out
    assert team.ask("SELECT n, name FROM instar.versions") == [(1, "orders")]
    assert team.ask("SELECT * FROM instar.locks") == []
    assert not list(team.root.rglob("state.db*"))
    for text in (team.printed, team.kept()):
        assert "hunter2" not in text


def test_killed_by_one_and_finished_by_another(team: Team) -> None:
    assert team.run("apply", "--yes", **{POINT: "create:ran"}).code == -9
    (holder,) = team.ask("SELECT owner FROM instar.locks")
    assert "apply" in str(holder)
    assert "1 unfinished run" in team.run("doctor").out
    done = team.run("apply", "--yes")
    assert done.code == 0, done.err
    assert "nothing to do, 1 unchanged" in team.run("plan").out
    assert team.ask("SELECT status FROM instar.entries") == [("finished",)]


def test_models_are_built_once(team: Team) -> None:
    (team.root / "models").mkdir()
    (team.root / "models" / "one.sql").write_text("SELECT 1 AS id")
    assert team.run("run", "--yes").code == 0
    again = team.run("run", "--yes")
    assert (again.code, "skipped" in again.out + again.err) == (0, True)
    assert "one" in team.run("history").out


@pytest.mark.parametrize(
    ("url", "code"),
    [
        (f"postgresql://me:{SECRET}@127.0.0.1:1/db", "E312"),
        (f"postgresql://me:{PLAIN}@127.0.0.1:1/db", "E311"),
    ],
    ids=["unreachable", "unreadable"],
)
def test_a_server_that_is_not_there(team: Team, url: str, code: str) -> None:
    for command in ("plan", "apply --yes", "apply --yes --format json", "history", "doctor"):
        result = team.run(*command.split(), INSTAR_STATE=url)
        assert result.code in (1, 2), command
        assert code in result.out + result.err
        assert "internal error" not in result.err
    assert "hunter2" not in team.printed
    assert "@x" not in team.printed
    assert not (team.root / "data").exists(), "nothing was begun without a journal"
