"""Holds a real engine to random cases: created, filled, planned, applied, compared, planned again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest

from instar.app.events import Silent
from instar.app.planning import plan_tables
from instar.apply import Result, apply_plan
from instar.backends.base import differences
from instar.backends.registry import Engine
from instar.core.findings import Severity
from instar.core.plan import Plan, TablePlan
from instar.core.policy import Policy
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import Column, bare, children, with_children
from instar.sources.importer import manifest_text
from instar.sources.manifest import load_manifest
from instar.sources.project import load_project
from instar.state import Store, open_store
from instar.testing.compare import missing_and_extra
from instar.testing.scenario import Harness
from properties.cases import KEEP, Case
from properties.quoting import Quoted

_NUMBERS = count(1)


@dataclass
class Held:
    """An engine under test. Several cases go through one plan and one apply each time."""

    harness: Harness
    root: Path
    settings: str
    """The environment of a project on this engine, as instar.yml has it."""
    run: Callable[[str], object]
    """Sends a statement past Instar."""
    place: Callable[[TableName], str]
    env: str = "dev"

    def __post_init__(self) -> None:
        self.store: Store = open_store("sqlite:///state.db", self.root)
        text = f"name: p\nenvironments:\n  dev: {{{self.settings}}}\n"
        (self.root / "instar.yml").write_text(text)
        self.project = load_project(self.root)

    def hold(self, *cases: Case) -> None:
        # Nothing of one example may be remembered in the next.
        self.env = f"dev{next(_NUMBERS)}"
        placed = [self._placed(n, case) for n, case in enumerate(cases)]
        self._apply([Wanted(case.live) for case in placed])
        for case in placed:
            if case.rows:
                self.harness.insert(self._live(case.live.name), case.rows)
        before = [self._live(case.live.name) for case in placed]
        for policy in {id(c.policy): c.policy for c in placed}.values():
            self._evolve([c for c in placed if c.policy is policy], policy)
        for case, was in zip(placed, before, strict=True):
            self._look(case, was)

    def keep_quoted(self, case: Quoted) -> None:
        """Every text comes back as it went in, after a create and after a change, and by a manifest."""
        self.env = f"dev{next(_NUMBERS)}"
        for number, wish in enumerate((case.first, case.then), 1):
            name = TableName(self.harness.schema, wish.table.name.name)
            wanted = replace(wish, table=replace(wish.table, name=name))
            self._apply([wanted])
            live = self._live(name)
            seen = {c.name: c.comment for c in live.columns}
            assert seen == {c.name: c.comment for c in wish.table.columns}
            assert live.comment == wish.table.comment
            self._fill_quoted(case, live, number)
            assert not [p for p in self._plan([self._by_manifest(live)], KEEP) if p.steps]

    def _fill_quoted(self, case: Quoted, live: Table, number: int) -> None:
        """One more row that takes the default, and none that the CHECK refuses."""
        column, blank = live.columns[1], {c.name: None for c in live.columns}
        if column.default is not None:
            self.run(f"INSERT INTO {self.place(live.name)} (id) VALUES ({number})")
        else:
            row = {**blank, "id": number, column.name: case.default}
            self.harness.insert(live, [row])
        if live.constraints:
            with pytest.raises(Exception, match=r"(?i)check|constraint"):
                self.harness.insert(live, [{**blank, "id": 0, column.name: case.refused}])
        rows = [{"id": n, column.name: case.default} for n in range(1, number + 1)]
        for row in rows if len(live.columns) > 2 else ():
            row[live.columns[2].name] = case.fill if row["id"] == 1 else None
        missing, extra = missing_and_extra(rows, self.harness.rows(live))
        assert (missing, extra) == ([], [])

    def _by_manifest(self, live: Table) -> Wanted:
        path = self.root / "imported.yml"
        path.write_text(manifest_text(self.harness.backend.shown(live)), encoding="utf-8")
        wanted = load_manifest(self.project, None, path)
        return replace(wanted, table=replace(wanted.table, format=""))

    def _placed(self, number: int, case: Case) -> Case:
        name = TableName(self.harness.schema, f"{case.live.name.name}{number or ''}")
        wanted = replace(case.wanted, table=replace(case.wanted.table, name=name))
        return replace(case, live=replace(case.live, name=name), wanted=wanted)

    def _evolve(self, cases: Sequence[Case], policy: Policy) -> None:
        plans = self._plan([c.wanted for c in cases], policy)
        for case, plan in zip(cases, plans, strict=True):
            assert _blocks(plan) == {k: len(v) for k, v in case.blocks.items()}, _told(plan)
            assert plan.blocked == bool(case.blocks)
            assert not (plan.blocked and plan.steps)
            _witnesses(plan, case)
        self._carry_out([p for p in plans if not p.blocked], policy)
        again = self._plan([c.wanted for c in cases if not c.blocks], policy)
        assert not [p for p in again if p.steps], [_told(p) for p in again if p.steps]

    def _apply(self, wanted: Sequence[Wanted]) -> None:
        plans = self._plan(wanted, KEEP)
        assert not [p for p in plans if p.blocked], [_told(p) for p in plans]
        self._carry_out(plans, KEEP)

    def _plan(self, wanted: Sequence[Wanted], policy: Policy) -> tuple[TablePlan, ...]:
        engine = Engine({"": self.harness.backend}, "", lambda: None)
        return plan_tables(wanted, engine, self.store, self.env, policy, Silent())

    def _carry_out(self, plans: Sequence[TablePlan], policy: Policy) -> None:
        plan = Plan(self.env, policy, tuple(plans))
        reports = apply_plan(plan, lambda _: self.harness.backend, self.store)
        bad = [r for r in reports if r.result not in (Result.APPLIED, Result.NOTHING)]
        assert not bad, (bad, [[step.sql for step in p.steps] for p in plans])

    def _live(self, name: TableName) -> Table:
        found = self.harness.backend.inspect([name]).get(name)
        assert isinstance(found, Table), found
        return found

    def _look(self, case: Case, was: Table) -> None:
        live = self._live(case.live.name)
        if case.blocks:
            assert not differences(live, was), "a blocked plan touched the table"
        else:
            ordered = case.policy is not KEEP
            seen, wanted = _seen(live.columns, ordered), _seen(case.columns, ordered)
            assert seen == wanted, f"live {seen}\nwanted {wanted}"
        rows = case.rows if case.blocks else case.after
        missing, extra = missing_and_extra(rows, self.harness.rows(live))
        assert not missing, f"missing: {missing}\ninstead: {extra}"
        assert not extra


def _blocks(plan: TablePlan) -> dict[tuple[str, str], int]:
    found = {}
    for finding in plan.findings:
        if finding.severity is Severity.ERROR:
            where = ".".join(_name(p) for p in finding.path) or finding.key.partition(".")[2]
            found[(finding.code, where)] = finding.count or 0
    return found


def _name(part: str) -> str:
    return part if part.isascii() and part.isidentifier() else "`" + part.replace("`", "``") + "`"


def _witnesses(plan: TablePlan, case: Case) -> None:
    """The rows that a finding shows are the rows that it is about."""
    for finding in plan.findings:
        if finding.severity is Severity.ERROR and finding.witnesses:
            where = ".".join(_name(p) for p in finding.path) or finding.key.partition(".")[2]
            shown = {str(w.get("id")) for w in finding.witnesses}
            assert shown == {str(k) for k in case.blocks[(finding.code, where)]}


def _told(plan: TablePlan) -> str:
    said = [f"{f.severity.value} {f.code} {f.message} {f.path}" for f in plan.findings]
    return "\n".join([plan.status.value, *(s.title for s in plan.steps), *said])


Seen = tuple[str, object, bool, str | None, bool]


def _seen(columns: tuple[Column, ...], ordered: bool) -> list[Seen]:
    """What is compared of a table's columns; under KEEP only their order is free."""
    found = [
        (c.name, _plain(c, ordered), c.nullable, c.comment or None, c.default is not None)
        for c in columns
    ]
    return found if ordered else sorted(found, key=lambda seen: seen[0])


def _plain(column: Column, ordered: bool) -> object:
    inner = children(column.type)
    if not inner:
        return bare(column.type)
    parts = [(c.name, _plain(c, ordered), c.comment or None) for c in inner]
    if not ordered:
        parts.sort(key=lambda part: part[0])
    return type(with_children(column.type, inner)).__name__, parts
