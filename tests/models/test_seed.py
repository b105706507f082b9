"""Seed 004 as a suite: every change it names, on every engine, with rows.

A table is made and filled by the first query. The query changes: the plan takes the rung that the case says,
and is blocked where that needs a flag. Once evolved, old rows hold what the case says of them; once built, the
table holds what a full rebuild of the new query gives, in the same types; and the next plan is empty.
On Spark a telling sample; INSTAR_ALL=1 runs every case on every format.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest

from instar import Plan, TablePlan
from instar.spark import SparkHandle
from models.lake import CATALOGS, Lake
from models.seed_cases import ENGINES, Case, cases
from models.world import World, errors

CASES = cases()
ALL = bool(os.environ.get("INSTAR_ALL"))
FLAGS = ("allow_column_removal", "allow_full_refresh")

SEED = {
    "safe": 8,
    "unsafe": 6,
    "matrix": 12,
    "adding a field to a struct column": 1,
    "widening a type inside a struct": 1,
    "adding a field to an array-of-structs": 1,
    "map value evolution": 1,
    "specifying defaults for complex types": 4,
    "multi-step evolution": 1,
}
"""How many rows or examples the seed has of each."""


@pytest.mark.parametrize("part", SEED)
def test_the_whole_seed_is_here(part: str) -> None:
    assert sum(part in case.seed for case in CASES.values()) >= SEED[part]


def chosen(engine: str) -> dict[str, Case]:
    everything = ALL or engine == "duckdb"
    return {
        title: case
        for title, case in CASES.items()
        if everything or engine in case.said.get("sample", "").split()
    }


class OnDuckDB:
    def __init__(self, world: World) -> None:
        self.world = world

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self._dicts(str(self.world.root / "shop.duckdb"), f"FROM {table}")

    def asked(self, query: str) -> list[dict[str, Any]]:
        return self._dicts(":memory:", query)

    def _dicts(self, database: str, query: str) -> list[dict[str, Any]]:
        with duckdb.connect(database) as connection:
            found = connection.execute(f"SELECT * FROM ({query}) ORDER BY id")
            names = [str(d[0]).casefold() for d in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def types(self, table: str) -> dict[str, str]:
        return {n.casefold(): t for n, t in self.world.types(table).items()}

    def types_of(self, query: str) -> dict[str, str]:
        found = duckdb.execute(f"DESCRIBE {query}").fetchall()
        return {str(r[0]).casefold(): str(r[1]) for r in found}

    def close(self) -> None:
        """The folder goes with the test."""


class OnSpark:
    def __init__(self, world: Lake, format_: str) -> None:
        self.world, self.spark = world, world.spark
        self.prefix = f"{CATALOGS[format_]}.{world.schema}."

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.asked(f"SELECT * FROM {self.prefix}{table}")

    def asked(self, query: str) -> list[dict[str, Any]]:
        found = self.spark.run(f"SELECT * FROM ({query}) ORDER BY id")
        return [{k.casefold(): v for k, v in r.asDict(recursive=True).items()} for r in found]

    def types(self, table: str) -> dict[str, str]:
        return self.types_of(f"SELECT * FROM {self.prefix}{table}")

    def types_of(self, query: str) -> dict[str, str]:
        fields = self.spark.session.sql(query).schema.fields
        return {f.name.casefold(): f.dataType.simpleString() for f in fields}

    def close(self) -> None:
        self.world.close()


@dataclass
class Deployed:
    """All cases of one engine in one project; plans and rows at each stage, by table."""

    engine: OnDuckDB | OnSpark
    names: dict[str, str]
    bare: dict[str, TablePlan]
    removal: dict[str, TablePlan]
    evolved: dict[str, list[dict[str, Any]]]
    types: dict[str, dict[str, str]]
    again: dict[str, TablePlan]
    built: dict[str, list[dict[str, Any]]]


def by_name(plan: Plan) -> dict[str, TablePlan]:
    return {t.table.name: t for t in plan.tables}


def deploy(engine: OnDuckDB | OnSpark, name: str) -> Deployed:
    world, wish = engine.world, chosen(name)
    names = {title: f"m{n}" for n, title in enumerate(wish)}

    def write(which: str) -> None:
        for title, case in wish.items():
            world.model(names[title], case.query(which, name), case.front(which, name))

    write("before")
    world.run()
    write("after")
    bare, removal = by_name(world.plan()), by_name(world.plan("allow_column_removal"))
    world.apply(*FLAGS)
    evolved = {table: engine.rows(table) for table in names.values()}
    types = {table: engine.types(table) for table in names.values()}
    again = by_name(world.plan())
    world.run()
    built = {table: engine.rows(table) for table in names.values()}
    return Deployed(engine, names, bare, removal, evolved, types, again, built)


@pytest.fixture(scope="module")
def on(request: pytest.FixtureRequest) -> Iterator[Any]:
    """By name of the engine, each deployed when the first of its cases asks."""
    made: dict[str, Deployed] = {}
    tried: set[str] = set()

    def get(name: str) -> Deployed:
        if name not in made:
            assert name not in tried, "it could not be deployed: see the first failure"
            tried.add(name)
            root = request.getfixturevalue("tmp_path_factory").mktemp(f"seed_{name}")
            if name == "duckdb":
                engine: OnDuckDB | OnSpark = OnDuckDB(World(root))
            else:
                spark: SparkHandle = request.getfixturevalue("spark")
                engine = OnSpark(Lake(root, spark), name)
            made[name] = deploy(engine, name)
        return made[name]

    yield get
    for found in made.values():
        found.engine.close()


PAIRS = [
    pytest.param(
        engine,
        title,
        id=f"{engine}: {title}",
        marks=() if engine == "duckdb" else pytest.mark.spark,
    )
    for engine in ENGINES
    for title in chosen(engine)
]


@pytest.mark.parametrize(("engine", "title"), PAIRS)
def test_a_change(on: Any, engine: str, title: str) -> None:
    case, found = CASES[title], on(engine)
    table = found.names[title]
    removal, rung = case.outcome(engine)
    bare = found.bare[table]
    if removal or rung == "refresh":
        assert "F701" in errors(bare)
        assert not bare.steps
        finding = next(f for f in bare.findings if f.code == "F701")
        assert f"Schema evolution requires full refresh for model '{table}': " in finding.message
        told = finding.hint or ""
        assert "--allow-full-refresh" in told
        assert ("--allow-column-removal" in told) >= removal
        assert told.startswith("Consider using Delta format or run with") is (engine == "parquet")
    else:
        assert highest(bare) == rung
    if removal:
        assert highest(found.removal[table]) == rung
    kept = case.query("after" if rung == "refresh" else "kept", engine)
    assert found.evolved[table] == found.engine.asked(kept), "old rows, once evolved"
    assert found.types[table] == found.engine.types_of(kept)
    assert not found.again[table].steps, "a second plan is empty"
    assert found.built[table] == found.engine.asked(case.query("after", engine)), "as a rebuild"


def highest(plan: TablePlan) -> str:
    rungs = [s.rung for s in plan.steps]
    assert not errors(plan), plan.findings
    return max(rungs, key=lambda r: r.height).value if rungs else "nothing"
