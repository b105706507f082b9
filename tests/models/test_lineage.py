"""Where columns come from, query by query: what cannot be told is said to be unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from instar import Project
from instar.app.lineage import Web
from instar.app.tracing import Place
from instar.core.schema import TableName
from instar.core.types import Column, Integer
from models.world import World

O_ROW = {"o.id", "o.cust", "o.amt"}
UNKNOWN = {"unknown"}

CASES: dict[str, tuple[str, dict[str, set[str]]]] = {
    "a union by name": (
        "SELECT amt AS v, id FROM o UNION ALL BY NAME SELECT cust AS id, o AS v, name FROM c",
        {"v": {"o.amt", "c.o"}, "id": {"o.id", "c.cust"}, "name": {"c.name"}},
    ),
    "a union by place": (
        "SELECT id, amt AS v FROM o UNION ALL SELECT cust, o FROM c",
        {"id": {"o.id", "c.cust"}, "v": {"o.amt", "c.o"}},
    ),
    "a lateral query": (
        "SELECT id, b FROM o, LATERAL (SELECT amt + 1 AS b) z",
        {"id": {"o.id"}, "b": {"o.amt"}},
    ),
    "a list": ("SELECT u FROM o, unnest([o.amt]) AS t(u)", {"u": {"o.amt"}}),
    "a pivot": (
        "SELECT * FROM (SELECT cust, amt FROM o) PIVOT (sum(amt) FOR cust IN (1, 2))",
        {"1": UNKNOWN, "2": UNKNOWN},
    ),
    "a pivot statement": ("SELECT * FROM (PIVOT o ON cust IN (1) USING sum(amt))", {"id": UNKNOWN}),
    "columns by pattern": ("SELECT COLUMNS('a.*') FROM o", {"amt": UNKNOWN}),
    "a whole row": ("SELECT o FROM o", {"o": O_ROW}),
    "a whole row of a query": ("SELECT q FROM (SELECT id, amt FROM o) q", {"q": {"o.id", "o.amt"}}),
    "a column of the alias's name": ("SELECT o.o AS q FROM c AS o", {"q": {"c.o"}}),
    "a query inside a query inside a value": (
        "SELECT (SELECT max(name) FROM (SELECT name FROM c) x) AS m FROM o",
        {"m": {"c.name"}},
    ),
    "a constant": ("SELECT 1 AS one, count(*) AS n FROM o", {"one": set(), "n": set()}),
    "a function of each element": (
        "SELECT list_transform([amt], lambda x: x + 1) AS l FROM o",
        {"l": {"o.amt"}},
    ),
    "a window by name": (
        "SELECT sum(amt) OVER w AS one, lag(amt) OVER (Two) AS two, amt FROM o"
        " WINDOW w AS (PARTITION BY cust), two AS (w ORDER BY id)",
        {"one": {"o.amt", "o.cust"}, "two": {"o.amt", "o.cust", "o.id"}, "amt": {"o.amt"}},
    ),
    "recursion": (
        "WITH RECURSIVE r AS (SELECT id FROM o UNION ALL SELECT r.id + 1 FROM r WHERE r.id < 3)"
        " SELECT id FROM r",
        {"id": {"o.id"}},
    ),
}


NESTED: dict[str, tuple[str, str]] = {
    "a dot": ("s.a", "n.s.a"),
    "a table and a dot": ("n.s.a", "n.s.a"),
    "brackets": ("s['a']", "n.s.a"),
    "a function": ("struct_extract(s, 'a')", "n.s.a"),
    "another case": ("S.A", "n.s.a"),
    "deeper": ("s.d.x", "n.s.d.x"),
    "a part that is a struct": ("s.d", "n.s.d"),
    "an element": ("l[1]", "n.l.element"),
    "a field of an element": ("(l[1]).x", "n.l.element.x"),
    "some elements": ("l[1:2]", "n.l"),
    "a value of a map": ("m['a']", "n.m.value"),
    "a field by its number": ("struct_extract_at(s, 1)", "n.s"),
    "a computed name": ("s::VARCHAR", "n.s"),
    "through a query": ("q.s.a AS v FROM (SELECT s FROM n) q -- ", "n.s.a"),
    "through a cast": ("q.s.a AS v FROM (SELECT s::STRUCT(a INT) AS s FROM n) q -- ", "n.s"),
}


@pytest.mark.parametrize("case", NESTED.values(), ids=NESTED.keys())
def test_which_part_of_a_nested_column_is_read(world: World, case: tuple[str, str]) -> None:
    world.sql(
        "CREATE TABLE n (s STRUCT(a INT, b INT, d STRUCT(x INT, y INT)), l STRUCT(x INT, y INT)[],"
        " m MAP(VARCHAR, INT))"
    )
    expression, expected = case
    world.model("v", f"SELECT {expression} AS v FROM n")
    web, (place,) = world.project.lineage("v.v")
    assert [str(p) for p in web.sources(place)] == [f"main.{expected}"]


@pytest.fixture
def shop(world: World) -> World:
    world.sql(
        "CREATE TABLE o (id INT, cust INT, amt INT)",
        "CREATE TABLE c (cust INT, name VARCHAR, o INT)",
    )
    return world


def sources(world: World, model: str) -> dict[str, set[str]]:
    web, places = world.project.lineage(model)
    return {
        p.column: {f"{s.table.name}.{s.column}" for s in web.sources(p)}
        | (UNKNOWN if web.unknown(p) else set())
        for p in places
    }


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_where_columns_come_from(shop: World, case: tuple[str, dict[str, set[str]]]) -> None:
    query, expected = case
    shop.model("m", query)
    found = sources(shop, "m")
    assert {n: found[n] for n in expected} == expected


DECIDES: dict[str, tuple[str, set[str]]] = {
    "a filter": ("SELECT id FROM o WHERE amt > 0", {"o.amt"}),
    "a join": ("SELECT id FROM o JOIN c ON o.cust = c.cust", {"o.cust", "c.cust"}),
    "a join by name": ("SELECT id FROM o JOIN c USING (cust)", {"o.cust", "c.cust"}),
    "groups": ("SELECT count(*) AS n FROM o GROUP BY cust", {"o.cust"}),
    "groups of all": ("SELECT cust, sum(amt) AS n FROM o GROUP BY ALL", {"o.cust"}),
    "groups by place": ("SELECT cust, sum(amt) AS n FROM o GROUP BY 1", {"o.cust"}),
    "a filter of groups": ("SELECT 1 AS n FROM o HAVING sum(amt) > 0", {"o.amt"}),
    "a filter of windows": (
        "SELECT id FROM o QUALIFY row_number() OVER (PARTITION BY cust ORDER BY amt) = 1",
        {"o.cust", "o.amt"},
    ),
    "the first few": ("SELECT id FROM o ORDER BY amt LIMIT 3", {"o.amt"}),
    "an order by an alias": ("SELECT id, amt * 2 AS x FROM o ORDER BY x LIMIT 3", {"o.amt"}),
    "an order alone": ("SELECT id FROM o ORDER BY amt", set()),
    "a query in a filter": (
        "SELECT id FROM o WHERE cust IN (SELECT cust FROM c WHERE name > '')",
        {"o.cust", "c.cust", "c.name"},
    ),
    "a query in a value": ("SELECT (SELECT max(name) FROM c WHERE c.o > 1) AS m FROM o", set()),
    "a CTE and an alias": (
        "WITH f AS (SELECT id, amt AS x FROM o WHERE cust = 1) SELECT id FROM f WHERE x > 0",
        {"o.cust", "o.amt"},
    ),
    "distinct rows": ("SELECT DISTINCT cust FROM o", {"o.cust"}),
    "a union": ("SELECT id FROM o UNION ALL SELECT cust FROM c WHERE name > ''", {"c.name"}),
    "a difference": ("SELECT id FROM o EXCEPT SELECT cust FROM c", {"o.id", "c.cust"}),
    "a list that is unfolded": ("SELECT id FROM o, unnest([o.amt]) AS t(u)", {"o.amt"}),
}


@pytest.mark.parametrize("case", DECIDES.values(), ids=DECIDES.keys())
def test_what_decides_the_rows(shop: World, case: tuple[str, set[str]]) -> None:
    query, expected = case
    shop.model("m", query)
    web, (place, *_) = shop.project.lineage("m")
    assert {f"{p.table.name}.{p.column}" for p in web.decides(place)} == expected


def test_a_table_that_is_spelled_in_two_cases(shop: World) -> None:
    shop.model("a", "SELECT id FROM o")
    shop.model("b", 'SELECT * FROM "O"')
    assert sources(shop, "a") == {"id": {"o.id"}}
    assert sources(shop, "b") == {"id": {"o.id"}, "cust": {"o.cust"}, "amt": {"o.amt"}}


def test_a_change_names_those_whom_it_may_reach(shop: World) -> None:
    shop.model("a", "SELECT id, amt, cust FROM o")
    shop.model("p", "SELECT * FROM (SELECT cust, amt FROM a) PIVOT (sum(amt) FOR cust IN (1, 2))")
    shop.model("q", "SELECT COLUMNS('am.*') FROM a")
    shop.run()
    web, (amt,) = shop.project.lineage("a.amt")
    assert [(p.table.name, p.column) for p in web.perhaps(amt)] == [
        ("p", "1"),
        ("p", "2"),
        ("q", "amt"),
    ]
    shop.model("a", "SELECT id, cust FROM o")
    said = [f.message for f in shop.table("a").findings if f.code == "F704"]
    assert "perhaps model 'q' (models/q.sql)" in said[0]


def test_a_python_model_is_perhaps_reached_and_so_is_what_reads_it(tmp_path: Path) -> None:
    """No engine is needed: its columns are known, and nothing tells what each is made of."""
    (tmp_path / "models").mkdir()
    (tmp_path / "instar.yml").write_text(
        "name: shop\nenvironments:\n  dev: {type: spark, schema: main, format: delta}\n"
    )
    (tmp_path / "models" / "a.sql").write_text("SELECT n FROM raw")
    (tmp_path / "models" / "p.py").write_text("def model(spark, refs):\n    return refs['a']\n")
    (tmp_path / "models" / "z.sql").write_text("SELECT twice AS t FROM p")
    names = {"raw": "n", "a": "n", "p": "twice", "z": "t"}
    shapes = {TableName("main", t): (Column(c, Integer(32)),) for t, c in names.items()}
    web = Web(Project.load(tmp_path).models(), shapes, "spark")
    start = [Place(TableName("main", "raw"), "n")]
    assert [str(p) for p in web.downstream(start)] == ["main.a.n"]
    assert [str(p) for p in web.maybe_downstream(start)] == ["main.p.twice", "main.z.t"]


def test_an_odd_name_is_shown_as_it_may_be_asked_for(world: World) -> None:
    world.sql('CREATE TABLE t ("a.b" INT, a STRUCT(b INT))')
    world.model("m", 'SELECT "a.b" AS "x y", a.b AS z FROM t')
    web, places = world.project.lineage("m")
    told = {str(p): [str(s) for s in web.sources(p)] for p in places}
    assert told == {"main.m.`x y`": ["main.t.`a.b`"], "main.m.z": ["main.t.a.b"]}
    for name in ("main.m.`x y`", "t.`a.b`"):
        assert len(world.project.lineage(name)[1]) == 1
