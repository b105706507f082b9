"""The memory backend: conformance, and that it keeps its rows in a file."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from instar.backends.base import NotATable, Outcome, RunContext
from instar.backends.memory import MemoryBackend
from instar.backends.memory.expressions import Failed, evaluate
from instar.core.plan import Cost, TablePlan
from instar.core.planner import draft, finish
from instar.core.policy import Policy
from instar.core.schema import Hint, Table, TableName, Wanted
from instar.core.types import Column, Integer, String, array, map_of, struct, walk
from instar.errors import EngineError
from instar.testing import SCENARIOS, Scenario, emptied, run_scenario
from instar.testing.scenario import REORDER

ALL = [*SCENARIOS, *map(emptied, SCENARIOS)]


class MemoryHarness:
    schema = "main"

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self._backend = MemoryBackend(file)

    @property
    def backend(self) -> MemoryBackend:
        """With a file, a new process every time: nothing may live in the object alone."""
        return MemoryBackend(self.file) if self.file else self._backend

    def insert(self, table: Table, rows: Sequence[Any]) -> None:
        self.backend.insert(table.name, rows)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        return self.backend.rows(table.name)


@pytest.mark.parametrize("scenario", ALL, ids=str)
def test_conformance(scenario: Scenario) -> None:
    run_scenario(MemoryHarness(), scenario)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_conformance_from_a_file(scenario: Scenario, tmp_path: Path) -> None:
    run_scenario(MemoryHarness(tmp_path / "tables.json"), scenario)


# --- the engine itself ------------------------------------------------------------------------------

T = TableName("main", "t")
QUIET = RunContext({}, lambda *_: None, lambda _: None)


def planned(backend: MemoryBackend, wanted: Wanted, policy: Policy = REORDER) -> TablePlan:
    live = backend.inspect([T]).get(T)
    assert not isinstance(live, NotATable)
    sketch = draft(wanted, live, backend.rules, policy)
    results = backend.prove(sketch.job, sketch.proofs) if sketch.provable else ()
    return finish(sketch, tuple(results), Cost(), backend.rules)


def table(*columns: Column, key: tuple[str, ...] = ()) -> Wanted:
    return Wanted(Table(T, columns, primary_key=key))


def world(*columns: Column, rows: Sequence[Any] = (), file: Path | None = None) -> MemoryBackend:
    backend = MemoryBackend(file)
    for step in planned(backend, table(*columns)).steps:
        backend.run(step, QUIET)
    backend.insert(T, rows)
    return backend


A, B = Column("a", Integer(32)), Column("b", Integer(32))


def test_identities_follow_their_columns_at_every_depth(tmp_path: Path) -> None:
    inner = struct(Column("x", Integer(32)), Column("y", array(struct(A))))
    backend = world(A, Column("s", inner), file=tmp_path / "t.json")
    before = {p: c.identity for p, c in walk(backend.inspect([T])[T].columns)}
    assert None not in before.values()
    assert len(set(before.values())) == len(before)
    moved = struct(Column("y", array(struct(A, B))), Column("z", Integer(64)))
    wish = Wanted(
        Table(T, (Column("t", moved), A)),
        {("t",): Hint(renamed_from="s"), ("t", "z"): Hint(renamed_from="x")},
    )
    for step in planned(backend, wish).steps:
        backend.run(step, QUIET)
    after = {
        p: c.identity for p, c in walk(MemoryBackend(tmp_path / "t.json").inspect([T])[T].columns)
    }
    assert after[("t",)] == before[("s",)]
    assert after[("t", "z")] == before[("s", "x")]
    assert after[("t", "y", "element", "a")] == before[("s", "y", "element", "a")]
    assert after[("t", "y", "element", "b")] not in before.values()


def test_rows_written_between_copy_and_swap_are_not_lost() -> None:
    backend = world(A, B, rows=[{"a": 1, "b": 2}])
    copy, swap, drop = planned(backend, table(B, A)).steps
    backend.run(copy, QUIET)
    backend.insert(T, [{"a": 3, "b": 4}])
    backend.run(swap, QUIET)
    backend.run(drop, QUIET)
    assert backend.rows(T) == [{"b": 2, "a": 1}, {"b": 4, "a": 3}]
    assert backend.list_tables("main") == [T]


def test_a_step_is_done_or_not_done_never_half(tmp_path: Path) -> None:
    """Stopped at each failpoint of each step, a new process tells what became of it."""

    class Stop(Exception):
        pass

    def stop_at(point: str) -> Any:
        def failpoint(name: str) -> None:
            if name == point:
                raise Stop

        return failpoint

    file = tmp_path / "t.json"
    backend = world(A, B, rows=[{"a": 1, "b": 2}], file=file)
    for step in planned(backend, table(B, A)).steps:
        before = backend.inspect([T])[T]
        for point in (f"{step.kind}:begun", "copied"):
            memo: dict[str, str] = {}
            stopped = False
            try:
                backend.run(step, RunContext(memo, lambda *_: None, stop_at(point)))
            except Stop:
                stopped = True
            backend = MemoryBackend(file)
            found = backend.outcome(step, before, memo)
            assert found is (Outcome.NOT_DONE if stopped else Outcome.DONE)
            if not stopped:
                break
    assert backend.rows(T) == [{"b": 2, "a": 1}]


def test_a_swap_of_like_columns_has_an_outcome_though_the_schema_stays() -> None:
    backend = world(A, B, rows=[{"a": 1, "b": 2}])
    wish = Wanted(
        Table(T, (B, A)), {("a",): Hint(renamed_from="b"), ("b",): Hint(renamed_from="a")}
    )
    (step,) = planned(backend, wish, Policy()).steps
    memo = {"version": "0"}
    before = backend.inspect([T])[T]
    assert backend.outcome(step, before, memo) is Outcome.NOT_DONE
    backend.run(step, RunContext(memo, lambda *_: None, lambda _: None))
    assert backend.outcome(step, before, memo) is Outcome.DONE


def test_the_engine_itself_refuses_rows_that_break_its_promises() -> None:
    backend = world(Column("a", Integer(32), nullable=False), rows=[{"a": 1}])
    with pytest.raises(EngineError, match="break"):
        backend.insert(T, [{"a": None}])
    with pytest.raises(EngineError, match="no column"):
        backend.insert(T, [{"a": 1, "zz": 2}])
    assert backend.rows(T) == [{"a": 1}]


def test_two_keys_of_a_map_that_become_one_are_found() -> None:
    backend = world(
        Column("m", map_of(String(), Integer(32))),
        rows=[{"m": {"7": 1, "007": 2}}, {"m": {"7": 1}}],
    )
    plan = planned(backend, table(Column("m", map_of(Integer(32), Integer(32)))))
    assert [(f.code, f.count) for f in plan.findings] == [("F201", 1)]


def test_a_view_is_no_table() -> None:
    backend = MemoryBackend()
    backend.create_view(T)
    assert backend.inspect([T]) == {T: NotATable(T, "view")}
    assert backend.list_tables("main") == []


def test_a_missing_column_takes_its_default() -> None:
    backend = world(A, Column("b", Integer(32), default="40 + 2"), rows=[{"a": 1}])
    assert backend.rows(T) == [{"a": 1, "b": 42}]


ROW = {"a": 7, "n": None, "t": "Ada Lovelace", "s": {"x": {"y": 1}}, "Odd name": 3, "f": 0.5}


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("a + 1", 8),
        ("a - 1.5", Decimal("5.5")),
        ("a * f", 3.5),
        ("-a", -7),
        ("n + 1", None),
        ("a = 7 AND t <> 'x'", True),
        ("n = 1 AND a = 8", False),
        ("n = 1 AND a = 7", None),
        ("n = 1 OR a = 7", True),
        ("n = 1 OR a = 8", None),
        ("NOT (n = 1)", None),
        ("n IS NULL", True),
        ("a IS NOT NULL", True),
        ("a IN (1, 7)", True),
        ("a IN (1, NULL)", None),
        ("a BETWEEN 1 AND 7", True),
        ("COALESCE(n, a)", 7),
        ("CASE WHEN a > 5 THEN 'big' ELSE 'small' END", "big"),
        ("CASE WHEN n > 5 THEN 'big' END", None),
        ("CAST('12' AS INT) + a", 19),
        ("CAST(a AS VARCHAR)", "7"),
        ("CAST('2024-02-29' AS DATE)", date(2024, 2, 29)),
        ("CAST('1.25' AS DECIMAL(10, 2))", Decimal("1.25")),
        ("TRY_CAST(t AS INT)", None),
        ("t || '!'", "Ada Lovelace!"),
        ("t || n", None),
        ("CONCAT(t, n, '!')", "Ada Lovelace!"),
        ("split_part(t, ' ', 2)", "Lovelace"),
        ("split_part(t, ' ', 3)", ""),
        ("UPPER(SUBSTRING(t, 1, 3))", "ADA"),
        ("LENGTH(TRIM('  x '))", 1),
        ("ABS(-3)", 3),
        ("s.x.y", 1),
        ("S.X.Y", 1),
        ('"Odd name" + 1', 4),
    ],
)
def test_expression(sql: str, value: Any) -> None:
    found = evaluate(sql, ROW)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("sql", ["CAST(t AS INT)", "a / 0", "t + 1"])
def test_an_expression_without_a_value_for_the_row(sql: str) -> None:
    with pytest.raises(Failed):
        evaluate(sql, ROW)


@pytest.mark.parametrize("sql", ["no_such_column", "regexp_matches(t, 'x')", "(SELECT 1)", "a +"])
def test_an_expression_that_is_not_understood_is_refused(sql: str) -> None:
    with pytest.raises(EngineError) as caught:
        evaluate(sql, ROW)
    assert caught.value.code == "E260"
