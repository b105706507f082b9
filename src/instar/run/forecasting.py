"""What a run would do with each model, in its order, decided as the run decides it; reads only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from instar.core.plan import Rung, Status, TablePlan
from instar.core.schema import TableName
from instar.errors import InstarError
from instar.run.building import Builder
from instar.run.deciding import UNCHANGED, Decisions, timed
from instar.run.inputs import Inputs
from instar.run.interval_log import IntervalLog
from instar.run.intervals import beginning, counted
from instar.run.options import (
    AS_ITS_QUERY,
    BEHIND,
    BUILT,
    CREATED,
    DONE_BEFORE,
    FAILED,
    GOOD,
    SKIPPED,
    RunOptions,
    behind_text,
)
from instar.run.scheduling import in_order
from instar.sources.models import Model, Models
from instar.state import Store
from instar.state.models import Build

_LATER = "(to be built)"
_CHANGED = "(changed by the plan)"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Intervals from `first` to `last`, by their starts; perhaps with gaps, so `count` is told.

    `estimate`: as the inputs are now, while some of them are built before.
    """

    count: int
    first: str
    last: str
    granularity: str
    estimate: bool = False


@dataclass(frozen=True, slots=True)
class Expected:
    """What would become of one model: a status of a run, how it is built, and why."""

    table: TableName
    status: str
    reason: str = ""
    how: str = ""
    intervals: Stretch | None = None
    after: tuple[str, ...] = ()
    """Inputs that are built or changed before it: what it reads is not there yet."""


@dataclass(slots=True)
class Forecaster:
    """One dry run. `changed`: the declared tables that its plan changes."""

    models: Models
    plans: Mapping[str, TablePlan]
    queries: Mapping[str, str]
    marks: Mapping[str, str]
    builder: Builder
    store: Store
    env: str
    options: RunOptions
    done: frozenset[str] = frozenset()
    changed: frozenset[TableName] = frozenset()
    _builds: dict[TableName, Build] = field(default_factory=dict)
    _moved: set[TableName] = field(default_factory=set)
    _inputs: Inputs = field(init=False)
    _log: IntervalLog = field(init=False)
    _decisions: Decisions = field(init=False)

    def __post_init__(self) -> None:
        known = self.store.models.builds(self.env)
        self._builds.update({t: b for t, b in known.items() if b.fingerprint})
        self._moved |= self.changed
        # What the plan changes has another version by then; a table that it creates has none to ask for.
        later: dict[TableName, str | None] = dict.fromkeys(self.changed, _CHANGED)
        self._inputs = Inputs(self.models, self.marks, self.builder, self._builds, later)
        self._log = IntervalLog(self.builder, self.store, self.env, "")
        self._decisions = Decisions(
            self.options, self.marks, self.builder, self._builds, self._inputs, self._log
        )

    def expected(self, order: Sequence[str]) -> tuple[Expected, ...]:
        found = in_order(
            order,
            {n: self.models.parents(n) for n in order},
            self._model,
            lambda e: e.status in GOOD,
            self._behind,
            stop_early=self.options.fail_fast,
        )
        return tuple(found[n] for n in order)

    def _behind(self, name: str, failed: list[str]) -> Expected:
        table = self.models.models[name].table
        if name in self.done:
            return Expected(table, SKIPPED, DONE_BEFORE)
        return Expected(table, BEHIND, behind_text(failed))

    def _model(self, name: str) -> Expected:
        model, plan = self.models.models[name], self.plans[name]
        if name in self.done and self._decisions.stays_done(model):
            return Expected(model.table, SKIPPED, DONE_BEFORE)
        if plan.status is Status.CREATE:
            self._builds.pop(model.table, None)
        if model.materialization == "view":
            return self._view(model, plan)
        cause = self._decisions.cause(model, plan, self._inputs.of(model))
        if cause is None:
            return Expected(model.table, SKIPPED, UNCHANGED)
        found = self._data(model, plan, cause)
        self._builds[model.table] = Build(self.marks[name], {}, _LATER)
        self._moved.add(model.table)
        return found

    def _view(self, model: Model, plan: TablePlan) -> Expected:
        if not plan.steps:
            return Expected(model.table, SKIPPED, AS_ITS_QUERY)
        mark = self.marks[model.name]
        self._builds[model.table] = Build(mark, {}, mark)
        self._moved.add(model.table)
        why = "it is not there" if plan.status is Status.CREATE else "its query or columns changed"
        return Expected(model.table, CREATED, why)

    def _data(self, model: Model, plan: TablePlan, cause: str) -> Expected:
        after = tuple(dict.fromkeys(self._before(model)))
        whole = self._whole(model, plan)
        how = "all rows" if whole else _part(model)
        if not timed(model) or model.python:
            return Expected(model.table, BUILT, cause, how, None, after)
        certain = not after and not plan.steps
        try:
            stretch = self._stretch(model, plan, whole=whole, certain=certain)
        except InstarError as error:
            # The run would fail by the same words; not for sure where it reads other rows by then.
            if certain:
                return Expected(model.table, FAILED, f"{error.code}: {error.message}", how)
            stretch = None
        return Expected(model.table, BUILT, cause, how, stretch, after)

    def _whole(self, model: Model, plan: TablePlan) -> bool:
        if any(step.rung is Rung.REFRESH for step in plan.steps):
            return True
        empty = plan.live is None or self._decisions.empty(model)
        return self._decisions.whole(model, empty=empty)

    def _before(self, model: Model) -> Iterator[str]:
        """What the model reads, through views too, and is built or changed before it."""
        for target in self.models.upstream(model.name):
            if target.table in self._moved:
                yield str(target.table)
            parent = self.models.models.get(target.name) if target.kind == "model" else None
            if parent is not None and parent.materialization == "view":
                yield from self._before(parent)

    def _stretch(
        self, model: Model, plan: TablePlan, *, whole: bool, certain: bool
    ) -> Stretch | None:
        assert model.incremental is not None
        sql, granularity = self.queries[model.name], model.incremental.granularity
        span = self._log.span(model, sql)
        if span is None:
            return None
        if whole:
            first, last = (beginning(t, granularity) for t in span)
            return Stretch(counted(*span, granularity), first, last, granularity, not certain)
        anew = self._decisions.otherwise(model)
        wish = self._log.wish(model, span, self.options.start, self.options.end, anew=anew)
        if plan.live is not None:
            wish = tuple(self._log.filled(model, sql, plan.live, wish))
        if not wish:
            return None
        return Stretch(len(wish), wish[0].start, wish[-1].start, granularity, not certain)


def _part(model: Model) -> str:
    """How new rows come into an incremental table."""
    way = model.incremental
    assert way is not None
    if way.event_time_column is not None:
        return f"intervals of {way.event_time_column}"
    if way.partition_column is not None:
        return f"the partitions of {way.partition_column} that its query gives"
    return f"merged by {', '.join(way.unique_key)}"
