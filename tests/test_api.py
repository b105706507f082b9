"""The public surface: what `from instar import …` offers, and that importing it loads no engine."""

from __future__ import annotations

import re
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import instar
from instar.cli.apipage import public_members, returned, signature

SURFACE = {
    "ApplyReport",
    "ColumnConflict",
    "Finding",
    "InstarError",
    "Listener",
    "Plan",
    "Policy",
    "Project",
    "ProjectPlan",
    "RunOptions",
    "Severity",
    "Status",
    "Step",
    "TablePlan",
    "__version__",
    "plan_document",
}


def test_the_surface_is_what_the_docs_promise() -> None:
    assert set(instar.__all__) == SURFACE
    for name in SURFACE:
        assert getattr(instar, name) is not None


def test_everything_public_is_documented() -> None:
    """A dataclass without words of its own has its signature for a docstring."""
    for name in SURFACE - {"__version__"}:
        words = getattr(instar, name).__doc__ or ""
        assert words.partition("(")[0] not in ("", name), name


ENV = "env: str | None = None"
TABLES, SPARK = "tables: Sequence[str] = ()", "spark: Any = None"
CONFIRM = "confirm: Confirm | None = None"
SIGNATURES = {
    "Project.load": (
        "root: Path | str = '.', listener: Listener | None = None, *, alone: bool = False -> Project"
    ),
    "Project.validate": f"{ENV} -> tuple[Finding, ...]",
    "Project.plan": f"{ENV}, policy: Policy = Policy(), {TABLES}, {SPARK} -> ProjectPlan",
    "ProjectPlan.apply": f"{CONFIRM}, *, write_manifests: bool = False -> ApplyReport",
    "Project.apply": f"plan: Plan, {CONFIRM}, *, write_manifests: bool = False, {SPARK} -> ApplyReport",
    "Project.run": f"{ENV}, policy: Policy = Policy(), options: RunOptions = RunOptions(), {CONFIRM}, *,"
    f" dry_run: bool = False, resume: bool = False, show: Callable[[Plan], None] = …, {SPARK} -> RunReport",
    "Project.drift": f"{ENV}, {TABLES}, {SPARK} -> Drift",
    "Project.diff": f"left: str, right: str, {SPARK} -> comparing.Comparison",
    "Project.lineage": f"what: str | None = None, {ENV}, {SPARK} -> tuple[Web, list[Place]]",
    "Project.live": f"{ENV}, tables: Sequence[TableName] | None = None, {SPARK} -> tuple[Table, ...]",
    "Project.history": f"{ENV}, table: str | None = None -> tuple[Event, ...]",
    "Project.recover": f"{ENV}, *, forget: bool = False, {SPARK} -> tuple[TableReport, ...]",
    "Project.cleanup": f"{ENV}, {TABLES}, {CONFIRM}, {SPARK} -> lifecycle.Cleaned",
    "Project.revert": f"table: str, {ENV}, *, to: str | None = None, {CONFIRM}, {SPARK} -> lifecycle.Reverted",
    "Project.import_tables": f"{ENV}, patterns: Sequence[str] = (), {SPARK} -> Imported",
    "Project.doctor": f"{ENV} -> tuple[doctoring.Diagnosis, ...]",
    "Policy.of": "column_conflict: str = 'preserve', **allowed: bool -> Policy",
    "plan_document": "plan: Plan -> Document",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_a_promise(name: str) -> None:
    told = signature(attrgetter(name)(instar))
    one_line = re.sub(r",?\s*\n\)", ")", told).replace("(\n    ", "(").replace("\n    ", " ")
    assert one_line == "({}) -> {}".format(*SIGNATURES[name].split(" -> "))


def test_everything_on_the_page_is_documented() -> None:
    public = [getattr(instar, name) for name in sorted(SURFACE - {"__version__"})]
    bare = [
        f"{thing.__name__}.{name}"
        for thing in (*public, *returned(public))
        if isinstance(thing, type)
        for name, value in public_members(thing)
        if not isinstance(value, property) and not value.__doc__
    ]
    assert not bare
    assert not [t.__name__ for t in returned(public) if not t.__doc__]
    page = (Path(__file__).parents[1] / "docs" / "reference" / "api.md").read_text()
    assert not [name for name in SURFACE - {"__version__"} if f"\n## {name}\n" not in page]


def test_a_plan_applies_itself(tmp_path: Path) -> None:
    (tmp_path / "instar.yml").write_text(
        "name: shop\nenvironments:\n  dev: {type: duckdb, database: shop.duckdb, schema: main}\n"
    )
    (tmp_path / "tables").mkdir()
    orders = tmp_path / "tables" / "orders.yml"
    orders.write_text("table: orders\ncolumns: [{name: id, type: INT}, {name: old, type: INT}]\n")
    project = instar.Project.load(tmp_path)
    assert project.plan().apply().tables[0].ok
    orders.write_text("table: orders\ncolumns: [{name: id, type: INT}]\n")
    plan = project.plan(policy=instar.Policy.of("drop"))
    assert isinstance(plan, instar.Plan)
    with pytest.raises(
        instar.InstarError, match=r"1 step needs a word .*: .* drops old: the values"
    ):
        plan.apply()
    with pytest.raises(instar.InstarError, match="not confirmed"):
        plan.apply(confirm=lambda _: False)
    asked: list[str] = []
    report = plan.apply(
        confirm=lambda questions: bool(asked.extend(q.text for q in questions) or 1)
    )
    assert report.tables[0].ok
    assert "old" in asked[0]
    assert [c.name for t in project.live() for c in t.columns] == ["id"]


def test_a_policy_of_an_unknown_word_names_the_known_ones() -> None:
    with pytest.raises(instar.InstarError, match="one of preserve, reorder, drop, not 'dorp'"):
        instar.Policy.of("dorp")


def test_importing_instar_loads_no_engine() -> None:
    code = (
        "import sys, instar; from instar import Policy, Project;"
        "print([m for m in ('pyspark', 'duckdb', 'snowflake', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_policy_from_words() -> None:
    policy = instar.Policy.of("reorder", allow_rewrite=True)
    assert policy.reorders
    assert policy.allow_rewrite
    assert not policy.drops
