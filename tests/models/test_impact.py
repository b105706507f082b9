"""What a change means for others: ripples, broken readers, lineage, in the plan before anything is touched."""

from __future__ import annotations

import json
import re

import pytest

from instar import TablePlan
from instar.cli import main, screen
from instar.cli.markdown import plan_markdown
from instar.cli.text import next_lines
from instar.core.document import plan_document
from instar.core.findings import Finding
from instar.errors import UsageError
from instar.run.options import RunOptions
from models.world import World, errors


def layered(world: World) -> None:
    world.manifest(
        "orders", "name: id, type: INT", "name: amount, type: INT", "name: day, type: DATE"
    )
    world.model("clean", "SELECT id, amount AS net, day FROM ref('orders') WHERE amount > 0")
    world.model("daily", "SELECT day, sum(net)::BIGINT AS total FROM clean GROUP BY day")
    world.model(
        "report",
        "WITH d AS (SELECT day, total FROM daily) SELECT day, total * 2 AS twice FROM d"
        " UNION ALL SELECT day, total FROM daily",
        "materialization: view",
    )
    world.apply()


def said(table: TablePlan, code: str) -> list[Finding]:
    return [f for f in table.findings if f.code == code]


def test_a_rename_in_the_first_layer_breaks_the_second_by_name(world: World) -> None:
    layered(world)
    world.manifest(
        "orders",
        "name: id, type: INT",
        "name: price, type: INT, renamed_from: amount",
        "name: day, type: DATE",
    )
    clean, daily = world.table("clean"), world.table("daily")
    (broken,) = said(clean, "F702")
    assert "main.orders: 'amount' is renamed to 'price'" in broken.message
    assert broken.where is not None
    assert (broken.where.file, broken.where.line) == ("models/clean.sql", 1)
    assert errors(daily) == ["F703"]


def test_a_rename_ripples_to_the_last_layer_before_anything_is_touched(world: World) -> None:
    layered(world)
    world.manifest(
        "orders",
        "name: id, type: INT",
        "name: amount, type: BIGINT",
        "name: day, type: DATE",
    )
    plans = {t.table.name: t for t in world.plan().tables}
    (reach,) = said(plans["orders"], "F705")
    for place in ("main.clean.net", "main.daily.total", "main.report.twice"):
        assert place in reach.message
    (change,) = plans["orders"].changes
    assert [(str(r), r.sources) for r in change.reaches] == [
        ("main.clean.net", ("main.orders.amount",)),
        ("main.daily.total", ("main.clean.net",)),
        ("main.report.twice", ("main.daily.total",)),
        ("rows of main.clean", ("main.orders.amount",)),
        ("rows of main.daily", ("rows of main.clean",)),
        ("rows of main.report", ("rows of main.daily",)),
    ]
    assert reach.message.endswith(
        "main.report.twice, and the rows of main.clean, main.daily, main.report."
    )
    assert [s.rung.value for s in plans["clean"].steps] == ["steps"], "INT to BIGINT follows"
    assert world.types("clean")["net"] == "INTEGER", "nothing is touched"


PRICE = (
    "name: id, type: INT",
    "name: price, type: INT, renamed_from: amount",
    "name: day, type: DATE",
)
LATER = ("main.clean.net", "main.daily.total", "main.report.twice")


def test_a_rename_reaches_the_last_table_before_its_first_reader_has_followed(world: World) -> None:
    layered(world)
    world.manifest("orders", *PRICE)
    (reach,) = said(world.table("orders"), "F705")
    assert "the change of 'price' reaches" in reach.message
    assert "perhaps" not in reach.message
    for place in LATER:
        assert place in reach.message
    world.model("clean", "SELECT id, price AS net, day FROM ref('orders') WHERE price > 0")
    (reach,) = said(world.table("orders"), "F705")
    for place in LATER:
        assert place in reach.message


def test_a_removed_column_of_a_manifest_reaches_the_last_table(world: World) -> None:
    layered(world)
    world.manifest("orders", "name: id, type: INT", "name: day, type: DATE")
    (reach,) = said(world.table("orders", "allow_column_removal"), "F705")
    assert "perhaps" not in reach.message
    for place in LATER:
        assert place in reach.message


def test_a_removal_that_is_blocked_says_what_it_would_reach(world: World) -> None:
    layered(world)
    world.run()
    world.model("clean", "SELECT id, day FROM ref('orders') WHERE amount > 0")
    clean = world.table("clean")
    assert errors(clean) == ["F701"]
    (reach,) = said(clean, "F705")
    assert "main.daily.total" in reach.message
    assert "main.report.twice" in reach.message


def test_models_that_were_never_built_are_reached_too(world: World) -> None:
    layered(world)
    world.model("more", "SELECT * FROM clean")
    world.model("most", "SELECT m.net + 1 AS n FROM more m JOIN daily USING (day)")
    world.manifest("orders", *PRICE)
    (reach,) = said(world.table("orders"), "F705")
    assert "main.more.net" in reach.message
    assert "main.most.n" in reach.message
    assert "perhaps" not in reach.message


def test_what_cannot_be_traced_is_followed_as_perhaps(world: World) -> None:
    layered(world)
    world.model("some", "SELECT COLUMNS('ne.*') FROM clean")
    world.model("tail", "SELECT net AS t FROM some")
    world.run()
    world.manifest(
        "orders", "name: id, type: INT", "name: amount, type: BIGINT", "name: day, type: DATE"
    )
    (reach,) = said(world.table("orders"), "F705")
    assert "perhaps main.some.net, perhaps main.tail.t" in reach.message


def test_a_new_column_reaches_those_who_read_every_column(world: World) -> None:
    layered(world)
    world.model("every", "SELECT * FROM clean")
    world.run()
    world.model("clean", "SELECT id, amount AS net, day, 1 AS one FROM ref('orders')")
    (reach,) = said(world.table("clean"), "F705")
    assert "the change of 'one' reaches main.every.one" in reach.message


def test_readers_that_have_followed_are_not_warned_of(world: World) -> None:
    world.sql("CREATE TABLE raw AS SELECT 1 AS id, 2 AS n")
    world.model("stg", "SELECT id, n AS amount FROM raw", "materialization: view")
    world.model("cust", "SELECT id, amount FROM stg")
    world.run()
    world.model("stg", "SELECT id, n AS price FROM raw", "materialization: view")
    assert "model 'cust'" in said(world.table("stg"), "F704")[0].message
    world.model("cust", "SELECT id, price AS amount FROM stg")
    stg = world.table("stg")
    assert not said(stg, "F704")
    assert [f.message for f in said(stg, "F705")] == [
        "[main.stg] the change of 'price' reaches main.cust.amount."
    ]
    assert {type(c.change).__name__: c.reason for c in stg.changes} == {
        "AddColumn": "the view's query computes it",
        "DropColumn": "the view no longer shows it; a view holds no values",
    }


def test_a_column_that_a_table_keeps_and_no_query_gives_is_reached_by_nothing(world: World) -> None:
    layered(world)
    world.run()
    world.model("clean", "SELECT id, amount AS gross, day FROM ref('orders')")
    world.model("daily", "SELECT day, sum(gross)::BIGINT AS total FROM clean GROUP BY day")
    world.manifest(
        "orders", "name: id, type: INT", "name: amount, type: BIGINT", "name: day, type: DATE"
    )
    (reach,) = said(world.table("orders"), "F705")
    assert reach.message.endswith(
        "reaches main.clean.gross, main.daily.total, main.report.twice."
    ), "not clean.net, which stays as it is"


def nested(world: World, type_: str) -> None:
    world.manifest("t", "name: id, type: INT", f'name: s, type: "STRUCT<{type_}>"')


def fields(world: World) -> None:
    """`part` names fields, `copy` takes the whole, `late` names fields of the copy."""
    nested(world, "a INT, b INT, c INT")
    world.model("part", "SELECT id,\n  s.a AS sa,\n  -- not b\n  s.b + 1 AS sb\nFROM t")
    world.model("copy", "WITH x AS (SELECT * FROM t) SELECT x.s AS r FROM x")
    world.model("late", "SELECT r.b AS lb, r.a AS la, to_json(r) AS j FROM copy")
    world.apply()


def test_a_field_that_goes_concerns_those_who_read_that_field(world: World) -> None:
    fields(world)
    nested(world, "a INT, c INT")
    plans = {t.table.name: t for t in world.plan("allow_column_removal").tables}
    (reach,) = said(plans["t"], "F705")
    assert reach.message == (
        "[main.t] the change of 's.b' reaches main.copy.r.b, main.part.sb, main.late.lb,"
        " main.late.j."
    )
    (readers,) = said(plans["t"], "F704")
    assert readers.message.startswith("[main.t] 's.b' is read by model 'copy'")
    assert "model 'part'" in readers.message
    (broken,) = said(plans["part"], "F702")
    assert "main.t: 's.b' is removed" in broken.message
    assert (broken.where.line, broken.where.column) == (4, 5) if broken.where else False
    nested(world, "a INT, c INT, b INT")
    assert not said(world.table("t"), "F704")


def test_a_field_that_nobody_names_warns_nobody_but_the_copies(world: World) -> None:
    fields(world)
    world.model("copy", "SELECT id FROM t")
    world.model("late", "SELECT id FROM copy")
    nested(world, "a INT, b INT")
    table = world.table("t", "allow_column_removal")
    assert not said(table, "F704")
    assert not said(table, "F705")


def test_lineage_of_a_field(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    fields(world)
    assert shown(world, capsys, "t.s.b", "text").splitlines() == [
        "main.t.s.b",
        "  -> main.copy.r.b",
        "    -> main.late.j",
        "    -> main.late.lb",
        "  -> main.part.sb",
    ]
    assert "<- main.copy.r.b\n    <- main.t.s.b" in shown(world, capsys, "late.lb", "text")


def test_parents_that_do_not_compile_are_named_in_the_plural(world: World) -> None:
    layered(world)
    world.model("odd", "SELECT amount, day FROM orders")
    world.model("both", "SELECT day FROM daily UNION SELECT day FROM odd")
    world.manifest("orders", *PRICE)
    (finding,) = said(world.table("both"), "F703")
    assert "clean, odd do not compile" in finding.message, "the roots, not who reads them"
    assert finding.hint == "Mend those models first."


def test_a_broken_model_that_is_not_selected_stays_as_it_is(world: World) -> None:
    world.sql("CREATE TABLE src AS SELECT 1 AS id, 2 AS v")
    world.model("a", "SELECT id, v FROM src")
    world.model("w", "SELECT id, v FROM src", "materialization: view")
    world.model("b", "SELECT id, v FROM a JOIN w USING (id, v)")
    world.run()
    world.model("a", "SELECT id, nosuch AS v FROM src")
    world.model("w", "SELECT id, nosuch AS v FROM src", "materialization: view")
    world.model("b", "SELECT id, v + 1 AS v FROM a JOIN w USING (id, v)")
    assert world.run(options=RunOptions(("b",))).ok
    assert world.sql("SELECT v FROM b") == [(3,)]
    world.sql("DROP TABLE a")
    (first, root) = world.project.plan(tables=["b"]).tables[0].findings
    assert (first.code, root.code) == ("F703", "F702")
    assert "a does not compile" in first.message
    assert "nosuch" in root.message


def test_a_plan_of_a_model_brings_its_declared_inputs_along(world: World) -> None:
    layered(world)
    world.model(
        "clean", "SELECT id, price AS net, day, 1 AS one FROM ref('orders') WHERE price > 0"
    )
    world.manifest("orders", *PRICE)
    plan = world.project.plan(tables=["clean"])
    assert [t.table.name for t in plan.tables] == ["orders", "clean"]
    assert not plan.blocked
    assert next_lines(plan, tables=["clean"]) == ["Next: instar run --select clean --env dev"]
    assert next_lines(plan, tables=["clean", "orders"]) == [
        "Next: instar apply clean orders --env dev"
    ]
    assert [t.table.name for t in world.project.drift(tables=["clean"]).tables] == ["clean"]


def test_a_removed_column_names_its_readers(world: World) -> None:
    layered(world)
    world.sql("CREATE VIEW outside AS SELECT net FROM main.clean")
    world.model("clean", "SELECT id, day FROM ref('orders') WHERE amount > 0")
    clean = world.table("clean")
    (readers,) = said(clean, "F704")
    assert "model 'daily' (models/daily.sql)" in readers.message
    assert "view main.outside" in readers.message
    (broken,) = said(world.table("daily", "allow_column_removal"), "F702")
    assert "main.clean: 'net' is removed" in broken.message


LINEAGE = {
    "clean.net": (["main.orders.amount"], ["main.daily.total", "main.report.twice"]),
    "report.twice": (["main.daily.total"], []),
    "orders.day": ([], ["main.clean.day", "main.daily.day", "main.report.day"]),
}


ASTRAY = {
    "nope": "Tables: clean, daily, orders, report.",
    "main.Daily.tot": "Columns of main.daily: day, total.",
}


@pytest.mark.parametrize("what", ASTRAY)
def test_lineage_of_what_is_not_there_says_what_is(world: World, what: str) -> None:
    layered(world)
    with pytest.raises(UsageError) as raised:
        world.project.lineage(what)
    assert (raised.value.code, raised.value.hint) == ("E432", ASTRAY[what])


def test_lineage_goes_through_ctes_aliases_and_unions(world: World) -> None:
    layered(world)
    for what, (sources, reached) in LINEAGE.items():
        web, (place,) = world.project.lineage(what)
        assert [str(p) for p in sorted(web.sources(place))] == sources
        assert sorted(str(p) for p in web.downstream([place])) == reached


def shown(world: World, capsys: pytest.CaptureFixture[str], what: str, format_: str) -> str:
    screen.use(screen.Screen())
    args = ["lineage", what, "--format", format_, "--project", str(world.root)]
    assert main.run(args) == 0
    return capsys.readouterr().out


def test_text_json_and_mermaid_agree(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Up to the source and down to the last table, and no sibling: nothing else comes from `amount`."""
    layered(world)
    world.model("clean", "SELECT id, amount AS net, day FROM ref('orders')")
    world.model("daily", "SELECT id, abs(net)::BIGINT AS total, day FROM clean")
    world.model("other", "SELECT sum(net) AS s FROM clean")
    world.model("some", "SELECT COLUMNS('to.*') FROM daily")
    world.model("tail", "SELECT total AS t FROM some")
    world.apply()
    above = {"main.clean.net", "main.orders.amount"}
    below = {"main.report.twice", "main.some.total", "main.tail.t"}
    text = shown(world, capsys, "daily.total", "text")
    assert text.startswith("main.daily.total\n  <- main.clean.net\n    <- main.orders.amount\n")
    assert set(re.findall("<- (.+)", text)) == above
    assert set(re.findall(r"-> (\S+)", text)) == below
    assert "-> main.some.total (perhaps)\n    -> main.tail.t (perhaps)" in text
    (column,) = json.loads(shown(world, capsys, "daily.total", "json"))["columns"]
    assert column["from"] == ["main.clean.net"]
    assert set(column["ancestors"]) == above
    assert column["descendants"] == ["main.report.twice"]
    assert column["perhaps_descendants"] == ["main.some.total", "main.tail.t"]
    assert (column["from_unknown"], column["ancestors_unknown"]) == (False, False)
    chart = shown(world, capsys, "daily.total", "mermaid")
    names = dict(re.findall(r'(c\d+)\["(.+)"\]', chart))
    assert set(names.values()) == {"main.daily.total"} | above | below
    edges = [
        (names[a], arrow, names[b]) for a, arrow, b in re.findall(r"(c\d+) (\S+) (c\d+)", chart)
    ]
    assert ("main.daily.total", "-.->", "main.some.total") in edges
    assert len(edges) == 5


def counted(world: World) -> None:
    """`a.k` and `a.v` are in no column of `b`, and decide what it counts."""
    world.sql("CREATE TABLE src (id INT, k INT, v INT)", "CREATE TABLE dim (code INT)")
    world.model("a", "SELECT id, k, v FROM src")
    world.model("b", "SELECT count(*) AS c FROM a JOIN dim ON a.k = dim.code WHERE a.v > 0")
    world.model("c", "SELECT c + 1 AS d FROM b")
    world.run()


def test_a_filter_and_a_join_are_reached_to_the_last_table(world: World) -> None:
    counted(world)
    world.model("a", "SELECT id, k::VARCHAR AS k, v::BIGINT AS v FROM src")
    table = world.table("a")
    assert [f.message for f in said(table, "F705")] == [
        f"[main.a] the change of '{name}' reaches the rows of main.b, main.c." for name in "kv"
    ]
    document = plan_document(world.plan())
    (a,) = (t for t in document["tables"] if t["table"] == "main.a")
    assert a["changes"][0]["reaches"][0] == {
        "table": "main.b",
        "column": None,
        "rows": True,
        "from": ["main.a.k"],
        "perhaps": False,
    }
    drawn = plan_markdown(world.plan())
    assert "Reaches the rows of 2 tables" in drawn
    assert "-.->" in drawn


def test_lineage_shows_what_decides_rows(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    counted(world)
    assert shown(world, capsys, "a.k", "text").splitlines() == [
        "main.a.k",
        "  <- main.src.k",
        "  -> rows of main.b",
        "    -> rows of main.c",
    ]
    assert shown(world, capsys, "c.d", "text").splitlines() == [
        "main.c.d",
        "  <- main.b.c",
        "    <- rows of main.b",
        "      <- main.a.k",
        "        <- main.src.k",
        "      <- main.a.v",
        "        <- main.src.v",
        "      <- main.dim.code",
    ]
    (k,) = json.loads(shown(world, capsys, "a.k", "json"))["columns"]
    assert (k["to"], k["descendants"]) == ([], [])
    assert k["decides_rows_of"] == ["main.b"]
    assert k["descendants_by_rows"] == ["main.b", "main.c"]
    (d,) = json.loads(shown(world, capsys, "c.d", "json"))["columns"]
    assert d["ancestors"] == ["main.b.c"]
    assert {"main.a.k", "main.src.k", "main.dim.code"} < set(d["ancestors_by_rows"])
    assert re.search(r"c\d+ -\.-> c\d+", shown(world, capsys, "a.k", "mermaid"))


def test_three_layers_change_after_change_are_as_a_rebuild(world: World) -> None:
    """Six changes in a row; after each, every table holds what its query gives."""
    world.sql(
        "CREATE TABLE raw AS SELECT i AS id, i % 3 AS k, i * 10 AS n FROM range(20) AS t(i)",
    )
    world.model("a", "SELECT id::INT AS id, k::INT AS k, n::INT AS n FROM raw")
    world.model("b", "SELECT k, sum(n)::BIGINT AS total FROM a GROUP BY k")
    world.model("c", "SELECT max(total) AS best FROM b")
    world.run()
    changes = [
        ("a", "SELECT id::INT AS id, k::INT AS k, n::BIGINT AS n FROM raw", ""),
        ("a", "SELECT id::INT AS id, k::INT AS k, n::BIGINT AS n, n % 2 = 0 AS even FROM raw", ""),
        (
            "b",
            "SELECT k, sum(n)::BIGINT AS sum_n FROM a GROUP BY k",
            "columns: {sum_n: {renamed_from: total}}",
        ),
        ("c", "SELECT max(sum_n) AS best FROM b", ""),
        ("b", "SELECT k, sum(n)::BIGINT AS sum_n, {'n': count(*)} AS s FROM a GROUP BY k", ""),
        (
            "b",
            "SELECT k, sum(n)::BIGINT AS sum_n, {'n': count(*), 'm': min(n)} AS s FROM a GROUP BY k",
            "",
        ),
    ]
    pending = dict.fromkeys(("a", "b", "c"))
    for number, (name, query, front) in enumerate(changes):
        world.model(name, query, front)
        if number == 2:
            continue  # the rename breaks c until c follows in the same plan
        assert world.run().ok
        for table in pending:
            text = (world.root / "models" / f"{table}.sql").read_text().split("---\n")[-1]
            assert world.sql(f"FROM ({text}) EXCEPT ALL FROM {table}") == [], (number, table)
            assert world.sql(f"FROM {table} EXCEPT ALL FROM ({text})") == [], (number, table)


def test_a_rename_that_breaks_somebody_elses_view_is_blocked(world: World) -> None:
    world.sql("CREATE TABLE raw AS SELECT 1 AS id, 2 AS n")
    world.model("m", "SELECT id, n FROM raw")
    world.run()
    world.sql("CREATE VIEW theirs AS SELECT n FROM m")
    world.model("m", "SELECT id, n AS total FROM raw", "columns: {total: {renamed_from: n}}")
    plan = world.table("m")
    assert errors(plan) == ["F601"]
    assert "main.theirs" in said(plan, "F601")[0].message
    assert not plan.steps
    world.sql("DROP VIEW theirs")
    assert not errors(world.table("m"))
