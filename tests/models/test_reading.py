"""models/: what a file says, what its names mean, and how bad input is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from instar.core.schema import TableName
from instar.errors import ProjectError
from instar.run.rendering import rendered
from instar.sources.models import Models, load_models
from instar.sources.project import load_project

PROJECT = """\
name: shop
environments:
  dev: {type: duckdb, schema: main}
  lake: {type: spark, schema: main}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "instar.yml").write_text(PROJECT)
    (tmp_path / "models").mkdir()
    return tmp_path


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / "models" / f"{name.replace('__', '/')}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def load(root: Path, env: str = "dev", declared: tuple[str, ...] = ()) -> Models:
    config = load_project(root)
    names = [TableName("main", name) for name in declared]
    return load_models(config, config.environment(env), names)


FULL = """\
---
materialization: incremental
incremental:
  event_time_column: at
  granularity: hour
schema_evolution:
  strategy: full_refresh
columns:
  status:
    default: "'pending'"
  metadata:
    default: "STRUCT_PACK(version := 1, active := TRUE)"
    renamed_from: meta
tags: [nightly, core]
---

SELECT at, status, metadata FROM smelt.ref('upstream')
"""


def test_everything_that_is_said_is_read(root: Path) -> None:
    write(root, upstream="SELECT 1 AS at, 'x' AS status, 2 AS metadata", daily=FULL)
    model = load(root).models["daily"]
    assert model.materialization == "incremental"
    assert model.incremental is not None
    assert (model.incremental.event_time_column, model.incremental.granularity) == ("at", "hour")
    assert model.strategy == "full_refresh"
    assert model.tags == ("nightly", "core")
    assert model.columns["status"].default == "'pending'"
    assert model.columns["metadata"].renamed_from == "meta"
    assert model.table == TableName("main", "daily")
    assert model.query.outputs == ("at", "status", "metadata")


def test_frontmatter_wins_over_instar_yml_and_that_over_the_environment(root: Path) -> None:
    (root / "instar.yml").write_text(
        PROJECT
        + "models:\n"
        + "  a: {format: parquet, schema_evolution: {strategy: full_refresh},"
        + " columns: {x: {default: '1', backfill: '2'}}}\n"
    )
    write(root, a="---\nformat: iceberg\ncolumns: {x: {default: '9'}}\n---\nSELECT 1 AS x")
    write(root, b="SELECT 1 AS x")
    models = load(root, "lake").models
    assert models["a"].format == "iceberg"
    assert models["a"].strategy == "full_refresh"
    assert (models["a"].columns["x"].default, models["a"].columns["x"].backfill) == ("9", "2")
    assert models["b"].format == "delta"
    assert models["b"].strategy == "alter_and_backfill"


GRAPH = {
    "by ref": "SELECT * FROM ref('up')",
    "by smelt.ref": "SELECT * FROM smelt.ref( 'up' ) AS u",
    "by name": "SELECT * FROM up",
    "in another case": "SELECT * FROM UP",
    "quoted": 'SELECT * FROM "up"',
    "with its schema": "SELECT * FROM main.up",
    "in a CTE": "WITH c AS (SELECT * FROM up) SELECT * FROM c",
    "in a subquery": "SELECT * FROM (SELECT * FROM up) AS s",
    "in a condition": "SELECT 1 AS x WHERE EXISTS (SELECT 1 FROM up)",
    "in a set operation": "SELECT 1 AS x UNION ALL SELECT x FROM up",
    "in a join": "SELECT a.x FROM outside AS a JOIN up ON a.x = up.x",
    "inside a CTE of the same name": "WITH up AS (SELECT * FROM main.up) SELECT * FROM up",
    "as a value": "SELECT (SELECT max(x) FROM up) AS x",
}


@pytest.mark.parametrize("query", GRAPH.values(), ids=GRAPH.keys())
def test_the_graph_comes_from_the_query(root: Path, query: str) -> None:
    write(root, up="SELECT 1 AS x", down=query)
    models = load(root)
    assert models.parents("down") == ("up",)
    assert models.order.index("up") < models.order.index("down")


HIDDEN = {
    "a CTE shadows the model": "WITH up AS (SELECT 1 AS x) SELECT * FROM up",
    "a CTE in another case": "WITH Up AS (SELECT 1 AS x) SELECT * FROM uP",
    "an alias shadows the model": "SELECT up.x FROM outside AS up",
    "a table of another schema": "SELECT * FROM raw.up",
    "only in a text": "SELECT 'FROM up' AS x",
    "only in a comment": "SELECT 1 AS x -- FROM ref('up')",
}


@pytest.mark.parametrize("query", HIDDEN.values(), ids=HIDDEN.keys())
def test_what_is_not_the_model_is_no_edge(root: Path, query: str) -> None:
    write(root, up="SELECT 1 AS x", down=query)
    assert load(root).parents("down") == ()


BARE = {
    "SELECT up.x FROM up": True,
    "SELECT up.x FROM ref('up')": True,
    "SELECT up.x FROM main.up, other AS o": True,
    "SELECT u.x FROM up u": False,
    "SELECT u.x FROM smelt.ref('up') AS u": False,
    "SELECT x FROM up TABLESAMPLE (5 ROWS)": False,
    "SELECT * FROM up PIVOT (sum(x) FOR k IN ('a'))": True,
}


@pytest.mark.parametrize("query", BARE)
def test_whether_a_table_goes_by_its_own_name(root: Path, query: str) -> None:
    write(root, up="SELECT 1 AS x", down=query)
    assert load(root, "lake").models["down"].query.reads[0].bare is BARE[query]
    assert load(root, "lake").models["down"].query.reads[0].bare is BARE[query], "from the cache"


def test_a_semicolon_in_a_text_ends_nothing() -> None:
    text = r"SELECT 'it\'s; so' AS a FROM t;; -- end"
    assert rendered(text, (), lambda *_: "", "spark") == r"SELECT 'it\'s; so' AS a FROM t"


def test_a_manifest_and_a_table_outside_are_told_apart(root: Path) -> None:
    write(
        root, a="SELECT * FROM orders JOIN ref('orders') o2 USING (id) JOIN raw.events USING (id)"
    )
    kinds = {(str(t.table), t.kind) for t in load(root, declared=("orders",)).upstream("a")}
    assert kinds == {("main.orders", "manifest"), ("raw.events", "outside")}


def test_layout_and_comments_are_no_change_but_text_values_are(root: Path) -> None:
    def fingerprint(query: str) -> str:
        write(root, a=query)
        return load(root).models["a"].fingerprint

    first = fingerprint("SELECT 'a  b' AS x,\n  1 AS y -- note\n")
    assert fingerprint("SELECT 'a  b' AS x, /* other */ 1 AS y;") == first
    assert fingerprint("SELECT 'a b' AS x, 1 AS y") != first


BAD = {
    "frontmatter that never ends": ("---\nformat: delta\nSELECT 1 AS x", "E150", 1, "---"),
    "frontmatter that is a list": ("---\n- a\n---\nSELECT 1 AS x", "E150", 2, "- a"),
    "frontmatter that is not YAML": ("---\nformat: a: b\n---\nSELECT 1", "E150", 2, "format: a: b"),
    "unknown key": ("---\nformt: delta\n---\nSELECT 1 AS x", "E103", 2, "formt: delta"),
    "unknown materialization": (
        "---\nmaterialization: tabel\n---\nSELECT 1 AS x",
        "E111",
        2,
        "materialization: tabel",
    ),
    "dynamic table": (
        "---\nmaterialization: dynamic_table\n---\nSELECT 1 AS x",
        "E111",
        2,
        "materialization: dynamic_table",
    ),
    "unparsable SQL": (
        "---\ntags: [a]\n---\n\nSELECT 1 AS x\nFROM WHERE\n",
        "E151",
        6,
        "FROM WHERE",
    ),
    "a quote that is not closed": ("SELECT 'a' AS x,\n  'b AS y\nFROM t", "E151", 2, "  'b AS y"),
    "a comment that is not closed": ("SELECT 1 AS x\n/* so FROM t", "E151", 2, "/* so FROM t"),
    "two statements": ("SELECT 1 AS x;\nSELECT 2 AS y", "E152", 2, "SELECT 2 AS y"),
    "no statement": ("---\ntags: [a]\n---\n", "E152", None, None),
    "not a query": ("DELETE FROM t", "E152", 1, "DELETE FROM t"),
    "reads itself": ("SELECT x\nFROM bad", "E153", 2, "FROM bad"),
    "reads itself by ref": ("SELECT x\nFROM ref('bad')", "E153", 2, "FROM ref('bad')"),
    "unknown ref": ("SELECT x\n  FROM ref('othr')", "E154", 2, "  FROM ref('othr')"),
    "ref without a text": ("SELECT x FROM ref(other)", "E154", 1, "SELECT x FROM ref(other)"),
    "two columns of one name": ("SELECT 1 AS x,\n  2 AS X", "E157", 2, "  2 AS X"),
    "a backfill of two statements": (
        "---\ncolumns:\n  x: {backfill: '1; 2'}\n---\nSELECT 1 AS x",
        "E158",
        3,
        "  x: {backfill: '1; 2'}",
    ),
    "a default that is a query": (
        "---\ncolumns:\n  x:\n    default: 'SELECT 1'\n---\nSELECT 1 AS x",
        "E158",
        4,
        "    default: 'SELECT 1'",
    ),
    "a rename from itself": (
        "---\ncolumns:\n  x: {renamed_from: x}\n---\nSELECT 1 AS x",
        "E132",
        3,
        "  x: {renamed_from: x}",
    ),
    "two columns from one": (
        "---\ncolumns:\n  x: {renamed_from: old}\n  y: {renamed_from: OLD}\n---\nSELECT 1 AS x, 2 AS y",
        "E132",
        4,
        "  y: {renamed_from: OLD}",
    ),
    "two fields from one": (
        "---\ncolumns:\n  s.x: {renamed_from: old}\n  s.y: {renamed_from: old}\n---\nSELECT s FROM t",
        "E132",
        4,
        "  s.y: {renamed_from: old}",
    ),
    "fields that go round": (
        "---\ncolumns:\n  s.x: {renamed_from: y}\n  s.y: {renamed_from: x}\n---\nSELECT s FROM t",
        "E132",
        3,
        "  s.x: {renamed_from: y}",
    ),
    "incremental without a way": (
        "---\nmaterialization: incremental\n---\nSELECT 1 AS x",
        "E160",
        2,
        "materialization: incremental",
    ),
    "incremental with two ways": (
        "---\nincremental: {unique_key: x, partition_column: x}\n---\nSELECT 1 AS x",
        "E160",
        2,
        "incremental: {unique_key: x, partition_column: x}",
    ),
    "an incremental view": (
        "---\nmaterialization: view\nincremental: {unique_key: x}\n---\nSELECT 1 AS x",
        "E160",
        3,
        "incremental: {unique_key: x}",
    ),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_with_its_place(
    root: Path, case: tuple[str, str, int | None, str | None]
) -> None:
    text, code, line, shown = case
    write(root, bad=text, other="SELECT 1 AS x")
    with pytest.raises(ProjectError) as raised:
        load(root)
    error = raised.value
    assert error.code == code
    assert error.where is not None
    assert error.where.file == "models/bad.sql"
    if line is not None:
        assert (error.where.line, error.where.text) == (line, shown)


def test_fields_of_two_structs_may_have_had_one_name(root: Path) -> None:
    front = (
        "columns:\n  s.x: {renamed_from: old}\n  t.x: {renamed_from: old}\n  x: {renamed_from: old}"
    )
    write(root, a=f"---\n{front}\n---\nSELECT s, t, x FROM u")
    assert {c.renamed_from for c in load(root).models["a"].columns.values()} == {"old"}


@pytest.mark.parametrize("kind", ["view", "table"])
def test_another_materialization_in_the_frontmatter_ends_the_entrys_way(
    root: Path, kind: str
) -> None:
    with (root / "instar.yml").open("a") as file:
        file.write("models: {e: {materialization: incremental, incremental: {unique_key: id}}}\n")
    write(root, e=f"---\nmaterialization: {kind}\n---\nSELECT 1 AS id", f="SELECT 1 AS id")
    model = load(root).models["e"]
    assert (model.materialization, model.incremental) == (kind, None)
    write(root, e="---\nmaterialization: incremental\n---\nSELECT 1 AS id", f="SELECT 1 AS id")
    assert load(root).models["e"].incremental is not None


def test_a_table_with_a_way_is_incremental(root: Path) -> None:
    write(root, e="---\nmaterialization: table\nincremental: {unique_key: id}\n---\nSELECT 1 AS id")
    assert load(root).models["e"].materialization == "incremental"


def test_a_column_may_be_renamed_to_another_case_of_itself(root: Path) -> None:
    write(root, a="---\ncolumns:\n  X: {renamed_from: x}\n---\nSELECT 1 AS X")
    assert load(root).models["a"].columns["X"].renamed_from == "x"


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("SELECT 1 AS x;\n-- then\n  SELECT y\nFROM other;", "3:3", "two statements"),
        ("SELECT 1 AS x;;\nVALUES (1)", "2:1", "two statements"),
        ("-- all of it\nTABLE other", "2:1", "begins with TABLE. Write SELECT * FROM"),
        ("VALUES (1, 2)", "1:1", "begins with VALUES. Name the columns"),
        ("DELETE FROM t", "1:1", "begins with DELETE. A model only reads"),
    ],
)
def test_what_is_no_single_select_is_pointed_at_where_it_begins(
    root: Path, text: str, place: str, says: str
) -> None:
    write(root, bad=text, other="SELECT 1 AS x")
    with pytest.raises(ProjectError) as raised:
        load(root)
    assert raised.value.code == "E152"
    assert str(raised.value.where) == f"models/bad.sql:{place}"
    assert says in f"{raised.value.message}. {raised.value.hint}"


def test_a_ring_is_named_from_model_to_model(root: Path) -> None:
    write(root, a="SELECT * FROM b", b="SELECT *\nFROM c", c="SELECT * FROM a")
    with pytest.raises(ProjectError) as raised:
        load(root)
    assert raised.value.code == "E153"
    assert "a → b → c → a" in raised.value.message


@pytest.mark.parametrize("names", [("x__a", "y__a"), ("x__a", "y__A")], ids=["name", "table"])
def test_two_models_for_one_table(root: Path, names: tuple[str, str]) -> None:
    write(root, **dict.fromkeys(names, "SELECT 1 AS x"))
    with pytest.raises(ProjectError) as raised:
        load(root)
    assert raised.value.code == "E155"
    assert "models/x/a.sql" in raised.value.message


@pytest.mark.parametrize("name", ["b__instar_old_1", "x__instar_new", "__instar_x"])
def test_a_name_of_instars_own_copies_is_refused(root: Path, name: str) -> None:
    (root / "models" / f"{name}.sql").write_text("SELECT 1 AS x")
    with pytest.raises(ProjectError) as raised:
        load(root)
    assert (raised.value.code, str(raised.value.where)) == ("E137", f"models/{name}.sql:1:1")


def test_only_hidden_files_and_those_of_python_itself_are_not_read(root: Path) -> None:
    for name in ("__x.sql", "__staging/y.sql", ".z.sql", "__init__.py", "__pycache__/w.py"):
        (root / "models" / name).parent.mkdir(exist_ok=True)
        (root / "models" / name).write_text("SELECT 1 AS x")
    assert sorted(load(root).models) == ["__x", "y"]


def test_a_model_with_the_name_of_a_declared_table(root: Path) -> None:
    write(root, orders="---\ntags: [a]\n---\nSELECT 1 AS x")
    with pytest.raises(ProjectError) as raised:
        load(root, declared=("Orders",))
    assert raised.value.code == "E156"


def test_settings_of_a_model_that_does_not_exist(root: Path) -> None:
    (root / "instar.yml").write_text(PROJECT + "models:\n  dayly: {format: parquet}\n")
    write(root, daily="SELECT 1 AS x")
    with pytest.raises(ProjectError) as raised:
        load(root)
    assert (raised.value.code, raised.value.where and raised.value.where.line) == ("E162", 6)
    assert raised.value.hint == "Did you mean 'daily'?"


PYTHON = """\
# ---
# tags: [ml]
# ---
def model(spark, refs):
    return refs["up"].join(refs("orders"), "id")
"""


def test_a_python_model_says_what_it_reads_without_being_run(root: Path) -> None:
    write(root, up="SELECT 1 AS id")
    (root / "models" / "scored.py").write_text(PYTHON)
    models = load(root, "lake", declared=("orders",))
    assert models.models["scored"].tags == ("ml",)
    assert {t.name for t in models.upstream("scored")} == {"up", "orders"}


BAD_PYTHON = {
    "not Python": ("def model(spark, refs)\n    pass\n", "E163", 1),
    "no function": ("x = 1\n", "E163", 1),
    "wrong arguments": ("\ndef model(spark):\n    return spark\n", "E163", 2),
    "unknown ref": ("def model(spark, refs):\n    return refs['nope']\n", "E154", 2),
}


@pytest.mark.parametrize("case", BAD_PYTHON.values(), ids=BAD_PYTHON.keys())
def test_a_bad_python_model(root: Path, case: tuple[str, str, int]) -> None:
    text, code, line = case
    (root / "models" / "bad.py").write_text(text)
    with pytest.raises(ProjectError) as raised:
        load(root, "lake")
    assert (raised.value.code, raised.value.where and raised.value.where.line) == (code, line)


def test_python_models_run_on_spark_only(root: Path) -> None:
    (root / "models" / "scored.py").write_text(PYTHON)
    models = load(root, "dev", declared=("orders", "up"))
    assert "scored" not in models.models
    assert [absent.table.name for absent in models.absent.values()] == ["scored"]


def test_an_unchanged_query_comes_from_the_cache(root: Path) -> None:
    write(root, a="SELECT 1 AS x", b="SELECT x, y.z FROM ref('a') JOIN s.y ON true")
    first = load(root)
    kept = root / ".instar" / "cache" / "queries-duckdb.json"
    assert load(root).models["b"].query == first.models["b"].query
    document = json.loads(kept.read_text())
    for told in document["queries"].values():
        told[3] = "FROM THE CACHE"
    kept.write_text(json.dumps(document))
    assert load(root).models["b"].query.canonical == "FROM THE CACHE"
    write(root, b="SELECT x FROM ref('a')")
    assert load(root).models["b"].query.canonical == "SELECT x FROM ref('a')"
    kept.write_text(json.dumps({**document, "stamp": "of another version"}))
    assert load(root).models["a"].query == first.models["a"].query


def test_every_mistake_of_every_model_is_told_once(root: Path) -> None:
    write(
        root,
        a="---\nmaterialisation: view\ntags: {x: 1}\n---\nSELECT 1 AS x",
        b="SELECT FROM WHERE",
        c="SELECT * FROM ref('a'), ref('nobody'), ref('none')",
        taken="SELECT 1 AS x",
        up="SELECT * FROM ref('down')",
        down="SELECT * FROM ref('up')",
    )
    (root / "instar.yml").write_text(PROJECT + "models: {ghost: {}, b: {frmat: delta}}\n")
    with pytest.raises(ProjectError) as caught:
        load(root, declared=("taken",))
    told = sorted((e.code, str(e.where).split(":")[0]) for e in caught.value.every)
    assert told == [
        ("E103", "instar.yml"),
        ("E103", "models/a.sql"),
        ("E104", "models/a.sql"),
        ("E151", "models/b.sql"),
        ("E153", "models/up.sql"),
        ("E154", "models/c.sql"),
        ("E154", "models/c.sql"),
        ("E156", "models/taken.sql"),
        ("E162", "instar.yml"),
    ], "and not that `a`, which is broken, cannot be read by `c`"


@pytest.mark.parametrize("name", ["cust", "Raw.Cust"])
def test_a_ref_to_a_table_of_another_schema_says_how_it_is_named(root: Path, name: str) -> None:
    write(root, m=f"SELECT id FROM ref('{name}')")
    with pytest.raises(ProjectError) as caught:
        load_models(
            load_project(root), load_project(root).environment("dev"), [TableName("raw", "cust")]
        )
    assert caught.value.code == "E154"
    hint = "raw.cust is declared in another schema: a query names it so, without ref()."
    assert caught.value.hint == hint
