"""Seed statements for Snowflake as text: each case is a live table, a wanted one and the SQL between."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlglot

from instar.backends.snowflake.rules import SnowflakeRules
from instar.core.plan import Cost
from instar.core.planner import draft, finish
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column
from instar.sources.typetext import parse_type

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
NAME = TableName("SHOP", "ORDERS")
COLUMN = re.compile(
    r"(?P<name>\w+) (?P<type>.+?)(?P<required> NOT NULL)?(?: <- (?P<old>\w+))?(?: _default=(?P<fill>.+))?"
)


@dataclass
class Case:
    title: str
    values: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, list[str]] = field(default_factory=dict)


def read(path: Path) -> Case:
    title, *lines = path.read_text().splitlines()
    case, block = Case(title), ""
    for line in lines:
        if line.startswith("  "):
            case.blocks[block].append(line[2:])
        else:
            block, _, value = line.partition(":")
            case.values[block] = value.strip()
            case.blocks.setdefault(block, [])
    return case


def columns(lines: list[str]) -> tuple[tuple[Column, ...], dict[tuple[str, ...], Hint]]:
    found, hints = [], {}
    for line in lines:
        part = COLUMN.fullmatch(line)
        assert part is not None, line
        found.append(
            Column(part["name"], parse_type(part["type"]), nullable=part["required"] is None)
        )
        if part["old"] or part["fill"]:
            hints[(part["name"],)] = Hint(renamed_from=part["old"], default=part["fill"])
    return tuple(found), hints


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_case(path: Path) -> None:
    case = read(path)
    rules = SnowflakeRules()
    live_columns, _ = columns(case.blocks["live"])
    live = rules.normalize(Wanted(Table(NAME, live_columns)), None)[0].table
    if case.values.get("change_tracking"):
        live = Table(NAME, live.columns, change_tracking=True)
    wanted_columns, hints = columns(case.blocks["wanted"])
    tracking = True if case.values.get("wants_tracking") else None
    wanted = Wanted(Table(NAME, wanted_columns, change_tracking=tracking), hints)
    policy = Policy(ColumnConflict(case.values["policy"]))

    plan = finish(draft(wanted, live, rules, policy), (), Cost(), rules)

    said = [f.code for f in plan.findings if f.code != "F602"]
    assert said == case.values["findings"].split()
    statements = [sql for step in plan.steps for sql in step.sql]
    assert "\n".join(statements) == "\n".join(case.blocks["sql"])
    for sql in statements:
        assert sqlglot.parse_one(sql, dialect="snowflake") is not None


def test_a_default_that_came_with_the_column_is_accepted_as_lasting() -> None:
    rules = SnowflakeRules()
    live = Table(NAME, (Column("STATUS", parse_type("STRING"), default="'UNDEFINED'"),))
    wanted = Wanted(
        Table(NAME, (Column("STATUS", parse_type("STRING")),)),
        {("STATUS",): Hint(default="'UNDEFINED'")},
    )
    sketch = draft(wanted, live, rules, Policy())
    assert sketch.changes == ()
    assert [f.code for f in sketch.findings] == ["F602"]
