"""The planner on the memory engine: the policy table, tracked tables, findings, rungs."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent
from typing import Any

import pytest

from core.case_text import read_table
from core.change_text import lines
from instar.backends.base import RunContext
from instar.backends.memory import MemoryBackend
from instar.backends.spark.parquet_capability import WRITERS
from instar.backends.spark.parquet_rules import ParquetRules
from instar.core.classify import Safety
from instar.core.findings import Severity
from instar.core.matching import DoneRenames
from instar.core.plan import Cost, Rung, Status, TablePlan
from instar.core.planner import draft, finish
from instar.core.policy import ColumnConflict, Policy
from instar.core.schema import Hint, TableName, Wanted
from instar.core.types import Path

PRESERVE, REORDER, DROP = (Policy(conflict) for conflict in ColumnConflict)
NAME = TableName("s", "t")


class World:
    """A memory engine with one table in it."""

    def __init__(self, live: str, rows: Sequence[dict[str, Any]] = ()) -> None:
        self.backend = MemoryBackend()
        self.carry_out(self.plan(live))
        self.backend.insert(NAME, rows)

    def plan(
        self,
        wanted: str,
        policy: Policy = PRESERVE,
        hints: dict[Path, Hint] | None = None,
        done: DoneRenames = frozenset(),
    ) -> TablePlan:
        table, declared = read_table(dedent(wanted).strip().splitlines())
        live = self.backend.inspect([NAME]).get(NAME)
        wish = Wanted(table, {**declared, **(hints or {})}, origin="tables/t.yml")
        sketch = draft(wish, live, self.backend.rules, policy, done)
        results = self.backend.prove(sketch.job, sketch.proofs) if sketch.provable else ()
        cost = self.backend.measure([NAME]).get(NAME, Cost())
        return finish(sketch, tuple(results), cost, self.backend.rules)

    def carry_out(self, plan: TablePlan) -> None:
        for step in plan.steps:
            self.backend.run(step, RunContext({}, lambda *_: None, lambda _: None))

    def order(self) -> list[str]:
        return [c.name for c in self.backend.inspect([NAME])[NAME].columns]


def codes(plan: TablePlan) -> list[str]:
    return [f.code for f in plan.findings]


def accepted(plan: TablePlan) -> tuple[str, ...]:
    return lines(tuple(c.change for c in plan.changes if c.accepted))


def seen_only(plan: TablePlan) -> tuple[str, ...]:
    return lines(tuple(c.change for c in plan.changes if not c.accepted))


# --- the policy table: new column, removed column, order ------------------------------------------

LIVE = """
    a INT
    gone STRING
    z INT
"""
WISH = """
    z INT
    new BIGINT
    a INT
"""


@pytest.mark.parametrize(
    ("policy", "order", "warnings"),
    [
        (PRESERVE, ["a", "gone", "z", "new"], ["F102", "F402"]),
        (REORDER, ["z", "new", "gone", "a"], ["F102"]),
        (DROP, ["a", "z", "new"], ["F402"]),
    ],
    ids=["preserve", "reorder", "drop"],
)
def test_policy_table(policy: Policy, order: list[str], warnings: list[str]) -> None:
    world = World(LIVE, [{"a": 1, "gone": "x", "z": 2}])
    plan = world.plan(WISH, policy)
    assert codes(plan) == warnings
    world.carry_out(plan)
    assert world.order() == order
    again = world.plan(WISH, policy)
    assert (again.steps, again.status) == ((), Status.NO_CHANGE)


@pytest.mark.parametrize(
    ("column", "hint", "safety", "reason"),
    [
        ("n INT", Hint(), Safety.SAFE, "old rows read NULL"),
        ("n INT NOT NULL", Hint(default="1"), Safety.GUARDED, "old rows take the default"),
        ("n INT DEFAULT 1", Hint(), Safety.GUARDED, "old rows take the default"),
        ("n INT", Hint(using="a"), Safety.GUARDED, "values are computed from the old row"),
        (
            "n INT NOT NULL",
            Hint(),
            Safety.GUARDED,
            "a NOT NULL column without a default needs an empty table",
        ),
    ],
)
def test_what_a_new_column_means_for_old_rows(
    column: str, hint: Hint, safety: Safety, reason: str
) -> None:
    (change,) = World("a INT").plan(f"a INT\n{column}", hints={("n",): hint}).changes
    assert (change.safety, change.reason) == (safety, reason)


def test_preserve_only_warns_of_a_removed_column() -> None:
    plan = World(LIVE).plan("a INT\nz INT", PRESERVE)
    assert seen_only(plan) == ("- gone",)
    assert (plan.status, plan.steps) == (Status.NO_CHANGE, ())
    (finding,) = plan.findings
    assert (finding.code, finding.severity) == ("F102", Severity.WARNING)
    assert finding.message == "[s.t] 'gone' is live but not declared; it stays."


def test_drop_asks_first_and_says_that_it_destroys() -> None:
    plan = World(LIVE).plan("a INT\nz INT", DROP)
    (step,) = plan.steps
    assert step.destructive
    assert not step.reversible
    assert step.confirm == "drops gone: the values are lost"


def test_allowing_column_removal_drops_too() -> None:
    plan = World(LIVE).plan("a INT\nz INT", Policy(allow_column_removal=True))
    assert accepted(plan) == ("- gone",)


@pytest.mark.parametrize(
    ("live", "words"),
    [
        ("primary key (a)", "has the primary key (a) that is not declared; it stays."),
        ("check pos: a > 0", "has the constraint 'pos' that is not declared; it stays."),
        ("cluster by (a)", "has clustering by (a) that is not declared; it stays."),
        ("partition by (a)", "has partitioning by (a) that is not declared; it stays."),
    ],
)
def test_what_else_is_not_declared_stays_unless_dropped(live: str, words: str) -> None:
    world = World(f"a INT\n{live}")
    plan = world.plan("a INT")
    assert [f.message for f in plan.findings] == [f"[s.t] {words}"]
    assert codes(plan) == ["F103"]
    assert plan.steps == ()
    assert world.plan("a INT", Policy(ColumnConflict.DROP, allow_rewrite=True)).steps


def test_a_constraint_that_says_something_else_under_its_name_is_replaced() -> None:
    world = World("a INT\ncheck pos: a > 0", [{"a": 1}])
    plan = world.plan("a INT\ncheck pos: a >= 0")
    assert accepted(plan) == ("- check pos: a > 0", "+ check pos: a >= 0")
    world.carry_out(plan)
    assert world.plan("a INT\ncheck pos: a >= 0").changes == ()


# --- change-tracked tables ------------------------------------------------------------------------

TRACKED = "a INT\nb INT\ntracked true"


def test_a_tracked_table_is_never_reordered() -> None:
    plan = World(TRACKED).plan("b INT\na INT", REORDER)
    assert (plan.steps, codes(plan)) == ((), ["F401"])
    assert plan.normalized_columns == ("a", "b")


def test_new_columns_of_a_tracked_table_come_last() -> None:
    world = World(TRACKED)
    plan = world.plan("a INT\nnew INT\nb INT", REORDER)
    assert plan.normalized_columns == ("a", "b", "new")
    world.carry_out(plan)
    assert world.order() == ["a", "b", "new"]
    corrected = world.plan("a INT\nb INT\nnew INT", REORDER)
    assert (corrected.changes, corrected.normalized_columns) == ((), ())


def test_a_tracked_table_is_never_rewritten() -> None:
    world = World(TRACKED, [{"a": 1, "b": 2}])
    hints = {("c",): Hint(using="a + b")}
    allowed = Policy(ColumnConflict.REORDER, allow_rewrite=True)
    plan = world.plan("a INT\nb INT\nc INT", allowed, hints)
    assert (plan.status, codes(plan), plan.steps) == (Status.BLOCKED, ["F403"], ())


def test_a_tracked_table_still_changes_in_place() -> None:
    plan = World(TRACKED).plan("a BIGINT\nb INT")
    assert [s.rung for s in plan.steps] == [Rung.STEPS]


def test_another_case_needs_no_corrected_columns() -> None:
    assert World(TRACKED).plan("A INT\nB INT").normalized_columns == ()


# --- NOT NULL without a default, in the words of the seed -------------------------------------------


def test_not_null_without_a_default_on_rows() -> None:
    plan = World("a INT", [{"a": 1}]).plan("a INT\ncol_name STRING NOT NULL")
    (finding,) = plan.findings
    assert finding.code == "F101"
    assert finding.message == (
        "[s.t] cannot add NOT NULL column 'col_name' without a default value on a non-empty table."
    )
    assert finding.hint == "Add a '_default' expression to the column definition in the yml."
    assert (plan.status, plan.steps) == (Status.BLOCKED, ())


def test_not_null_without_a_default_on_an_empty_table() -> None:
    plan = World("a INT").plan("a INT\ncol_name STRING NOT NULL")
    assert (plan.findings, plan.status) == ((), Status.CHANGE)


def test_not_null_with_a_default_for_the_rows() -> None:
    world = World("a INT", [{"a": 1}])
    hints = {("status",): Hint(default="'UNDEFINED'")}
    plan = world.plan("a INT\nstatus STRING NOT NULL", hints=hints)
    world.carry_out(plan)
    assert world.backend.rows(NAME) == [{"a": 1, "status": "UNDEFINED"}]
    assert world.backend.inspect([NAME])[NAME].columns[1].default is None


def test_that_a_default_replaces_nulls_is_said() -> None:
    world = World("a INT", [{"a": 1}, {"a": None}])
    plan = world.plan("a INT NOT NULL", hints={("a",): Hint(default="7")})
    assert [c.reason for c in plan.changes] == ["rows that are NULL take the default"]
    world.carry_out(plan)
    assert world.backend.rows(NAME) == [{"a": 1}, {"a": 7}]


# --- renames that are not said, or not clear --------------------------------------------------------


def test_a_drop_and_an_add_of_one_type_propose_a_rename() -> None:
    plan = World("id INT\nemail STRING").plan("id INT\nmail STRING")
    assert codes(plan) == ["F102", "F105"]
    finding = plan.findings[1]
    assert (
        finding.message
        == "[s.t] 'mail' is new and 'email' is not declared, both STRING: is it a rename?"
    )
    assert finding.hint == "If so, say `renamed_from: email`; else the values do not follow."
    assert accepted(plan) == ("+ mail STRING",)


def test_a_column_that_goes_is_said_to_go() -> None:
    plan = World("id INT\nemail STRING").plan("id INT\nmail STRING", DROP)
    assert "'mail' is new and 'email' goes, both STRING" in plan.findings[0].message


def test_a_new_column_beside_several_that_go_is_one_doubt_about_the_likeliest() -> None:
    live = "id INT\n" + "\n".join(f"{c} STRING" for c in ("a", "email", "b", "c", "d", "e"))
    plan = World(live).plan("id INT\nmail STRING\nx STRING", DROP)
    doubts = [f for f in plan.findings if f.code == "F105"]
    assert [f.path for f in doubts] == [("mail",), ("x",)]
    assert doubts[0].message == (
        "[s.t] 'mail' is new and 'a', 'email', 'b', 'c', 'd' and 1 more go, all STRING: is it a rename?"
    )
    assert doubts[0].hint == (
        "If so, say `renamed_from: email`, or another of them; else the values do not follow."
    )


def test_an_expression_at_a_column_that_is_only_renamed_is_not_run_and_that_is_said() -> None:
    world = World("id INT\nemail STRING", [{"id": 1, "email": "A"}])
    hints = {("mail",): Hint(renamed_from="email", using="lower(email)")}
    plan = world.plan("id INT\nmail STRING", hints=hints)
    (finding,) = plan.findings
    assert (finding.code, finding.severity, finding.path) == ("F110", Severity.WARNING, ("mail",))
    assert codes(world.plan("id INT\nmail INT", hints=hints)) != ["F110"]
    world.carry_out(plan)
    assert world.plan("id INT\nmail STRING", hints=hints, done=plan.renames).findings == ()


@pytest.mark.parametrize("using", ["upper(a)", 'trim("A")', "coalesce(`a`, '')"])
def test_a_new_column_that_reads_the_one_that_goes_proposes_no_rename(using: str) -> None:
    world = World("id INT\na STRING")
    plan = world.plan("id INT\nb STRING", hints={("b",): Hint(using=using)})
    assert "F105" not in codes(plan)


def test_a_new_column_that_reads_another_still_proposes_a_rename() -> None:
    world = World("id INT\na STRING")
    plan = world.plan("id INT\nb STRING", hints={("b",): Hint(using="'a'")})
    assert "F105" in codes(plan)


def test_another_type_proposes_nothing() -> None:
    assert codes(World("id INT\nemail STRING").plan("id INT\nmail INT")) == ["F102"]


def test_a_rename_is_proposed_only_within_one_struct() -> None:
    plan = World("s STRUCT<x STRING, k INT>").plan("s STRUCT<k INT>\nx STRING")
    assert codes(plan) == ["F102"]
    inside = World("s STRUCT<x STRING, k INT>").plan("s STRUCT<y STRING, k INT>")
    assert codes(inside) == ["F102", "F105"]


BOTH_LIVE = "id INT\nemail STRING\nmail STRING"


@pytest.mark.parametrize(
    ("policy", "severity"), [(PRESERVE, Severity.WARNING), (DROP, Severity.ERROR)]
)
def test_a_rename_whose_two_names_are_live_is_not_decided_for_the_user(
    policy: Policy, severity: Severity
) -> None:
    plan = World(BOTH_LIVE).plan("id INT\nmail STRING <- email", policy)
    (finding,) = [f for f in plan.findings if f.code == "F107"]
    assert finding.severity is severity
    assert plan.blocked == (severity is Severity.ERROR)


def test_a_rename_that_was_carried_out_does_not_hinder_a_later_drop() -> None:
    done: DoneRenames = frozenset({(("mail",), "email")})
    plan = World(BOTH_LIVE).plan("id INT\nmail STRING <- email", DROP, done=done)
    assert (codes(plan), accepted(plan)) == ([], ("- email",))


def test_an_old_declaration_beside_a_column_that_is_wanted_too_is_no_finding() -> None:
    assert World(BOTH_LIVE).plan("id INT\nemail STRING\nmail STRING <- email").findings == ()


def test_a_name_that_is_still_taken_blocks() -> None:
    """Dropped and added again under a new identity, while the old one stays by policy."""
    world = World("id INT\nnote STRING", [{"id": 1, "note": "x"}])
    ids = [c.identity for c in world.backend.inspect([NAME])[NAME].columns]
    wish = f"id INT #{ids[0]}\nnote STRING NOT NULL #99"
    plan = world.plan(wish, hints={("note",): Hint(default="'new'")})
    assert (plan.status, plan.steps) == (Status.BLOCKED, ())
    assert "F108" in codes(plan)
    world.carry_out(world.plan(wish, DROP, {("note",): Hint(default="'new'")}))
    assert world.backend.rows(NAME) == [{"id": 1, "note": "new"}]


# --- rungs ------------------------------------------------------------------------------------------


def test_a_rewrite_needs_a_word() -> None:
    world = World("a INT", [{"a": 1}])
    hints = {("b",): Hint(using="a * 2")}
    plan = world.plan("a INT\nb INT", hints=hints)
    (finding,) = plan.findings
    assert finding.code == "F501"
    assert finding.message == (
        "[s.t] needs a rewrite of the table: values are computed from the old rows."
    )
    assert finding.hint == "Pass --allow-rewrite to permit it."
    assert (plan.status, plan.steps) == (Status.BLOCKED, ())
    assert world.plan("a INT\nb INT", Policy(allow_rewrite=True), hints).steps


def test_reorder_is_a_word_for_a_rewrite_by_order_only() -> None:
    world = World("a INT\nb INT")
    assert World("a INT\nb INT").plan("b INT\nn INT\na INT", REORDER).steps
    plan = world.plan("b INT\nn INT\na INT", REORDER, {("n",): Hint(using="a")})
    assert codes(plan) == ["F501"]


def test_each_step_says_why_no_cheaper_one_was_taken_and_what_it_touches() -> None:
    world = World("a INT\nb INT", [{"a": 1, "b": 2}])
    (step,) = world.plan("a BIGINT\nb INT").steps
    assert (step.rung, step.cost.rows) == (Rung.STEPS, 1)
    assert step.why_not_cheaper == "INT → BIGINT is stored in another way"
    (free,) = world.plan("a INT\nb INT COMMENT 'said'").steps
    assert (free.rung, free.cost.rows, free.why_not_cheaper) == (Rung.METADATA, None, None)
    rewrite = world.plan("b INT\na INT", REORDER).steps
    assert {s.rung for s in rewrite} == {Rung.REWRITE}
    assert rewrite[0].why_not_cheaper == "a row is stored in the order of its columns"
    assert rewrite[0].cost.rows == 1


def test_a_change_without_meaning_blocks_and_rows_are_not_even_looked_at() -> None:
    world = World("a BOOLEAN\nb STRING", [{"a": True, "b": "x"}])
    plan = world.plan("a DATE\nb INT")
    assert codes(plan) == ["F104"]
    assert (plan.status, plan.steps) == (Status.BLOCKED, ())


def test_the_last_step_leads_to_the_target() -> None:
    world = World("a INT\nb STRING\ns STRUCT<x INT>", [{"a": 1, "b": "2", "s": {"x": 1}}])
    plan = world.plan("c BIGINT NOT NULL <- a\nb INT\ns STRUCT<x INT, y INT>\nprimary key (c)")
    assert len(plan.steps) == 4
    assert plan.steps[-1].after == plan.target


# --- proofs -----------------------------------------------------------------------------------------


def test_every_broken_proof_is_a_finding_with_its_rows() -> None:
    rows = [{"id": i, "n": n, "t": t} for i, n, t in [(1, 5, "7"), (2, None, "x"), (3, 5, "")]]
    world = World("id INT\nn INT\nt STRING\nprimary key (id)", rows)
    plan = world.plan("id INT\nn INT NOT NULL\nt INT\nprimary key (id)\nunique one: (n)")
    assert {f.code: f.count for f in plan.findings} == {"F201": 2, "F203": 1, "F301": 2}
    cast = next(f for f in plan.findings if f.code == "F201")
    assert cast.message == "[s.t] 2 rows of 't' would be lost or changed by STRING → INT."
    assert cast.witnesses == ({"id": "2", "t": "x"}, {"id": "3", "t": ""})


def test_a_key_that_stays_is_proven_again_when_its_values_change() -> None:
    """'7' and '007' are two keys as text and one as a number."""
    world = World("k STRING\nprimary key (k)", [{"k": "7"}, {"k": "007"}])
    plan = world.plan("k INT\nprimary key (k)")
    assert [(f.code, f.count) for f in plan.findings] == [("F301", 2)]


def test_a_unique_column_whose_nulls_are_filled_is_proven_again() -> None:
    world = World("k STRING\nunique one: (k)", [{"k": None}, {"k": None}])
    hints = {("k",): Hint(default="'none'")}
    plan = world.plan("k STRING NOT NULL\nunique one: (k)", hints=hints)
    assert codes(plan) == ["F301"]


def test_a_check_that_stays_is_proven_again_when_its_values_change() -> None:
    world = World("n INT\ncheck small: n < 10", [{"n": 5}])
    allowed = Policy(allow_rewrite=True)
    hints = {("n",): Hint(using="n * 100")}
    plan = world.plan("n BIGINT\ncheck small: n < 10", allowed, hints)
    assert codes(plan) == ["F302"]


def test_an_expression_may_not_give_null_to_a_required_column() -> None:
    world = World("v STRING NOT NULL", [{"v": "x"}])
    hints = {("v",): Hint(using="CASE WHEN v = 'y' THEN 1 END")}
    plan = world.plan("v INT NOT NULL", Policy(allow_rewrite=True), hints)
    assert codes(plan) == ["F203"]


def test_only_a_hundred_witnesses_are_kept_and_all_are_counted() -> None:
    world = World("t STRING", [{"t": "x"}] * 250)
    (finding,) = world.plan("t INT").findings
    assert (finding.count, len(finding.witnesses)) == (250, 100)


# --- the plan as a value ----------------------------------------------------------------------------


def test_create_change_and_no_change() -> None:
    empty = World.__new__(World)
    empty.backend = MemoryBackend()
    created = empty.plan("a INT")
    assert (created.status, created.live, created.origin) == (Status.CREATE, None, "tables/t.yml")
    empty.carry_out(created)
    assert empty.plan("a INT").status is Status.NO_CHANGE
    assert empty.plan("a BIGINT").status is Status.CHANGE


def test_a_plan_remembers_the_renames_that_hold_once_it_is_applied() -> None:
    world = World("a INT\nb INT", [{"a": 1, "b": 2}])
    swap = "b INT <- a\na INT <- b"
    plan = world.plan(swap)
    assert plan.renames == {(("b",), "a"), (("a",), "b")}
    world.carry_out(plan)
    assert world.backend.rows(NAME) == [{"b": 1, "a": 2}]
    assert world.plan(swap, done=plan.renames).changes == ()
    assert world.plan(swap).changes != ()


def test_what_all_reasons_share_is_said_once_and_last() -> None:
    rules = ParquetRules("spark_catalog")
    live, _ = read_table(["id INT", "a INT", "b INT"])
    table, hints = read_table(["id INT", "x INT <- a", "y INT <- b"])
    why = draft(Wanted(table, hints), live, rules, PRESERVE).job.why
    assert why == (
        "'x' would read NULL: files are read by name; 'y' would read NULL: files are read by name;"
        f" {WRITERS}"
    )
