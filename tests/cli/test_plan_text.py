"""The plan as people read it: whole pages compared with files that a stranger can read."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from cli import samples
from instar.cli.lines import render
from instar.cli.markdown import plan_markdown
from instar.cli.mermaid import flowchart
from instar.cli.problems import finding_lines
from instar.cli.screen import PLAIN, Paint, to_ascii
from instar.cli.text import apply_command, drift_text, plan_text, summary_line
from instar.core.changes import AddColumn
from instar.core.classify import Classified, Safety
from instar.core.findings import Finding, Severity
from instar.core.plan import Plan
from instar.core.policy import ColumnConflict, Policy
from instar.core.types import Column, Integer

GOLDEN = Path(__file__).parent / "golden"

PAGES = {
    "plan.txt": lambda: plan_text(samples.everything(), PLAIN),
    "plan-verbose.txt": lambda: plan_text(samples.everything(), PLAIN, verbose=1),
    "plan-ascii.txt": lambda: to_ascii(plan_text(samples.everything(), PLAIN)),
    "drift.txt": lambda: drift_text(samples.everything(), PLAIN),
    "plan.md": lambda: plan_markdown(samples.everything(), "shop"),
}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_as_it_was_agreed(name: str) -> None:
    """INSTAR_UPDATE_GOLDEN=1 rewrites the files; read the difference before you keep it."""
    text = re.sub(r"sha256:[0-9a-f]{64}", "sha256:…", PAGES[name]()) + "\n"
    if os.environ.get("INSTAR_UPDATE_GOLDEN"):
        (GOLDEN / name).write_text(text, encoding="utf-8")
    assert text == (GOLDEN / name).read_text(encoding="utf-8")


def test_colour_only_adds() -> None:
    coloured = plan_text(samples.everything(), Paint(on=True))
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plan_text(samples.everything(), PLAIN)


def test_a_value_cannot_reach_the_terminal_as_a_command() -> None:
    """A witness holds an escape sequence, a name a bidirectional override."""
    text = plan_text(samples.everything(), PLAIN)
    assert "\x1b" not in text
    assert r"\x1b[31mred" in text
    assert render([[("", "a\u202eb\nc")]], PLAIN) == r"a\u202eb\nc"


def test_no_line_is_wider_than_its_content_needs() -> None:
    assert all(
        line == line.rstrip() for line in plan_text(samples.everything(), PLAIN).splitlines()
    )


@pytest.mark.parametrize(
    ("plan", "line"),
    [
        (samples.plan(), "Plan: nothing to do."),
        (samples.plan(samples.quiet("a")), "Plan: nothing to do, 1 unchanged."),
        (samples.plan(samples.customers()), "Plan: 1 to create."),
        (samples.plan(samples.payments()), "Plan: 1 blocked."),
        (
            samples.plan(samples.unfinished(), samples.payments()),
            "Plan: 1 to finish first, 1 blocked.",
        ),
        (
            samples.everything(),
            "Plan: 1 to create, 1 to change, 1 to rewrite, 1 blocked, 3 unchanged.",
        ),
    ],
)
def test_last_line_counts(plan: Plan, line: str) -> None:
    assert summary_line(plan) == line


def test_a_reason_that_the_next_step_shares_is_told_once() -> None:
    table = samples.orders()
    steps = tuple(replace(s, why_not_cheaper="files are read by name") for s in table.steps)
    text = plan_text(samples.plan(replace(table, steps=steps)), PLAIN)
    assert len(steps) > 1
    assert text.count("files are read by name") == 1


def test_next_command_repeats_the_policy_and_the_tables() -> None:
    policy = Policy(ColumnConflict.DROP, allow_rewrite=True)
    plan = samples.plan(samples.customers(), policy=policy)
    text = plan_text(plan, PLAIN, tables=["sales.*"])
    wanted = "instar apply 'sales.*' --env dev --column-conflict drop --allow-rewrite"
    assert text.splitlines()[-1] == f"Next: {wanted}"
    assert apply_command("dev", Policy()) == "instar apply --env dev"


def test_a_new_column_is_shown_where_it_will_be() -> None:
    """Declared in the middle of a change-tracked table, it comes last all the same."""
    table = samples.tracked()
    assert table.live is not None
    added = AddColumn(("new",), Column("new", Integer(32)), after="a")
    target = replace(table.live, columns=(*table.live.columns, added.column))
    change = Classified(added, Safety.SAFE, "old rows read NULL")
    last = replace(table, changes=(change,), target=target)
    assert "after" not in plan_text(samples.plan(last), PLAIN)
    free = replace(last, target=replace(target, columns=(target.columns[3], *target.columns[:3])))
    assert "new  INT, first" in plan_text(samples.plan(free), PLAIN)


def test_a_sealed_plan_names_its_file() -> None:
    text = plan_text(samples.plan(samples.customers()), PLAIN, sealed="my plan.json")
    assert text.endswith("To do exactly this: instar apply 'my plan.json'")


def test_witnesses_that_look_alike_are_told_apart() -> None:
    texts = ("", " x", "x ", "NULL", None, "it's")
    finding = Finding("F201", Severity.ERROR, "lost", witnesses=tuple({"v": t} for t in texts))
    shown = render(finding_lines(finding, every_row=True), PLAIN).splitlines()
    assert [line.strip() for line in shown[3:]] == ["''", "' x'", "'x '", "'NULL'", "NULL", "it's"]


def test_witnesses_stop_at_five_and_the_rest_is_counted() -> None:
    rows = tuple({"ID": str(n)} for n in range(100))
    finding = Finding("F301", Severity.ERROR, "many", count=2_345, witnesses=rows)
    table = replace(samples.payments(), findings=(finding,))
    lines = plan_text(samples.plan(table), PLAIN).splitlines()
    assert sum(line.strip().isdigit() for line in lines) == 5
    assert "and 2,340 more" in "\n".join(lines)


def test_markdown_keeps_hostile_text_inside() -> None:
    """Text from the data cannot close a fence, mention someone, make a link or break a table."""
    hostile = "``` @here [x](http://evil) | <img src=x> \x1b[0m"
    finding = Finding("F201", Severity.ERROR, hostile, hostile, (), 1, ({"a|b": hostile},))
    text = plan_markdown(samples.plan(replace(samples.payments(), findings=(finding,))))
    assert "@here" not in text
    assert "<img" not in text
    assert not re.search(r"(?<!\\)\]\(http", text)
    assert "\x1b" not in text
    row = next(line for line in text.splitlines() if line.startswith("| \\`"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 2


def test_markdown_stays_within_a_comment() -> None:
    many = tuple(
        replace(samples.orders(), table=replace(samples.orders().table, name=f"orders_{n}"))
        for n in range(200)
    )
    text = plan_markdown(Plan("dev", Policy(), many))
    assert len(text) < 65_536
    assert "too long for a comment" in text


def test_what_a_change_reaches_is_cut_for_people_only() -> None:
    plan = samples.reaching(30)
    assert "main.m11.n and 18 more." in plan_text(plan, PLAIN)
    assert "main.m12.n" not in plan_text(plan, PLAIN)
    for whole in (plan_text(plan, PLAIN, verbose=1), plan_markdown(plan)):
        assert "main.m28.n, perhaps main.m29.n." in whole


def test_markdown_draws_what_a_change_reaches() -> None:
    page = plan_markdown(samples.reaching(2))
    assert (
        "<details><summary>Reaches 2 columns</summary>\n\n```mermaid\nflowchart LR\n"
        '  c0["main.base.n"]\n  c1["main.m0.n"]\n  c2["main.m1.n"]\n'
        "  c0 --> c1\n  c1 -.-> c2\n```\n\n</details>" in page
    )
    assert "mermaid" not in plan_markdown(samples.everything())


def test_a_chart_that_no_forge_would_draw_is_not_drawn() -> None:
    page = plan_markdown(samples.reaching(501))
    assert "flowchart" not in page
    assert "`instar lineage main.base --format mermaid` has the chart" in page


def test_odd_names_cannot_end_a_label() -> None:
    chart = flowchart([('a"]b', "c`<d", True)])
    assert 'c0["a#quot;]b"]' in chart
    assert 'c1["c#96;#lt;d"]' in chart
