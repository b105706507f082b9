"""The plan as JSON, and the fingerprint that seals it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cli import samples
from instar.cli.sarif import plan_sarif
from instar.core.changes import (
    AddConstraint,
    ChangeClustering,
    ChangePartitioning,
    ChangeProperty,
    DropConstraint,
)
from instar.core.document import change_document, fingerprint, plan_document
from instar.core.plan import Cost, Plan
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Check, Unique
from instar.core.types import Column, Integer


def test_shape_is_the_documented_one() -> None:
    document = json.loads(json.dumps(plan_document(samples.everything())))
    assert document["version"] == 1
    assert document["env"] == "dev"
    assert {"tables", "summary", "fingerprint", "policy"} <= document.keys()
    for table in document["tables"]:
        assert {"table", "backend", "status", "changes", "findings", "steps"} <= table.keys()
        assert table["status"] in {"create", "change", "no_change", "blocked"}
        for change in table["changes"]:
            assert {
                "kind",
                "path",
                "from",
                "to",
                "modifications",
                "safety",
                "reason",
            } <= change.keys()
        for finding in table["findings"]:
            wanted = {"code", "severity", "message", "hint", "count", "witnesses"}
            assert wanted <= finding.keys()
        for step in table["steps"]:
            wanted = {"id", "kind", "rung", "sql", "cost", "destructive", "reversible", "confirm"}
            assert wanted | {"why_not_cheaper"} <= step.keys()
            assert step["cost"].keys() == {"rows", "bytes", "files"}


def test_every_key_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "plan-json.md").read_text()
    # Columns, constraints and properties are data of the user's, as in a manifest.
    for plan in (samples.reaching(), samples.everything()):
        document = plan_document(plan)
        for table in document["tables"]:
            for change in table["changes"]:
                change["from"] = change["to"] = None
            for finding in table["findings"]:
                finding["witnesses"] = []
        missing = [key for key in _keys(document) if f"`{key}`" not in page]
        assert not missing


def _keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


def test_what_a_change_reaches_is_there_to_the_last_column() -> None:
    (table,) = plan_document(samples.reaching(30))["tables"]
    (change,) = table["changes"]
    assert len(change["reaches"]) == 30
    assert change["reaches"][29] == {
        "table": "main.m29",
        "column": "n",
        "rows": False,
        "from": ["main.m28.n"],
        "perhaps": True,
    }
    assert "main.m29.n" in table["findings"][0]["message"]


def test_summary_counts_tables_and_findings() -> None:
    assert plan_document(samples.everything())["summary"] == {
        "create": 1,
        "change": 1,
        "rewrite": 1,
        "blocked": 1,
        "unchanged": 3,
        "unfinished": 0,
        "findings": {"error": 1, "warning": 2, "info": 0},
    }


def test_modifications_of_one_column_stand_together() -> None:
    tables = plan_document(samples.everything())["tables"]
    mail = next(c for c in tables[1]["changes"] if c["path"] == "MAIL")
    assert mail["kind"] == "modify_column"
    assert mail["modifications"] == [
        {"kind": "rename", "from": "EMAIL", "to": "MAIL"},
        {"kind": "type", "from": "STRING", "to": "VARCHAR(255)"},
        {"kind": "nullability", "from": "NULL", "to": "NOT NULL"},
    ]


@pytest.mark.parametrize(
    ("change", "path", "old", "new"),
    [
        (AddConstraint(Check("pos", "a > 0")), "pos", None, {"name": "pos", "check": "a > 0"}),
        (DropConstraint(Unique("u", ("a",))), "u", {"name": "u", "unique": ["a"]}, None),
        (ChangeClustering((), ("a",)), None, [], ["a"]),
        (ChangePartitioning(("a",), ()), None, ["a"], []),
        (ChangeProperty("k", None, "v"), "k", None, "v"),
    ],
)
def test_table_level_changes(change, path, old, new) -> None:  # type: ignore[no-untyped-def]
    document = change_document(change)
    assert (document["path"], document["from"], document["to"]) == (path, old, new)


def test_fingerprint_is_the_same_in_another_process() -> None:
    """Hash seeds and dictionary orders of a process do not count."""
    code = (
        "from cli import samples; from instar.core.document import fingerprint;"
        "print(fingerprint(samples.everything()))"
    )
    folder = Path(__file__).parents[1]
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": f"{folder}:{folder.parent / 'src'}", "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert said == {fingerprint(samples.everything())}


def _moved(plan: Plan) -> dict[str, Plan]:
    """Plans that do something else."""
    table = plan.tables[0]
    step = table.steps[0]
    assert table.live is not None
    other = replace(table.live, columns=(*table.live.columns, Column("extra", Integer(32))))
    again = replace(
        table.live, columns=(replace(table.live.columns[0], identity=7), *table.live.columns[1:])
    )
    return {
        "live": replace(plan, tables=(replace(table, live=other),)),
        "a column dropped and made again": replace(plan, tables=(replace(table, live=again),)),
        "target": replace(plan, tables=(replace(table, target=other),)),
        "sql": replace(plan, tables=(replace(table, steps=(replace(step, sql=("SELECT 1",)),)),)),
        "step data": replace(
            plan, tables=(replace(table, steps=(replace(step, data={"k": "v"}), *table.steps[1:])),)
        ),
        "policy": replace(plan, policy=Policy(ColumnConflict.DROP)),
        "env": replace(plan, env="prod"),
        "fewer tables": replace(plan, tables=()),
    }


@pytest.mark.parametrize("what", _moved(samples.plan(samples.orders())))
def test_fingerprint_moves_with_what_would_be_done(what: str) -> None:
    plan = samples.plan(samples.orders())
    assert fingerprint(_moved(plan)[what]) != fingerprint(plan)


def test_fingerprint_stays_while_rows_come_and_go() -> None:
    plan = samples.plan(samples.events())
    table = plan.tables[0]
    steps = tuple(replace(s, cost=Cost(9, 9, 9), confirm="Drop 9 rows?") for s in table.steps)
    grown = replace(plan, tables=(replace(table, steps=steps, findings=()),))
    assert fingerprint(grown) == fingerprint(plan)


def test_fingerprint_knows_a_table_that_is_left_alone_by_name_only() -> None:
    """Whatever moved it would have given it steps."""
    plan = samples.plan(samples.quiet("a"))
    table = plan.tables[0]
    assert table.live is not None
    grown = replace(table.live, columns=(*table.live.columns, Column("extra", Integer(32))))
    assert fingerprint(samples.plan(replace(table, live=grown, target=grown))) == fingerprint(plan)
    assert fingerprint(samples.plan(samples.quiet("b"))) != fingerprint(plan)


def test_sarif_names_file_line_and_rule() -> None:
    document = json.loads(plan_sarif(samples.everything()))
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-2.1.0.json")
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [r["id"] for r in rules] == ["F102", "F201", "F502"]
    assert all(r["shortDescription"]["text"] for r in rules)
    assert all(f"`instar explain {r['id']}`" in r["help"]["text"] for r in rules)
    assert all("docs/reference/codes.md" in r["help"]["markdown"] for r in rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        assert result["message"]["text"]
    error = next(r for r in run["results"] if r["level"] == "error")
    (location,) = error["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "tables/payments.yml"},
        "region": {"startLine": 7, "startColumn": 12},
    }


def test_sarif_without_findings_is_an_empty_run() -> None:
    document = json.loads(plan_sarif(samples.plan(samples.quiet("a"))))
    assert document["runs"][0]["results"] == []
