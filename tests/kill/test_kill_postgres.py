"""Kill at every failpoint on PostgreSQL; `make kill` takes all cases, the plain suite the telling ones."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from apply.worlds import CASES, Case
from backends.postgres.server import PostgresServer
from instar.apply.failpoints import POINT, TRACE
from kill.harness import KILLED, ForkServer, Killer, Score, without_memory
from kill.postgres_world import OTHERWISE
from lifecycle.worker import failpoints, run
from lifecycle.world import World, postgres_world

ENGINE = "postgres"
_TELLING = ("key", "text to number beside a key")
_ALL = [c for c in CASES if c.name not in OTHERWISE]


def _chosen(*telling: str) -> list[Case]:
    return [c for c in _ALL if os.environ.get("INSTAR_KILL_ALL") or c.name in telling]


@pytest.fixture(scope="module")
def cluster() -> Iterator[PostgresServer]:
    with PostgresServer() as made:
        yield made


@pytest.fixture(scope="module")
def url(cluster: PostgresServer) -> str:
    return cluster.url()


@pytest.fixture(scope="module")
def server(url: str) -> Iterator[ForkServer]:
    """A fork server of its own: its children find PostgreSQL by the environment."""
    os.environ["INSTAR_TEST_PG_URL"] = url
    with ForkServer() as running:
        yield running
    del os.environ["INSTAR_TEST_PG_URL"]


@pytest.fixture(autouse=True)
def _tidy(url: str) -> Iterator[None]:
    """A database a kill is dropped again: they are small, but many."""
    yield
    with psycopg.connect(url, autocommit=True) as sql:
        names = sql.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE 'kill%%'"
        ).fetchall()
        for (name,) in names:
            sql.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("case", _chosen(*_TELLING), ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE).everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", without_memory(_chosen("key")), ids=lambda c: c.name)
def test_killed_anywhere_with_the_state_store_lost(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE, amnesia=True).everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", _chosen("key"), ids=lambda c: c.name)
def test_the_server_is_killed_anywhere(
    case: Case, tmp_path: Path, cluster: PostgresServer, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE, victim=cluster).everywhere(case, tmp_path, score)


OLD = """table: t
primary_key: [id]
columns:
  - {name: id, type: BIGINT, nullable: false}
  - {name: age, type: VARCHAR}
"""
NEW = OLD.replace("type: VARCHAR", "type: INTEGER")
ROWS = ["1 | '36'", "2 | '41'"]
HANGING = """CREATE INDEX by_age ON t (age); CREATE VIEW ids AS SELECT id FROM t;
CREATE TABLE child (id BIGINT REFERENCES t (id)); INSERT INTO child VALUES (1)"""
LOOK = {
    "tables": "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
    "indexes": "SELECT tablename, indexname FROM pg_indexes WHERE schemaname = 'public' ORDER BY 2",
    "links": "SELECT confrelid::regclass::text, convalidated FROM pg_constraint WHERE contype = 'f'",
    "seen": "SELECT id FROM ids ORDER BY id",
    "columns": """SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = 'public' ORDER BY table_name, ordinal_position""",
}


def seen(url: str) -> dict[str, object]:
    """What is there, by the catalog's own words: the table, its old copies, and what hangs on it."""
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as sql:
        found: dict[str, object] = {k: sql.execute(q).fetchall() for k, q in LOOK.items()}
        for (name,) in sql.execute(LOOK["tables"]).fetchall():
            found[name] = sql.execute(f"SELECT * FROM {name} ORDER BY id").fetchall()
    return found


def rewritten(root: Path, url: str) -> None:
    """A project with a table that a rewrite has left an old copy of."""
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as sql:
        world: World = postgres_world(root, "postgres", "lock_timeout: 2", sql)
        world.apply(OLD)
        world.fill(ROWS)
        world.sql(HANGING)
        world.apply(NEW)


@pytest.mark.parametrize("what", ["revert", "cleanup"])
def test_a_revert_and_a_cleanup_killed_anywhere_are_finished(
    what: str,
    tmp_path: Path,
    cluster: PostgresServer,
    score: Score,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each kill in a database of its own, made from that of the start; a few places in the plain suite."""

    def another(name: str) -> dict[str, str]:
        with psycopg.connect(cluster.url(), autocommit=True) as sql:
            template = " TEMPLATE kill_start" if name != "start" else ""
            sql.execute(f"CREATE DATABASE kill_{name}{template}")
        if name != "start":
            shutil.copytree(tmp_path / "start", tmp_path / name)
        return {"DATABASE_URL": cluster.url(f"kill_{name}")}

    (tmp_path / "start").mkdir()
    start = another("start")["DATABASE_URL"]
    monkeypatch.setenv("DATABASE_URL", start)
    rewritten(tmp_path / "start", start)
    calm, trace = another("calm"), tmp_path / "trace"
    assert run(tmp_path / "calm", what, **calm, **{TRACE: str(trace)}) == 0
    expected = seen(calm["DATABASE_URL"])
    points = failpoints(trace)
    assert len(points) > 5
    for number, point in enumerate(points):
        if not os.environ.get("INSTAR_KILL_ALL") and number % 4:
            continue
        place = another(str(number))
        root = tmp_path / str(number)
        assert run(root, what, **place, **{POINT: point}) == KILLED, point
        assert run(root, "recover", **place) == 0, point
        found = seen(place["DATABASE_URL"])
        score.count(f"{what} @ {point}", "" if found == expected else f"{found}, not {expected}")
    assert score.wrong == []
