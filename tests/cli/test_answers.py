"""What machines get when something is wrong, where findings point, and what a look leaves alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.running import Result
from cli.test_commands import ORDERS, Shop, shop
from instar.cli import main, screen

__all__ = ["shop"]

PROJECT = (
    "name: shop\nversion: 1\nenvironments:\n"
    "  dev: {type: duckdb, database: data/dev.duckdb, schema: main}\n"
)
BROKEN = "table: orders\ncolums: []\n"


@pytest.mark.parametrize(
    "command", ["plan", "drift", "apply", "recover", "run", "history x", "cleanup", "revert orders"]
)
def test_an_error_is_a_json_document_of_every_command(shop: Shop, command: str) -> None:
    shop.declare(BROKEN)
    if command == "recover":
        (shop.root / ".instar" / "state.db").write_bytes(
            b"no database, but text of some length" * 9
        )
    result = shop.run(*command.split(), "--format", "json")
    told = json.loads(result.out)["error"]
    assert told["exit_code"] == result.code == 1
    assert told["code"] == ("E301" if command == "recover" else "E103")
    if told["code"] == "E103":
        assert told["where"] == {"file": "tables/orders.yml", "line": 2, "column": 1}


def test_an_error_is_sarif_and_markdown_too(shop: Shop) -> None:
    shop.declare(BROKEN)
    (result,) = json.loads(shop.run("plan", "--format", "sarif").out)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("E103", "error")
    assert "unknown key 'colums'. Did you mean" in result["message"]["text"]
    assert line(result) == ("tables/orders.yml", 2)
    assert shop.run("plan", "--format", "markdown").out.startswith("🛑 **E103** ")


def test_a_document_is_written_once(shop: Shop) -> None:
    shop.declare(ORDERS.replace("  - {name: old, type: INT}\n", ""))
    result = shop.run("apply", "--column-conflict", "drop", "--format", "json")
    assert json.loads(result.out)["error"]["code"] == "E403"


def test_a_blocked_apply_is_answered_with_its_findings(shop: Shop) -> None:
    shop.declare(ORDERS.replace("amount, type: STRING", "amount, type: INT"))
    result = shop.run("apply", "--format", "json")
    told = json.loads(result.out)
    assert (result.code, told["error"]["code"]) == (3, "E405")
    (table,) = told["tables"]
    assert table["status"] == "blocked"
    assert "F201" in [f["code"] for f in table["findings"]]


@pytest.mark.parametrize(
    "words",
    [
        "plan ordres",
        "apply ordres",
        "drift ordres",
        "history ordres",
        "cleanup ordres",
        "revert ordres",
        "import ordres",
        "run --select ordres",
        "plan --env ordres",
        "diff ordres dev",
        "diff dev ordres.yml",
        "apply ordres.plan",
        "explain F999",
    ],
)
def test_a_mistyped_name_is_exit_two_everywhere(shop: Shop, words: str) -> None:
    name = words.split()[0]
    result = alone(words, shop) if name == "explain" else shop.run(*words.split())
    assert result.code == 2
    assert result.err.startswith("error[E")


def alone(words: str, shop: Shop) -> Result:
    screen.use(screen.Screen())
    code = main.run(words.split())
    seen = shop._capsys.readouterr()
    return Result(code, seen.out, seen.err)


def test_a_table_without_a_past_is_not_an_unknown_one(shop: Shop) -> None:
    shop.declare("table: later\ncolumns: [{name: id, type: INT}]\n", "later")
    assert shop.run("history", "later").out == "Nothing was applied to 'later' yet.\n"
    assert "Did you mean 'later'?" in shop.run("history", "latr").err


def test_a_look_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "instar.yml").write_text(PROJECT)
    shop = Shop(tmp_path, capsys)
    shop.declare(ORDERS)
    for command in ("plan", "drift", "history", "doctor", "cleanup --dry-run", "import --dry-run"):
        assert shop.run(*command.split()).code in (0, 5), command
    assert not (tmp_path / "data").exists()
    assert not (tmp_path / ".instar" / "state.db").exists()
    assert shop.run("apply").code == 0
    assert (tmp_path / "data" / "dev.duckdb").exists()


def test_drift_is_sarif_also_where_a_plan_has_nothing_to_say(shop: Shop) -> None:
    clean = json.loads(shop.run("drift", "--format", "sarif").out)
    assert clean["runs"][0]["results"] == []
    shop.sql("ALTER TABLE main.orders DROP COLUMN old")
    shop.declare("table: later\ncolumns: [{name: id, type: INT}]\n", "later")
    ended = shop.run("drift", "--format", "sarif")
    told = {line(r): r for r in json.loads(ended.out)["runs"][0]["results"]}
    assert ended.code == 5
    assert {r["ruleId"] for r in told.values()} == {"F505"}
    assert told["tables/orders.yml", 1]["message"]["text"].startswith(
        "[main.orders] differs from tables/orders.yml; back to it: + old INT. Take it over"
    )
    assert (
        "is missing, declared in tables/later.yml" in told["tables/later.yml", 1]["message"]["text"]
    )


POINTED = """\
table: orders
primary_key: [id]
constraints:
  positive: {check: "old > 1"}
columns:
  - {name: id, type: BIGINT, nullable: false}
  - name: amount
    comment: what it costs
    type: INT
  - name: old
    type: INT
  - name: state
    type: VARCHAR(8)
    nullable: false
"""


def line(result: dict[str, object]) -> tuple[str, int]:
    place = result["locations"][0]["physicalLocation"]  # type: ignore[index]
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


def test_findings_point_at_the_line_they_are_about(shop: Shop) -> None:
    shop.sql("ALTER TABLE main.orders ADD COLUMN extra INT")
    shop.declare(POINTED)
    document = json.loads(shop.run("plan", "--allow-rewrite", "--format", "sarif").out)
    places = {r["ruleId"]: line(r) for r in document["runs"][0]["results"]}
    assert places == {
        "F102": ("tables/orders.yml", 5),
        "F201": ("tables/orders.yml", 9),
        "F101": ("tables/orders.yml", 14),
        "F302": ("tables/orders.yml", 4),
        "F602": ("tables/orders.yml", 13),
    }
    text = shop.run("plan", "--allow-rewrite").out
    assert "    --> tables/orders.yml:9:5\n" in text
    assert "9 │     type: INT" in text


def test_findings_of_nested_fields_point_at_their_entry_or_type(shop: Shop) -> None:
    shop.declare(
        ORDERS + "  - name: who\n    type: STRUCT<a VARCHAR(3), b INT>\n"
        "    fields:\n      b:\n        nullable: false\n"
    )
    found = json.loads(shop.run("plan", "--format", "json").out)["tables"][0]["findings"]
    assert {f["path"]: f["where"]["line"] for f in found} == {"who.a": 7, "who.b": 10}


def test_findings_of_a_model_point_into_its_file(shop: Shop) -> None:
    daily = shop.root / "models" / "daily.sql"
    daily.parent.mkdir()
    daily.write_text("SELECT id, old FROM orders\n")
    assert shop.run("run", "--yes").code == 0
    front = "---\ncolumns:\n  n:\n    nullable: false\n---\n"
    daily.write_text(f"{front}SELECT id, CAST(NULL AS INT) AS n\nFROM orders\n")
    tables = json.loads(shop.run("plan", "--format", "json").out)["tables"]
    (found,) = [t["findings"] for t in tables if t["table"] == "main.daily"]
    assert {f["code"]: (f["where"]["file"], f["where"]["line"]) for f in found} == {
        "F701": ("models/daily.sql", 6),
        "F105": ("models/daily.sql", 3),
    }
