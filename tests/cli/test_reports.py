"""What apply, recover, history, doctor and diff say afterwards, from values."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli import samples
from instar.app.comparing import Comparison, TableDifference
from instar.app.doctoring import Diagnosis
from instar.app.project import ApplyReport
from instar.apply import Result, TableReport
from instar.cli.lines import Line, render
from instar.cli.numbers import bytes_text, cost_text, rows_text, seconds_text
from instar.cli.reports import apply_document, apply_lines, diff_lines, doctor_lines, history_lines
from instar.cli.screen import PLAIN
from instar.core.changes import CreateTable
from instar.core.diff import diff
from instar.core.plan import Cost
from instar.core.schema import TableName, Wanted
from instar.errors import EngineError
from instar.state import Event, Kept

GOLDEN = Path(__file__).parent / "golden"
STREAM = TableName("main", "stream")

BLOCK = "columns:\n  - {name: a, type: INT}\n  - {name: b, type: INT}\n"
REPORTS = (
    TableReport(TableName("main", "customers"), Result.APPLIED, 1, 1, 0.412),
    TableReport(TableName("main", "orders"), Result.APPLIED, 3, 3, 75.2, resumed=True),
    TableReport(
        TableName("main", "events"),
        Result.FAILED,
        1,
        2,
        3.0,
        EngineError("E210", "[PARSE] no", hint="Look it up."),
        "instar apply goes on with 'Drop the old table'",
        ("the old table is kept as main.events__instar_old",),
    ),
    TableReport(TableName("main", "payments"), Result.SKIPPED, total=2),
    TableReport(TableName("main", "one"), Result.NOTHING),
)
REPORT = ApplyReport(REPORTS, ((STREAM, BLOCK),), (Path("tables/other.yml"),))


def _diff_lines() -> list[Line]:
    orders, customers = samples.orders(), samples.customers()
    assert orders.live is not None
    assert orders.target is not None
    assert customers.target is not None
    tables = (
        TableDifference(customers.table, (CreateTable(customers.target),)),
        TableDifference(orders.table, diff(orders.live, Wanted(orders.target))),
        TableDifference(TableName("main", "gone"), gone=True),
    )
    return diff_lines(Comparison("dev", "prod@3", tables))


PAGES = {
    "apply.txt": lambda: apply_lines(samples.everything(), REPORT, REPORTS, 81.04),
    "apply-nothing.txt": lambda: apply_lines(
        samples.plan(samples.quiet("a")), ApplyReport(()), REPORTS[-1:], 0.2
    ),
    "doctor.txt": lambda: doctor_lines(
        (
            Diagnosis("python", True, "3.11.7"),
            Diagnosis("state", True, "1 unfinished run: main.t", "`instar recover`", warns=True),
            Diagnosis("java", False, "E201: no Java", "Install a JDK 17 or 21."),
        )
    ),
    "diff.txt": _diff_lines,
}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_as_it_was_agreed(name: str) -> None:
    """INSTAR_UPDATE_GOLDEN=1 rewrites the files; read the difference before you keep it."""
    text = render(PAGES[name](), PLAIN) + "\n"
    if os.environ.get("INSTAR_UPDATE_GOLDEN"):
        (GOLDEN / name).write_text(text, encoding="utf-8")
    assert text == (GOLDEN / name).read_text(encoding="utf-8")


def test_apply_document() -> None:
    document = json.loads(json.dumps(apply_document(samples.everything(), REPORT, REPORTS, 1.5)))
    assert [t["result"] for t in document["tables"]] == [
        "applied",
        "applied",
        "failed",
        "skipped",
        "nothing",
    ]
    assert document["tables"][2]["error"]["code"] == "E210"
    assert document["columns_blocks"] == {"main.stream": BLOCK}
    assert document["summary"] == {
        "done": 2,
        "unchanged": 1,
        "failed": 1,
        "skipped": 1,
        "seconds": 1.5,
    }


def test_history_names_what_failed() -> None:
    event = Event(0.0, STREAM, "Add b", 2, 1, None, "failed", "E210: no", "instar apply", "r1")
    first, second = render(history_lines((event,)), PLAIN).splitlines()
    assert "main.stream  failed     Add b  (1/2 steps)" in first
    assert second == "    E210: no"


def test_history_says_until_when_an_old_copy_is_kept() -> None:
    event = Event(0.0, STREAM, "Rewrite", 1, 1, 1.0, "finished", None, "instar apply", "r1")
    table = Kept(STREAM, TableName("main", "stream__instar_old_1"), "r1", 0.0)
    version = Kept(STREAM, TableName("main", "stream@v3"), "r1", 0.0)
    _, *kept = render(history_lines((event,), (table, version)), PLAIN).splitlines()
    assert kept == [
        "    kept: main.stream__instar_old_1, until `instar cleanup`",
        "    kept: main.`stream@v3`, until Delta's VACUUM takes its files",
    ]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (0, "0 rows"),
        (1, "1 row"),
        (9_999, "9,999 rows"),
        (12_345, "12.3 k rows"),
        (1_000_000, "1 M rows"),
        (340_000_000, "340 M rows"),
    ],
)
def test_rows(rows: int, text: str) -> None:
    assert rows_text(rows) == text


def test_other_numbers() -> None:
    assert bytes_text(999) == "999 B"
    assert bytes_text(340_000_000) == "340 MB"
    assert cost_text(Cost(None, 1_500, 1)) == "1.5 kB, 1 file"
    assert cost_text(Cost()) == ""
    assert [seconds_text(s) for s in (0.412, 12.34, 59.99, 75.2, 3_725)] == [
        "0.41s",
        "12.3s",
        "60.0s",
        "1m15s",
        "1h02m",
    ]
