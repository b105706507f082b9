"""Sealed plans and questions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cli import samples
from instar.cli.ask import confirmer
from instar.cli.screen import Screen
from instar.cli.seal import Seal, moved, read_seal, write_seal
from instar.core.document import fingerprint
from instar.core.findings import Finding, Severity
from instar.core.plan import Cost, Status, TablePlan
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import TableName
from instar.errors import ConfirmationNeeded, PlanMoved, UsageError


def test_a_seal_comes_back_as_it_was(tmp_path: Path) -> None:
    policy = Policy(ColumnConflict.REORDER, allow_rewrite=True)
    plan = samples.plan(samples.customers(), policy=policy)
    write_seal(tmp_path / "p", plan, "shop", ("sales.*",))
    seal = read_seal(tmp_path / "p")
    assert seal == Seal("shop", "dev", ("sales.*",), policy, fingerprint(plan))


def test_a_sealed_plan_is_the_document_and_more(tmp_path: Path) -> None:
    plan = samples.plan(samples.customers())
    write_seal(tmp_path / "p", plan, "shop", ())
    document = json.loads((tmp_path / "p").read_text())
    assert document["tables"][0]["table"] == "main.customers"
    assert document["fingerprint"] == fingerprint(plan)


EDITS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a statement": lambda d: d["tables"][0]["steps"][0].update(sql=["DROP TABLE main.customers"]),
    "a finding": lambda d: d["tables"][0].update(findings=[]),
    "the policy": lambda d: d["sealed"]["policy"].update(allow_rewrite=True),
    "the tables": lambda d: d["sealed"].update(tables=["orders"]),
    "a key more": lambda d: d.update(note="reviewed"),
    "another hash": lambda d: d["sealed"].update(hash="sha256:0"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_a_sealed_plan_that_was_edited_is_refused(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object]
) -> None:
    path = tmp_path / "p"
    table = replace(samples.customers(), findings=(Finding("F501", Severity.WARNING, "costly"),))
    write_seal(path, samples.plan(table), "shop", ())
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document, indent=4))
    assert read_seal(path).project == "shop", "the layout does not count"
    edit(document)
    path.write_text(json.dumps(document))
    with pytest.raises(PlanMoved) as caught:
        read_seal(path)
    assert (caught.value.code, caught.value.exit_code) == ("E414", 3)
    assert str(path) in str(caught.value.where)


@pytest.mark.parametrize(
    "text", ["", "table: orders", "[]", "{}", '{"version": 1}', '{"version": 99, "sealed": {}}']
)
def test_anything_else_is_no_sealed_plan(tmp_path: Path, text: str) -> None:
    (tmp_path / "p").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_seal(tmp_path / "p")
    assert caught.value.code == "E410"
    assert str(tmp_path / "p") in str(caught.value.where)


def test_what_moved_since_is_told_by_table(tmp_path: Path) -> None:
    was = samples.customers()
    write_seal(tmp_path / "p", samples.plan(was), "shop", ())
    seal = read_seal(tmp_path / "p")

    def told(*tables: TablePlan) -> tuple[str, ...]:
        return moved(seal, samples.plan(*tables))

    step = was.steps[0]
    name = str(was.table)
    other = replace(was, table=TableName("main", "z"))
    assert told(was) == ()
    assert told(replace(was, steps=(replace(step, cost=Cost(rows=9)),))) == (), "rows come and go"
    assert told(other) == (f"{name} is no longer declared", "main.z is declared since")
    assert told(replace(was, status=Status.BLOCKED, steps=())) == (f"{name} is blocked now",)
    assert told(replace(was, changes=(), steps=())) == (f"{name} is as declared already",)
    assert told(replace(was, steps=(replace(step, sql=("SELECT 1",)),))) == (
        f"{name} needs other steps now",
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_seal(tmp_path / "nothing.plan")
    assert caught.value.code == "E410"


def test_a_folder_that_is_not_there_is_no_crash(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        write_seal(tmp_path / "no" / "p", samples.plan(), "shop", ())
    assert caught.value.code == "E412"


@dataclass(frozen=True)
class Question:
    text: str


ASKED = [Question("[main.orders] Drop OLD: the values are lost (12 rows)"), Question("[main.b] x")]


def test_nobody_to_ask_and_no_word_is_exit_four() -> None:
    """Under pytest neither stream is a terminal."""
    with pytest.raises(ConfirmationNeeded) as caught:
        confirmer(Screen(), yes=False)(ASKED)
    assert caught.value.exit_code == 4
    assert "needs confirmation: rerun with --yes" in caught.value.message
    assert "Drop OLD: the values are lost (12 rows)" in caught.value.message


def test_yes_answers_and_says_what_it_agreed_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert confirmer(Screen(), yes=True)(ASKED)
    assert "yes: [main.orders] Drop OLD" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "agreed"),
    [("y\ny\n", True), ("yes\nYES\n", True), ("y\nn\n", False), ("\n", False), ("", False)],
)
def test_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, agreed: bool
) -> None:
    """Only a clear yes to every question is a yes; the end of input is a no."""
    import io

    monkeypatch.setattr("instar.cli.ask.interactive", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert confirmer(Screen(), yes=False)(ASKED) is agreed
    seen = capsys.readouterr()
    assert seen.out == ""
    assert "Drop OLD: the values are lost (12 rows). Go on? [y/N]" in seen.err
