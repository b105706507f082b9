"""`instar run`: plan, ask, evolve and build in graph order; and go on where a killed run was."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from instar.app.choosing import other_text, planned_choice
from instar.app.leaving import refuse_absent, tell_absent
from instar.app.modelling import Modelling, build_mark
from instar.app.orphans import release_declared
from instar.apply import Question, QuestionKind, apply_table, ask_all, questions, refuse_blocked
from instar.core.numbers import plural
from instar.core.plan import Plan, Rung, Status, TablePlan
from instar.core.policy import Policy
from instar.errors import EngineError, Interrupted, UsageError
from instar.run.deciding import WHOLE, left_format
from instar.run.forecasting import Expected, Forecaster
from instar.run.options import GOOD, RunOptions, outcome_text
from instar.run.running import ModelRunner
from instar.run.scheduling import in_order
from instar.sources.models import Model
from instar.state import Event
from instar.state.models import ModelResult
from instar.state.store import new_run

if TYPE_CHECKING:
    from instar.app.opening import World
    from instar.app.project import Project

Confirm = Callable[[Sequence[Question]], bool]
Show = Callable[[Plan], None]


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did. `dry`: nothing was touched, and `expected` tells what would be done."""

    run: str
    plan: Plan
    results: tuple[ModelResult, ...] = ()
    seconds: float = 0.0
    dry: bool = False
    expected: tuple[Expected, ...] = ()

    @property
    def ok(self) -> bool:
        said = (*(r.status for r in self.results), *(e.status for e in self.expected))
        return all(status in GOOD for status in said)


def run_models(
    project: Project,
    world: World,
    options: RunOptions,
    policy: Policy,
    confirm: Confirm | None,
    *,
    dry_run: bool = False,
    resume: bool = False,
    show: Show = lambda plan: None,
) -> RunReport:
    """One run of the project's models on an opened environment."""
    began, env, store = time.monotonic(), world.env.name, world.store
    run, finished = new_run(), frozenset[str]()
    if resume:
        run, options, finished = _left_behind(project, world, options)
    adopts = policy.allow_full_refresh
    policy = replace(policy, allow_full_refresh=policy.allow_full_refresh or options.full_refresh)
    models = project.seen(world, project.models(env))
    refuse_absent(models, world.env, [w.strip("+") for w in options.select])
    tell_absent(project.listener, world.env, models)
    plan, work, chosen = planned_choice(project, world, models, policy, options, adopts)
    if len(chosen) == len(models.models):
        plan = replace(plan, tables=(*plan.tables, *project.orphans(world, models)))
    show(plan)
    refuse_blocked(plan.tables)
    if work is None:
        return RunReport(run, plan, dry=dry_run, seconds=time.monotonic() - began)
    finished = _still_done(work, finished)
    if dry_run:
        told = _expected(world, plan, work, options, finished)
        return RunReport(run, plan, (), time.monotonic() - began, dry=True, expected=told)
    ask_all([*questions(plan), *_replaced(work, options, finished)], confirm)
    if not resume:
        store.models.begin(env, run, asdict(options))
    runner = _runner(project, world, work, run, options, finished, resume)
    results = _carried_out(world, plan, work, runner, options, chosen)
    return _closed(world, work, RunReport(run, plan, results, time.monotonic() - began))


def _closed(world: World, work: Modelling, report: RunReport) -> RunReport:
    """The report, written down as the end of its run."""
    world.store.models.end(report.run, "finished" if report.ok else "failed")
    if report.ok:
        work.builder.forget(report.run)
    return report


def _expected(
    world: World, plan: Plan, work: Modelling, options: RunOptions, finished: frozenset[str]
) -> tuple[Expected, ...]:
    """What the run would do with each chosen model, parents first."""
    own = {m.table for m in work.models.models.values()}
    forecaster = Forecaster(
        models=work.models,
        plans=work.plans,
        queries=work.queries,
        marks={n: build_mark(work.models, m) for n, m in work.models.models.items()},
        builder=work.builder,
        store=world.store,
        env=world.env.name,
        options=options,
        done=finished,
        changed=frozenset(t.table for t in plan.pending if t.table not in own),
    )
    return forecaster.expected([n for n in work.models.order if n in work.chosen])


def _still_done(work: Modelling, finished: frozenset[str]) -> frozenset[str]:
    """Of what a run had done, the models that are still as they were, and so is all that they read."""
    changed = other_text(work.models, work.builds)
    kept: set[str] = set()
    for name in work.models.order:
        plan = work.plans.get(name)
        redone = [p for p in work.models.parents(name) if p in finished - kept]
        same = plan is not None and not plan.steps and not changed(work.models.models[name])
        if name in finished and same and not redone:
            kept.add(name)
    return frozenset(kept)


def _left_behind(
    project: Project, world: World, given: RunOptions
) -> tuple[str, RunOptions, frozenset[str]]:
    """What was to be done is the run's; how it is done now (threads, fail-fast) is as it is given now."""
    last = world.store.models.last_run(world.env.name)
    if last is None or last.status == "finished":
        raise UsageError(
            "E431", "there is no run to resume", hint="The last one ended well, or there was none."
        )
    raw: dict[str, Any] = dict(last.options)
    for key in ("select", "exclude"):
        raw[key] = tuple(raw.get(key, ()))
    work = RunOptions(**raw)
    if ignored := _ignored(work, given):
        words = f"{', '.join(ignored)}: the run that is resumed has its own, which count"
        project.listener.note(words)
    built = {
        r.table.name
        for r in world.store.models.results(world.env.name, last.run)
        if r.status in GOOD
    }
    project.listener.note(f"resuming run {last.run}: {len(built)} model(s) were done")
    options = replace(work, threads=given.threads, fail_fast=given.fail_fast)
    return last.run, options, frozenset(built)


def _ignored(work: RunOptions, given: RunOptions) -> list[str]:
    """Flags beside --resume that name other work than the run's."""
    named = ("select", "exclude", "full_refresh", "start", "end")
    told = [n for n in named if getattr(given, n) and getattr(given, n) != getattr(work, n)]
    return [f"--{n.replace('_', '-')}" for n in told]


def _replaced(work: Modelling, options: RunOptions, done: frozenset[str]) -> Iterator[Question]:
    """An incremental table may hold what its query gives no more: to build it as a whole asks, with counts."""
    for name in sorted(work.chosen - done):
        model, plan = work.models.models[name], work.plans[name]
        if old := _left_behind_in(work, model):
            text = f"[{model.table}] was {old} and is {model.format} now: rows that its query gives no more"
            yield Question(
                model.table, "", QuestionKind.CONFIRM, f"{text} stay in the {old} table alone"
            )
            continue
        why = _why_replaced(work, model, options)
        if not why or plan.live is None or _asks(plan):
            continue
        if rows := work.builder.rows(model.table, model.format):
            now = None if model.python else work.builder.count(work.queries[name])
            told = f"{now:,} that its query gives now" if now is not None else "its query's"
            text = f"[{model.table}] {why} replaces {plural(rows, 'row')} by {told}"
            yield Question(model.table, "", QuestionKind.CONFIRM, text)


def _left_behind_in(work: Modelling, model: Model) -> str:
    """Another format in another catalog is another table: what only the old one holds does not come along."""
    known = work.builds.get(model.table)
    if known is None or model.materialization == "view":
        return ""
    return left_format(known.way, model)


def _why_replaced(work: Modelling, model: Model, options: RunOptions) -> str:
    """What makes a table anew that was filled bit by bit; empty where nothing does."""
    if model.incremental is not None:
        return "--full-refresh" if options.full_refresh else ""
    known = work.builds.get(model.table)
    bit_by_bit = known is not None and known.way not in ("", WHOLE)
    return "to build what was incremental as a whole" if bit_by_bit else ""


def _asks(plan: TablePlan) -> bool:
    return any(step.rung is Rung.REFRESH for step in plan.steps)


def _runner(
    project: Project,
    world: World,
    work: Modelling,
    run: str,
    options: RunOptions,
    finished: frozenset[str],
    resumed: bool,
) -> ModelRunner:
    marks = {n: build_mark(work.models, m) for n, m in work.models.models.items()}
    return ModelRunner(
        models=work.models,
        plans={n: work.plans[n] for n in work.chosen},
        queries=work.queries,
        marks=marks,
        builder=work.builder,
        store=world.store,
        env=world.env.name,
        run=run,
        options=options,
        note=project.listener.note,
        progress=project.listener.progress,
        done=finished,
        resumed=resumed,
    )


def _carried_out(
    world: World,
    plan: Plan,
    work: Modelling,
    runner: ModelRunner,
    options: RunOptions,
    chosen: frozenset[str],
) -> tuple[ModelResult, ...]:
    """Declared tables first: models read them."""
    _change_declared(world, plan, work, runner)
    order = [n for n in work.models.order if n in chosen]
    threads = work.builder.threads(options.threads) if len(order) > 1 else 1
    if work.builder.one_writer and (options.threads or 1) > 1:
        runner.note("DuckDB has one writer: models are built one after the other")
    try:
        found = in_order(
            order,
            {n: work.models.parents(n) for n in order},
            runner.work,
            lambda result: result.status in GOOD,
            runner.behind,
            threads=threads,
            stop_early=options.fail_fast,
            cancel=work.builder.interrupt,
        )
    except KeyboardInterrupt:
        work.builder.interrupt()
        raise Interrupted(
            "E406",
            "the run was interrupted; what was built stays built",
            hint="`instar run --resume` goes on where it stopped.",
        ) from None
    return tuple(found[n] for n in order)


def _change_declared(world: World, plan: Plan, work: Modelling, runner: ModelRunner) -> None:
    release_declared(world, plan, work.models)
    own = {m.table for m in work.models.models.values()}
    for table in plan.tables:
        if table.table not in own and table.status is not Status.NO_CHANGE:
            backend = world.engine.backend(table.backend)
            report = apply_table(
                table,
                backend,
                world.store,
                plan.env,
                failpoint=runner.failpoint,
                run=runner.run,
                command="instar run",
            )
            for text in report.notes:
                runner.note(f"{table.table}: {text}")
            if not report.ok:
                raise report.error or EngineError("E434", f"{table.table} could not be changed")


_OUTCOMES = {"failed": "failed", "behind": "abandoned"}


def built_events(results: Sequence[ModelResult]) -> tuple[Event, ...]:
    """The run log as lines of history."""
    return tuple(
        Event(
            r.at,
            r.table,
            outcome_text(r.status, r.rows, r.reason),
            1,
            int(r.status in GOOD),
            r.seconds,
            _OUTCOMES.get(r.status, "finished"),
            r.error and r.error.partition("\n")[0],
            "instar run",
            r.run,
            r.rows,
            r.status,
            r.reason or None,
        )
        for r in results
    )
