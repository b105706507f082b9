"""One run: each model evolved, then built, then written down; what did not change is skipped."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from instar.apply import Failpoints, Result, apply_table
from instar.backends.base import NotATable
from instar.core.numbers import plural
from instar.core.plan import Rung, Status, TablePlan
from instar.core.schema import Table, TableName
from instar.errors import EngineError, InstarError, Interrupted, Location, StateError
from instar.run.blaming import blamed
from instar.run.building import ADOPTS, Builder, Interval, Order
from instar.run.deciding import IN_PART, UNCHANGED, Decisions, timed, way_of
from instar.run.inputs import Inputs, digest
from instar.run.interval_log import IntervalLog
from instar.run.intervals import counted
from instar.run.options import (
    AS_ITS_QUERY,
    BEHIND,
    BUILT,
    CREATED,
    DONE_BEFORE,
    FAILED,
    SKIPPED,
    RunOptions,
    behind_text,
)
from instar.sources.models import Model, Models
from instar.state import Store
from instar.state.models import Build, ModelResult
from instar.state.store import new_run


@dataclass(slots=True)
class ModelRunner:
    """Builds one model at a time; several of its calls may run at once on an engine that bears it."""

    models: Models
    plans: Mapping[str, TablePlan]
    queries: Mapping[str, str]
    marks: Mapping[str, str]
    builder: Builder
    store: Store
    env: str
    run: str
    options: RunOptions
    note: Callable[[str], None]
    progress: Callable[[str, int, int | None], None]
    failpoint: Failpoints = field(default_factory=Failpoints.from_environment)
    done: frozenset[str] = frozenset()
    resumed: bool = False
    _evolving: threading.Lock = field(default_factory=threading.Lock)
    _builds: dict[TableName, Build] = field(default_factory=dict)
    _inputs: Inputs = field(init=False)
    _log: IntervalLog = field(init=False)
    _decisions: Decisions = field(init=False)
    _passed: set[str] = field(default_factory=set)
    """Of these some intervals were closed before, and were not built."""
    _count: int = 0
    _running: list[str] = field(default_factory=list)
    _saying: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        known = self.store.models.builds(self.env)
        self._builds.update({t: b for t, b in known.items() if b.fingerprint})
        self._inputs = Inputs(self.models, self.marks, self.builder, self._builds)
        self._log = IntervalLog(self.builder, self.store, self.env, self.run)
        self._decisions = Decisions(
            self.options, self.marks, self.builder, self._builds, self._inputs, self._log
        )

    def work(self, name: str) -> ModelResult:
        """Evolve and build one model. What it fails by is in the result, not raised: others go on."""
        model = self.models.models[name]
        if name in self.done and self._decisions.stays_done(model):
            return ModelResult(model.table, SKIPPED, reason=DONE_BEFORE)
        self._say_running(name)
        began = time.monotonic()
        build: Build | None = None
        try:
            found, build = self._work(model)
        except (Interrupted, StateError):
            raise
        except InstarError as error:
            found = ModelResult(model.table, FAILED, error=self._failure(error, model))
        result = replace(found, seconds=time.monotonic() - began, run=self.run)
        self.store.models.result(self.env, self.run, result, build)
        if build is not None:
            self._builds[model.table] = build
        self.failpoint("model:logged")
        self._say_running(name, over=True)
        self.note(told(result))
        return result

    def _say_running(self, name: str, *, over: bool = False) -> None:
        """Which models are being built now, and how many are done."""
        with self._saying:
            if over:
                self._running.remove(name)
                self._count += 1
            else:
                self._running.append(name)
            if self._running:
                names = ", ".join(str(self.models.models[n].table) for n in self._running)
                self.progress(f"building {names}", self._count, len(self.plans))

    def _failure(self, error: InstarError, model: Model) -> str:
        """Of a broken key the rows are looked at once more: the guard itself only refuses them."""
        words, where = blamed(error, model, self.queries[model.name])
        if error.code == "E430":
            where = _key_place(model) or where
            with contextlib.suppress(EngineError):
                words = self.builder.key_problem(model, self.queries[model.name]) or words
        return _failure(error.code, words, where)

    def behind(self, name: str, failed: list[str]) -> ModelResult:
        model = self.models.models[name]
        if name in self.done:
            return ModelResult(model.table, SKIPPED, reason=DONE_BEFORE)
        result = ModelResult(model.table, BEHIND, reason=behind_text(failed))
        self.store.models.result(self.env, self.run, result)
        return result

    def _work(self, model: Model) -> tuple[ModelResult, Build | None]:
        """What became of it, and what the next run is to know of the rows if they were built."""
        plan = self.plans[model.name]
        self.failpoint("model:before")
        adopting = any(ADOPTS in step.data for step in plan.steps)
        if not adopting:
            self._claim(model, plan)
        if plan.steps:
            with self._evolving:
                self.builder.stage(model, plan)
                report = apply_table(
                    plan,
                    self.builder.backend(model.format),
                    self.store,
                    self.env,
                    progress=self.progress,
                    failpoint=self.failpoint,
                    run=self.run,
                    command="instar run",
                )
            for text in report.notes:
                self.note(f"{model.table}: {text}")
            if report.result is not Result.APPLIED:
                text = self._failure(report.error, model) if report.error else "failed"
                return ModelResult(model.table, FAILED, error=text), None
            self.builder.unstage(model, plan)
        if adopting:
            self._claim(model, plan)
        self.failpoint("model:evolved")
        if model.materialization == "view":
            return self._view(model, plan)
        return self._data(model, plan)

    def _claim(self, model: Model, plan: TablePlan) -> None:
        created = plan.status is Status.CREATE
        self.store.models.claim(self.env, model.table, anew=created)
        if created:
            self._builds.pop(model.table, None)

    def _view(self, model: Model, plan: TablePlan) -> tuple[ModelResult, Build | None]:
        if not plan.steps:
            return ModelResult(model.table, SKIPPED, reason=AS_ITS_QUERY), None
        mark = self.marks[model.name]
        return ModelResult(model.table, CREATED), Build(mark, {}, mark)

    def _data(self, model: Model, plan: TablePlan) -> tuple[ModelResult, Build | None]:
        inputs = self._inputs.of(model)
        known = self._builds.get(model.table)
        refreshed = any(step.rung is Rung.REFRESH for step in plan.steps)
        if self._decisions.cause(model, plan, inputs) is None:
            return ModelResult(model.table, SKIPPED, reason=UNCHANGED), None
        if refreshed:
            rows = self.builder.rows(model.table, model.format)
            self._log.whole(model, self.queries[model.name])
        else:
            rows = self._build(model, plan, inputs)
        part = self._decisions.in_part(model) and not refreshed
        reason = "" if refreshed else self._left_as_it_was(model, known, inputs)
        build = self._remembered(model, known, inputs, in_part=part)
        self.failpoint("model:built")
        return ModelResult(model.table, BUILT, rows, reason=reason), build

    def _remembered(
        self, model: Model, known: Build | None, inputs: Mapping[str, str | None], *, in_part: bool
    ) -> Build:
        """What the next run compares. A build in part has not covered its inputs."""
        # A name of its own each time: what reads the table knows it by the name.
        build, mark = f"{self.run}/{model.name}/{new_run()}", self.marks[model.name]
        way = way_of(model)
        if in_part:
            if known is not None:
                return Build(known.fingerprint, known.inputs, build, way)
            return Build(mark, {IN_PART: self.run}, build, way)
        told = {k: v for k, v in inputs.items() if v is not None}
        return Build(mark, told if len(told) == len(inputs) else {}, build, way)

    def _left_as_it_was(
        self, model: Model, known: Build | None, inputs: Mapping[str, str | None]
    ) -> str:
        """What a person must know who changed the query or old rows: intervals that are done stay."""
        named = self.options.start or self.options.full_refresh
        if not timed(model) or named or known is None or self._decisions.otherwise(model):
            return ""
        if known.fingerprint != self.marks[model.name]:
            return (
                "its query changed; intervals done before keep their rows (--full-refresh, --start)"
            )
        moved = None not in inputs.values() and dict(known.inputs) != dict(inputs)
        if model.name in self._passed and moved and IN_PART not in known.inputs:
            return "its inputs changed; rows of closed intervals stay (--full-refresh, --start)"
        return ""

    # --- the ways to build ---

    def _live(self, model: Model, plan: TablePlan) -> Table:
        """The table as it was planned for, or as its steps have left it."""
        if plan.live is not None and not plan.steps:
            return plan.live
        live = self.builder.backend(model.format).inspect([model.table]).get(model.table)
        if live is None or isinstance(live, NotATable):
            raise EngineError("E434", f"the table {model.table} is gone")
        return live

    def _build(self, model: Model, plan: TablePlan, inputs: Mapping[str, str | None]) -> int:
        live = self._live(model, plan)
        empty = self._decisions.empty(model)
        if empty:
            self._log.forget(model)
        if self._decisions.whole(model, empty=empty):
            rows = self._order(model, live, inputs, whole=True)
            self._log.whole(model, self.queries[model.name])
            return rows
        assert model.incremental is not None
        if self._decisions.otherwise(model):
            self._check_keys(model)
        if model.incremental.event_time_column is None:
            return self._order(model, live, inputs, whole=False)
        return self._intervals(model, live, inputs)

    def _check_keys(self, model: Model) -> None:
        """Rows that came another way may break the key that new rows go by: those would stay beside them."""
        place = self.builder.place(model.table, model.format)
        asked = replace(model, python=False)
        if words := self.builder.key_problem(asked, f"SELECT * FROM {place}"):
            there = words.replace("in the new rows", "in the rows that are there")
            raise EngineError("E430", f"{there}; --full-refresh builds them anew")

    def _order(
        self,
        model: Model,
        live: Table,
        inputs: Mapping[str, str | None],
        *,
        whole: bool,
        interval: Interval | None = None,
    ) -> int:
        """The mark tells what was asked of which inputs: a resumed run trusts no other build."""
        part = interval.start if interval is not None else ""
        mark = f"{self.run}/{model.table}/{part}/{digest(self.marks[model.name], inputs)}"
        certain = None not in inputs.values()
        sql = self.queries[model.name]
        order = Order(model, sql, live, mark, whole, interval, self.resumed and certain)
        return self.builder.build(order, self.failpoint)

    def _intervals(self, model: Model, live: Table, inputs: Mapping[str, str | None]) -> int:
        span = self._log.span(model, self.queries[model.name])
        if span is None:
            return 0
        rows = 0
        if anew := self._decisions.otherwise(model):
            self._log.forget(model)
        wish = self._log.wish(model, span, self.options.start, self.options.end, anew=anew)
        assert model.incremental is not None
        if len(wish) < counted(*span, model.incremental.granularity):
            self._passed.add(model.name)
        filled = self._log.filled(model, self.queries[model.name], live, wish)
        empty = sorted(set(wish) - set(filled), key=lambda i: i.start)
        self._log.done(model, empty, span)
        for interval in filled:
            rows += self._order(model, live, inputs, whole=False, interval=interval)
            self.failpoint("interval:built")
            self._log.done(model, [interval], span)
            self.failpoint("interval:marked")
        return rows


def told(result: ModelResult) -> str:
    """One line about one model: rows, seconds, rate, or why not. What it failed by is in the report."""
    if result.status == BUILT:
        rate = (
            f", {result.rows / result.seconds:,.0f} rows/s"
            if result.rows and result.seconds
            else ""
        )
        more = f" ({result.reason})" if result.reason else ""
        return f"{result.table}: {plural(result.rows or 0, 'row')} in {result.seconds:.2f}s{rate}{more}"
    return f"{result.table}: {result.status}{f' ({result.reason})' if result.reason else ''}"


def _key_place(model: Model) -> Location | None:
    """The line that names the key."""
    ways = ("unique_key", "partition_column", "event_time_column")
    places = (model.places.get(f"incremental.{way}") for way in ways)
    return next((place for place in places if place is not None), None)


def _failure(code: str, message: str, where: Location | None) -> str:
    """Code, words and the line."""
    lines = [f"{code}: {message}"]
    if where is not None:
        lines.append(f"--> {where}")
        lines += [f"{where.line} │ {where.text}"] if where.text is not None else []
    return "\n".join(lines)
