"""One run: each model evolved, then built, then written down; what did not change is skipped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from instar.apply import Failpoints, Result, apply_table
from instar.backends.base import NotATable
from instar.core.plan import Rung, Status, TablePlan
from instar.core.schema import Table, TableName
from instar.errors import EngineError, InstarError, Interrupted, StateError
from instar.run.building import ADOPTS, Builder, Interval, Order
from instar.run.inputs import Inputs, digest
from instar.run.interval_log import IntervalLog
from instar.sources.models import Model, Models
from instar.state import Store
from instar.state.models import Build, ModelResult
from instar.state.store import new_run

BUILT, SKIPPED, FAILED, BEHIND, CREATED = "built", "skipped", "failed", "behind", "created"
GOOD = frozenset((BUILT, SKIPPED, CREATED))


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What `instar run` was asked for; kept with the run so that it can be resumed."""

    select: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    full_refresh: bool = False
    start: str | None = None
    end: str | None = None
    threads: int | None = None
    fail_fast: bool = False


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
    _count: int = 0

    def __post_init__(self) -> None:
        known = self.store.models.builds(self.env)
        self._builds.update({t: b for t, b in known.items() if b.fingerprint})
        self._inputs = Inputs(self.models, self.marks, self.builder, self._builds)
        self._log = IntervalLog(self.builder, self.store, self.env, self.run)

    def work(self, name: str) -> ModelResult:
        """Evolve and build one model. What it fails by is in the result, not raised: others go on."""
        model = self.models.models[name]
        if name in self.done:
            return ModelResult(model.table, SKIPPED, reason="done before the interruption")
        self._count += 1
        self.progress(f"building {model.table}", self._count, len(self.plans))
        began = time.monotonic()
        try:
            found = self._work(model)
        except (Interrupted, StateError):
            raise
        except InstarError as error:
            found = ModelResult(model.table, FAILED, error=_failure(error, model))
        seconds = time.monotonic() - began
        result = ModelResult(
            found.table, found.status, found.rows, seconds, found.reason, found.error, self.run
        )
        self.store.models.result(self.env, self.run, result)
        self.failpoint("model:logged")
        self.note(told(result))
        return result

    def behind(self, name: str, failed: list[str]) -> ModelResult:
        model = self.models.models[name]
        why = f"behind {', '.join(failed)}" if failed else "not begun: another model failed"
        result = ModelResult(model.table, BEHIND, reason=why)
        self.store.models.result(self.env, self.run, result)
        return result

    def _work(self, model: Model) -> ModelResult:
        plan = self.plans[model.name]
        self.failpoint("model:before")
        adopting = any(ADOPTS in step.data for step in plan.steps)
        if not adopting:
            self._claim(model, plan)
        if plan.steps:
            with self._evolving:
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
            if report.result is not Result.APPLIED:
                text = _failure(report.error, model) if report.error else "failed"
                return ModelResult(model.table, FAILED, error=text)
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

    def _view(self, model: Model, plan: TablePlan) -> ModelResult:
        if not plan.steps:
            return ModelResult(model.table, SKIPPED, reason="the view is as its query says")
        mark = self.marks[model.name]
        self._built(model, Build(mark, {}, mark))
        return ModelResult(model.table, CREATED)

    def _data(self, model: Model, plan: TablePlan) -> ModelResult:
        inputs = self._inputs.of(model)
        known = self._builds.get(model.table)
        refreshed = any(step.rung is Rung.REFRESH for step in plan.steps)
        reason = None if plan.steps else self._unchanged(model, known, inputs)
        if reason is not None:
            return ModelResult(model.table, SKIPPED, reason=reason)
        if refreshed:
            rows = self.builder.rows(model.table, model.format)
            self._log.whole(model, self.queries[model.name])
        else:
            rows = self._build(model, plan, inputs)
        part = self._in_part(model) and not refreshed
        self._built(model, self._remembered(model, known, inputs, in_part=part))
        self.failpoint("model:built")
        reason = "" if refreshed else self._left_as_it_was(model, known)
        return ModelResult(model.table, BUILT, rows, reason=reason)

    def _in_part(self, model: Model) -> bool:
        """Only the intervals that were named are built: what is new elsewhere still waits."""
        timed = model.incremental is not None and model.incremental.event_time_column
        return bool(timed and self.options.start and not self.options.full_refresh)

    def _remembered(
        self, model: Model, known: Build | None, inputs: Mapping[str, str | None], *, in_part: bool
    ) -> Build:
        """What the next run compares. A build in part has not covered its inputs."""
        # A name of its own each time: what reads the table knows it by the name.
        build, mark = f"{self.run}/{model.name}/{new_run()}", self.marks[model.name]
        if in_part:
            if known is not None:
                return Build(known.fingerprint, known.inputs, build)
            return Build(mark, {"--start": self.run}, build)
        told = {k: v for k, v in inputs.items() if v is not None}
        return Build(mark, told if len(told) == len(inputs) else {}, build)

    def _left_as_it_was(self, model: Model, known: Build | None) -> str:
        """What a person must know whose query changed: intervals that are done are not built again."""
        timed = model.incremental is not None and model.incremental.event_time_column
        ranged = self.options.start or self.options.full_refresh
        if not timed or ranged or known is None or known.fingerprint == self.marks[model.name]:
            return ""
        return "its query changed; intervals done before keep their rows (--full-refresh, --start)"

    def _built(self, model: Model, build: Build) -> None:
        self._builds[model.table] = build
        self.store.models.built(self.env, model.table, build)

    def _unchanged(
        self, model: Model, known: Build | None, inputs: Mapping[str, str | None]
    ) -> str | None:
        """Why a model need not be built, if so."""
        ranged = self.options.start or self.options.end
        if self.options.full_refresh or ranged or known is None:
            return None
        if known.fingerprint != self.marks[model.name] or dict(known.inputs) != dict(inputs):
            return None
        if self._inputs.restless(model):
            return None
        return "neither its query nor its inputs changed"

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
        whole = model.incremental is None or self.options.full_refresh
        if not whole and self.builder.rows(model.table, model.format) == 0:
            whole = not self.options.start
            self._log.forget(model)
        elif not whole and self._first_was_cut_off(model):
            whole = not self.options.start
        if whole:
            rows = self._order(model, live, inputs, whole=True)
            self._log.whole(model, self.queries[model.name])
            return rows
        assert model.incremental is not None
        if model.incremental.event_time_column is None:
            return self._order(model, live, inputs, whole=False)
        return self._intervals(model, live, inputs)

    def _first_was_cut_off(self, model: Model) -> bool:
        """There are rows by event time, and nothing of them was written down: all are built once more."""
        timed = model.incremental is not None and model.incremental.event_time_column
        return bool(timed) and model.table not in self._builds and self._log.nothing(model)

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
        for interval in self._log.wish(model, span, self.options.start, self.options.end):
            rows += self._order(model, live, inputs, whole=False, interval=interval)
            self.failpoint("interval:built")
            self._log.done(model, interval, span)
            self.failpoint("interval:marked")
        return rows


def told(result: ModelResult) -> str:
    """One line about one model: rows, seconds, rate, or why not."""
    if result.status == BUILT:
        rate = (
            f", {result.rows / result.seconds:,.0f} rows/s"
            if result.rows and result.seconds
            else ""
        )
        more = f" ({result.reason})" if result.reason else ""
        return f"{result.table}: {result.rows or 0:,} rows in {result.seconds:.2f}s{rate}{more}"
    more = result.reason or (result.error or "").partition("\n")[0]
    return f"{result.table}: {result.status}{f' ({more})' if more else ''}"


def _failure(error: InstarError, model: Model) -> str:
    """Code and words; a key that breaks shows the line that names it."""
    where = error.where
    if error.code == "E430":
        ways = ("unique_key", "partition_column", "event_time_column")
        places = [model.places.get(f"incremental.{way}") for way in ways]
        where = next((place for place in places if place is not None), where)
    lines = [f"{error.code}: {error.message}"]
    if where is not None:
        lines.append(f"--> {where}")
        lines += [f"{where.line} │ {where.text}"] if where.text is not None else []
    return "\n".join(lines)
