"""Kill at every failpoint on the DSQL test bed; `make kill` takes all cases, the plain suite a telling one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from apply.worlds import CASES, Case
from backends.dsql.bed import DsqlBed
from kill.dsql_world import INSIDE, OTHERWISE, URL
from kill.harness import ForkServer, Killer, Score

ENGINE = "dsql"
_TELLING = ("text to number beside a key",)
_POINTS = frozenset(
    {
        "recreate begun",
        "recreate batch, not committed",
        "recreate batch done",
        "recreate index",
        "recreate tidy",
        "recreate renamed aside",
        "recreate compared again",
        "recreate renamed in",
        "recreate look",
        "name taken",
        "recreate kept",
    }
)
"""Between any two transactions of a swap; `make kill` strikes everywhere."""
_ONLY = frozenset[str]() if os.environ.get("INSTAR_KILL_ALL") else _POINTS
_LOST = frozenset({"recreate batch done", "recreate renamed aside", "recreate renamed in"}) & _ONLY
_COPIED = (
    "text to number beside a key",
    "fill and require",
    "reorder",
    "drop constraint",
    "another key",
)


def _chosen(*telling: str, of: tuple[str, ...] = ()) -> list[Case]:
    everything = os.environ.get("INSTAR_KILL_ALL")
    known = [c for c in CASES if c.name not in OTHERWISE and (not of or c.name in of)]
    return [c for c in known if everything or c.name in telling]


@pytest.fixture(scope="module")
def bed() -> Iterator[DsqlBed]:
    made = DsqlBed()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def server(bed: DsqlBed) -> Iterator[ForkServer]:
    """A fork server of its own: its children find the bed by the environment."""
    places = {URL: bed.url(), INSIDE: bed.inside("template1")}
    os.environ.update(places)
    with ForkServer() as running:
        yield running
    for name in places:
        del os.environ[name]


@pytest.fixture(autouse=True)
def _tidy(bed: DsqlBed) -> Iterator[None]:
    """A database a kill is dropped again: they are small, but many."""
    yield
    with psycopg.connect(bed.inside("template1"), autocommit=True) as sql:
        for (name,) in sql.execute(
            "SELECT datname FROM pg_database WHERE datname LIKE 'kill%%'"
        ).fetchall():
            sql.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("case", _chosen(*_TELLING), ids=lambda c: c.name)
def test_killed_anywhere_every_row_is_right_in_the_end(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE, only=_ONLY).everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", _chosen(*_TELLING, of=_COPIED), ids=lambda c: c.name)
def test_killed_anywhere_with_the_state_store_lost(
    case: Case, tmp_path: Path, server: ForkServer, score: Score
) -> None:
    """What is one copy is decidable from the tables alone; single DDLs and fills need the journal."""
    Killer(server, ENGINE, only=_LOST, amnesia=True).everywhere(case, tmp_path, score)


@pytest.mark.parametrize("case", _chosen(*_TELLING), ids=lambda c: c.name)
def test_the_server_is_killed_anywhere(
    case: Case, tmp_path: Path, bed: DsqlBed, server: ForkServer, score: Score
) -> None:
    Killer(server, ENGINE, only=_LOST, victim=bed.server).everywhere(case, tmp_path, score)
