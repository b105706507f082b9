"""A Python model on DuckDB: it is left out with all that is made of it, and the rest of the project works."""

from __future__ import annotations

from typing import Any

import pytest

from instar import Project
from instar.app.events import Silent
from instar.errors import InstarError
from instar.run.options import RunOptions
from models.world import World, statuses


class Heard(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


NOTE = "3 models are left out: 'dev' is duckdb, and Python models run on Spark: p, read, late"


def mixed(world: World) -> None:
    """`read` names the Python model plainly, `late` reads what is made of it; `a` and `b` do not."""
    world.sql("CREATE TABLE raw AS SELECT 1 AS id")
    world.model("a", "SELECT id FROM raw")
    world.model("b", "SELECT id FROM a")
    world.model("read", "SELECT id FROM p")
    world.model("late", "SELECT id FROM a JOIN ref('read') USING (id)")
    text = "def model(spark, refs):\n    return refs['a']\n"
    (world.root / "models" / "p.py").write_text(text)


def test_the_rest_is_planned_and_built(world: World) -> None:
    mixed(world)
    heard = Heard()
    project = Project.load(world.root, heard)
    plan = project.plan()
    assert not plan.blocked
    assert heard.notes == [NOTE]
    told = {t.table.name: f for t in plan.tables for f in t.findings}
    assert {f.code for f in told.values()} == {"F709"}
    assert told["p"].message == (
        "[main.p] is left out: a Python model runs on Spark only, and 'dev' is duckdb."
    )
    assert told["late"].message == (
        "[main.late] is left out: it is made of the Python model 'p', and 'dev' is duckdb."
    )
    assert statuses(world.run()) == {"a": "built", "b": "built"}
    assert [str(p) for p in world.project.lineage("b.id")[1]] == ["main.b.id"]
    assert world.project.validate() == ()
    assert [t.table.name for t in project.plan(tables=["b"]).tables] == ["b"]


@pytest.mark.parametrize("name", ["p", "read", "late"])
@pytest.mark.parametrize("way", ["plan", "run", "lineage"])
def test_who_names_one_is_told_that_it_is_not_there(world: World, name: str, way: str) -> None:
    mixed(world)
    ways: dict[str, Any] = {
        "plan": lambda: world.project.plan(tables=[name]),
        "run": lambda: world.run(options=RunOptions((f"+{name}",))),
        "lineage": lambda: world.project.lineage(name),
    }
    with pytest.raises(InstarError) as raised:
        ways[way]()
    assert raised.value.code == "E161"


def test_a_table_of_a_model_that_is_left_out_by_now_is_no_orphan(world: World) -> None:
    world.sql("CREATE TABLE raw AS SELECT 1 AS id")
    world.model("p", "SELECT id FROM raw")
    world.run()
    (world.root / "models" / "p.sql").unlink()
    (world.root / "models" / "p.py").write_text("def model(spark, refs):\n    return None\n")
    assert [f.code for t in world.plan().tables for f in t.findings] == ["F709"]
    world.apply()
    (world.root / "models" / "p.py").unlink()
    world.model("p", "SELECT id, 2 AS n FROM raw")
    assert world.run().ok, "it is still the model's table"
