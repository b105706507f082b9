"""What is skipped: only a model whose rows cannot have changed."""

from __future__ import annotations

import pytest

from models.world import World

FORMS = ["SELECT * FROM read_csv('{}')", "SELECT * FROM '{}'", "SELECT * FROM ref('v')"]


@pytest.mark.parametrize("query", FORMS, ids=["a function", "a file", "a view of a file"])
def test_a_file_may_change_unseen(world: World, query: str) -> None:
    file = world.root / "f.csv"
    file.write_text("id\n1\n")
    world.model("v", f"SELECT * FROM read_csv('{file}')", "materialization: view")
    world.model("m", query.format(file))
    world.run()
    file.write_text("id\n1\n2\n")
    world.run()
    assert world.sql("SELECT count(*) FROM m") == [(2,)]


def test_a_view_hands_on_that_it_depends_on_the_clock(world: World) -> None:
    world.model("v", "SELECT now() AS seen", "materialization: view")
    world.model("middle", "SELECT seen FROM v", "materialization: view")
    world.model("m", "SELECT seen FROM middle")
    world.model("series", "SELECT i FROM range(3) AS t(i)")
    world.run()
    statuses = {r.table.name: r.status for r in world.run().results}
    assert statuses == {"v": "skipped", "middle": "skipped", "m": "built", "series": "skipped"}
