"""A project on disk and what can be done with it: the API of the command line, notebooks and jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from instar.app import comparing, doctoring, lifecycle
from instar.app.answers import ApplyReport, Drift
from instar.app.between import between
from instar.app.claiming import claim_tables, remember_views
from instar.app.correcting import corrected
from instar.app.counting import counts_told
from instar.app.events import Listener, Silent
from instar.app.importing import Imported, imported, undeclared
from instar.app.joint import declared_inputs, plan_jointly
from instar.app.leaving import (
    absent_plans,
    left_out,
    refuse_absent,
    refuse_models,
    tell_absent,
    tell_left_out,
)
from instar.app.lifecycle import LifecycleWorld
from instar.app.lineage import Web, named
from instar.app.mending import mend, needs_mending
from instar.app.modelling import Modelling
from instar.app.naming import check_names
from instar.app.naming import named as named_like
from instar.app.opening import World, open_state, open_world
from instar.app.orphans import orphans, release_declared
from instar.app.running import RunReport, built_events, run_models
from instar.app.tracing import Place
from instar.apply import (
    Question,
    TableReport,
    apply_plan,
    ask_all,
    questions,
    refuse_blocked,
    resume,
)
from instar.backends.base import NotATable
from instar.core.document import fingerprint
from instar.core.findings import Finding
from instar.core.plan import Plan, TablePlan
from instar.core.policy import Policy
from instar.core.schema import Table, TableName, Wanted
from instar.dialects import DIALECTS
from instar.errors import PlanMoved, ProjectError
from instar.run.builders import open_builder, runs_models
from instar.run.options import RunOptions
from instar.sources.manifest import FOLDER, load_manifests
from instar.sources.models import EMPTY, Models, load_models, model_files
from instar.sources.project import Environment, ProjectConfig, load_project
from instar.state import Event, Kept

Confirm = Callable[[Sequence[Question]], bool]


@dataclass(frozen=True, slots=True)
class ProjectPlan(Plan):
    """A plan that knows its project and session: `project.plan("prod").apply(confirm=…)`."""

    project: Project = field(kw_only=True, compare=False, repr=False)
    spark: Any = field(default=None, kw_only=True, compare=False, repr=False)

    def apply(
        self, confirm: Confirm | None = None, *, write_manifests: bool = False
    ) -> ApplyReport:
        """Carry it out. `confirm` is asked once, with every question that the plan has."""
        return self.project.apply(self, confirm, write_manifests=write_manifests, spark=self.spark)


class Project:
    """`Project.load(".").plan(env="prod", spark=spark)`; nothing is opened before it is needed."""

    def __init__(
        self, config: ProjectConfig, listener: Listener | None = None, *, alone: bool = False
    ) -> None:
        self.config = config
        self.listener: Listener = listener or Silent()
        self.alone = alone

    @classmethod
    def load(
        cls, root: Path | str = ".", listener: Listener | None = None, *, alone: bool = False
    ) -> Project:
        """The project whose instar.yml is in `root` or a folder above it.

        `alone`: nobody else in this process uses its engines, which may save memory.
        """
        return cls(load_project(Path(root)), listener, alone=alone)

    def environment(self, env: str | None = None) -> Environment:
        """An environment of instar.yml; the default one when none is named."""
        return self.config.environment(env)

    def wanted(
        self,
        env: str | None = None,
        tables: Sequence[str] = (),
        models: Sequence[TableName] = (),
    ) -> tuple[Wanted, ...]:
        """What the manifests ask for; `tables` are names or patterns, of manifests or models."""
        everything = load_manifests(self.config, self.environment(env))
        if not tables:
            return everything
        check_names(tables, (*(w.table.name for w in everything), *models), "declared table")
        return tuple(w for w in everything if named_like(w.table.name, tables))

    def validate(self, env: str | None = None) -> tuple[Finding, ...]:
        """Read every file and normalize every table for its engine, touching nothing.

        Everything that is wrong with a file is a finding with an E code.
        """
        chosen = self.environment(env)
        tell_left_out(self.listener, chosen, left_out(self.config, chosen))
        return doctoring.validated(self.config, chosen, self.listener)

    def plan(
        self,
        env: str | None = None,
        policy: Policy = Policy(),
        tables: Sequence[str] = (),
        spark: Any = None,
    ) -> ProjectPlan:
        """What would happen. Reads only."""
        return self._plan(env, policy, tables, self._asked(env, tables), spark)

    def plan_mended(
        self, env: str | None = None, policy: Policy = Policy(), tables: Sequence[str] = ()
    ) -> tuple[ProjectPlan, tuple[TableReport, ...]]:
        """The plan, and what had to be mended first where a crash left copies that no journal knows."""
        asked = self._asked(env, tables)
        found = self._plan(env, policy, tables, asked)
        mended = self.mend(env) if needs_mending(found) else ()
        return (self._plan(env, policy, tables, asked) if mended else found), mended

    def _plan(
        self,
        env: str | None,
        policy: Policy,
        tables: Sequence[str],
        asked: tuple[Models, tuple[Wanted, ...]],
        spark: Any = None,
    ) -> ProjectPlan:
        models, wanted = asked
        with self._world(env, spark, reading=True) as world:
            found = self._planned(world, policy, models, wanted, tables, along=True)
            loose = () if tables else self.orphans(world, models)
        seen = (*found.tables, *loose)
        return ProjectPlan(found.env, policy, seen, project=self, spark=spark)

    def orphans(self, world: World, models: Models) -> tuple[TablePlan, ...]:
        """What models have made that no file makes any more, and the models that are left out here."""
        manifests = (w.table.name for w in load_manifests(self.config, world.env))
        backend = next(iter(world.engine.backends.values())).rules.name
        told = absent_plans(models, world.env, backend)
        return (*orphans(world, (*manifests, *_tables(models))), *told)

    def _asked(self, env: str | None, tables: Sequence[str]) -> tuple[Models, tuple[Wanted, ...]]:
        """Files are read before an engine is opened."""
        models, chosen = self.models(env), self.environment(env)
        left = left_out(self.config, chosen)
        wanted = self.wanted(env, tables, (*_tables(models), *left))
        tell_left_out(self.listener, chosen, left, wanted, tables)
        refuse_absent(models, chosen, [p for p in tables if not _names(wanted, p)])
        if not tables:
            tell_absent(self.listener, chosen, models)
        return models, wanted

    def _planned(
        self,
        world: World,
        policy: Policy,
        models: Models,
        wanted: Sequence[Wanted],
        tables: Sequence[str],
        *,
        along: bool = False,
    ) -> Plan:
        """`along`: the declared tables that named models read change with them, as in a run."""
        chosen = frozenset(
            n for n, m in models.models.items() if not tables or named_like(m.table, tables)
        )
        seen = self.seen(world, models)
        if along and tables:
            inputs = declared_inputs(seen, chosen, self.wanted(world.env.name))
            wanted = (*wanted, *(w for w in inputs if w not in wanted))
        return plan_jointly(self, world, seen, policy, chosen, wanted)[0]

    def models(self, env: str | None = None) -> Models:
        """Every model of the project, with what its query reads; none where none can run."""
        chosen = self.environment(env)
        if not runs_models(chosen) or not model_files(self.config.root):
            return EMPTY
        declared = [w.table.name for w in load_manifests(self.config, chosen)]
        return load_models(self.config, chosen, declared)

    def seen(self, world: World, models: Models) -> Models:
        """The models with the live views that stand between them."""
        if not models.models:
            return models
        env = world.env

        def declared() -> list[TableName]:
            return [w.table.name for w in load_manifests(self.config, env)]

        builder = open_builder(world.engine, env)
        return between(models, declared, builder, DIALECTS[env.type], env.schema)

    def planned_models(
        self,
        world: World,
        models: Models,
        policy: Policy,
        chosen: frozenset[str],
        adopts: bool | None = None,
    ) -> tuple[Plan, Modelling | None]:
        """The plan of chosen models and of the declared tables that they read (all, for all models).

        `adopts`: tables that no model made may be taken over; as the policy says unless given.
        """
        wanted = self.wanted(world.env.name)
        if len(chosen) < len(models.models):
            wanted = declared_inputs(models, chosen, wanted)
        return plan_jointly(self, world, models, policy, chosen, wanted, adopts)

    def lineage(
        self, what: str | None = None, env: str | None = None, spark: Any = None
    ) -> tuple[Web, list[Place]]:
        """The column lineage of all models, and the columns that were asked about."""
        refuse_models(self.config, chosen := self.environment(env))
        models = self.models(env)
        refuse_absent(models, chosen, [what, what.rpartition(".")[0]] if what else [])
        with self._world(env, spark, reading=True) as world:
            seen = self.seen(world, models)
            _, work = self.planned_models(world, seen, Policy(), frozenset(seen.models))
        if work is None:
            raise ProjectError("E165", "there are no models in this project", hint="See models/.")
        return work.web, named(work.web, work.shapes, what)

    def run(
        self,
        env: str | None = None,
        policy: Policy = Policy(),
        options: RunOptions = RunOptions(),
        confirm: Confirm | None = None,
        *,
        dry_run: bool = False,
        resume: bool = False,
        show: Callable[[Plan], None] = lambda plan: None,
        spark: Any = None,
    ) -> RunReport:
        """Plan, ask, evolve and build the models in graph order."""
        refuse_models(self.config, self.environment(env))
        if not dry_run:
            for report in self.resume(env, spark):
                if not report.ok and report.error is not None:
                    raise report.error
        with self._world(env, spark, reading=dry_run) as world:
            return run_models(
                self, world, options, policy, confirm, dry_run=dry_run, resume=resume, show=show
            )

    def apply(
        self,
        plan: Plan,
        confirm: Confirm | None = None,
        *,
        write_manifests: bool = False,
        spark: Any = None,
    ) -> ApplyReport:
        """Carry out a plan that was kept as a value; `plan.apply` does the same for one just made.

        Nothing is touched while any of its tables is blocked.
        """
        refuse_blocked(plan.tables)
        ask_all(questions(plan), confirm)
        with self._world(plan.env, spark) as world:
            before = frozenset(k.kept_name for k in world.store.kept(plan.env))
            release_declared(world, plan, models := self.models(plan.env))
            claim_tables(world.store, plan, models)
            reports = apply_plan(
                plan,
                lambda table: world.engine.backend(table.backend),
                world.store,
                progress=self.listener.progress,
                note=self.listener.note,
            )
            remember_views(world.store, plan, reports)
            reports = counts_told(
                self._copies_of(world, ()),
                {t.table: t.backend for t in plan.tables},
                reports,
                lambda kept: kept.kept_name not in before,
            )
        done = frozenset(r.table for r in reports if r.ok)
        left = corrected(plan, done, self.config.root, self.listener.note, write=write_manifests)
        return ApplyReport(reports, *left)

    def check_sealed(self, plan: Plan, sealed: str) -> None:
        """A sealed plan may be applied only when the plan of today is the same."""
        if fingerprint(plan) != sealed:
            raise PlanMoved(
                "E404",
                "the sealed plan no longer fits: a table or a manifest has moved since",
                hint="Look at `instar plan` again and seal a new one.",
            )

    def resume(self, env: str | None = None, spark: Any = None) -> tuple[TableReport, ...]:
        """Finish every run that an earlier apply left behind."""
        with open_state(self.config) as store:
            if not store.unfinished(self.environment(env).name):
                return ()
        with self._world(env, spark) as world:
            runs = world.store.unfinished(world.env.name)
            reports = tuple(
                resume(
                    world.engine.backend(run.backend),
                    world.store,
                    world.env.name,
                    run,
                    progress=self.listener.progress,
                    note=self.listener.note,
                )
                for run in runs
            )
            names = {run.run for run in runs}
            return counts_told(
                self._copies_of(world, ()),
                {run.table: run.backend for run in runs},
                reports,
                lambda kept: kept.run in names,
            )

    def recover(
        self, env: str | None = None, *, forget: bool = False, spark: Any = None
    ) -> tuple[TableReport, ...]:
        """Finish what is unfinished, or (a last resort) forget that it was begun.

        What the journal does not know is told by the tables: copies that a crash left are mended.
        """
        if not forget:
            return (*self.resume(env, spark), *self.mend(env, spark))
        with open_state(self.config) as store:
            for run in store.unfinished(self.environment(env).name):
                store.abandon(run)
                self.listener.note(f"{run.table}: the unfinished run is forgotten")
        return ()

    def mend(self, env: str | None = None, spark: Any = None) -> tuple[TableReport, ...]:
        """Put back or drop what a crash left, by the names of the tables themselves."""
        with self._lifecycle(env, spark) as world:
            return mend(world)

    def copies(
        self, env: str | None = None, tables: Sequence[str] = (), spark: Any = None
    ) -> tuple[lifecycle.OldCopy, ...]:
        """The old copies that rewrites have kept, oldest first."""
        with self._lifecycle(env, spark, reading=True) as world:
            return lifecycle.copies(world, tables)

    def cleanup(
        self,
        env: str | None = None,
        tables: Sequence[str] = (),
        confirm: Confirm | None = None,
        spark: Any = None,
    ) -> lifecycle.Cleaned:
        """Drop old copies, each after its own question."""
        self.resume(env, spark)
        with self._lifecycle(env, spark) as world:
            return lifecycle.cleanup(world, tables, confirm)

    def revert(
        self,
        table: str,
        env: str | None = None,
        *,
        to: str | None = None,
        confirm: Confirm | None = None,
        spark: Any = None,
    ) -> lifecycle.Reverted:
        """Put a table's old copy back; what is the table now is kept in its turn."""
        self.resume(env, spark)
        with self._lifecycle(env, spark) as world:
            return lifecycle.revert(world, table, to, confirm)

    def kept(self, env: str | None = None) -> tuple[Kept, ...]:
        """The old copies that the state store knows of; no engine is asked."""
        with open_state(self.config, reading=True) as store:
            return store.kept(self.environment(env).name)

    def drift(self, env: str | None = None, tables: Sequence[str] = (), spark: Any = None) -> Drift:
        """Where the live tables have left their manifests, whatever the policy would do about it.

        Unless tables are named, also the live ones that no file knows.
        """
        models, wanted = self._asked(env, tables)
        known = (*(w.table.name for w in wanted), *_tables(models))
        with self._world(env, spark, reading=True) as world:
            found = self._planned(world, Policy(), models, wanted, tables)
            loose = () if tables else undeclared(world.engine, world.env.schema, known)
        return Drift(found.env, found.policy, found.tables, loose)

    def diff(self, left: str, right: str, spark: Any = None) -> comparing.Comparison:
        """Two sides: an environment, `env@version`, or a manifest file."""
        return comparing.compare(self, left, right, spark)

    def live(
        self, env: str | None = None, tables: Sequence[TableName] | None = None, spark: Any = None
    ) -> tuple[Table, ...]:
        """The tables of an environment as they are."""
        with self._world(env, spark, reading=True) as world:
            found: dict[TableName, Table] = {}
            for backend in world.engine.backends.values():
                names = tables if tables is not None else backend.list_tables(world.env.schema)
                seen = backend.inspect(names).items()
                found |= {n: t for n, t in seen if not isinstance(t, NotATable)}
            return tuple(found[name] for name in sorted(found))

    def import_tables(
        self, env: str | None = None, patterns: Sequence[str] = (), spark: Any = None
    ) -> Imported:
        """Manifests for live tables that have none; nothing is written."""
        wanted = load_manifests(self.config, self.environment(env))
        declared = {w.table.name: w.table.format for w in wanted}
        declared |= {m.table: m.format for m in self.models(env).models.values()}
        with self._world(env, spark, reading=True) as world:
            folder = self.config.root / FOLDER
            return imported(world.engine, world.env.schema, declared, patterns, folder)

    def history(self, env: str | None = None, table: str | None = None) -> tuple[Event, ...]:
        """What was applied and built, the newest first."""
        with open_state(self.config, reading=True) as store:
            name = self.environment(env).name
            builds = built_events(store.models.results(name))
            events = (*store.history(name), *builds)
        events = tuple(sorted(events, key=lambda e: -e.when))
        if table is None:
            return events
        check_names([table], (*self.declared(env), *(e.table for e in events)), "table")
        return tuple(e for e in events if named_like(e.table, [table]))

    def declared(self, env: str | None = None) -> tuple[TableName, ...]:
        """The tables that the project knows, by manifest or model."""
        manifests = (w.table.name for w in load_manifests(self.config, self.environment(env)))
        return (*manifests, *_tables(self.models(env)))

    def versions(self, env: str, table: TableName) -> tuple[Table, ...]:
        """The schemas that were recorded of a table, the oldest first."""
        with open_state(self.config, reading=True) as store:
            return tuple(v.table for v in store.versions(env, table))

    def doctor(self, env: str | None = None) -> tuple[doctoring.Diagnosis, ...]:
        """Is everything there that the project needs?"""
        return doctoring.examined(self, env)

    @contextmanager
    def _lifecycle(
        self, env: str | None, spark: Any, *, reading: bool = False
    ) -> Iterator[LifecycleWorld]:
        declared = self.declared(env)
        with self._world(env, spark, reading=reading) as world:
            yield self._copies_of(world, declared)

    def _copies_of(self, world: World, declared: Sequence[TableName]) -> LifecycleWorld:
        return LifecycleWorld(world.env, world.engine, world.store, self.listener, declared)

    def _world(
        self, env: str | None, spark: Any, *, reading: bool = False
    ) -> AbstractContextManager[World]:
        chosen, own = self.environment(env), self.alone
        return open_world(self.config, chosen, self.listener, spark, reading=reading, alone=own)


def _tables(models: Models) -> tuple[TableName, ...]:
    """The tables of all models, also of those that are left out."""
    own = (model.table for model in models.models.values())
    return (*own, *(absent.table for absent in models.absent.values()))


def _names(wanted: Sequence[Wanted], pattern: str) -> bool:
    return any(named_like(w.table.name, [pattern]) for w in wanted)
