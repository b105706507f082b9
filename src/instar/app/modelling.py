"""A plan for models: analysed in graph order against tables as they will be, then planned like manifests."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from instar.app.adopting import adopted, adopting_view, foreign_table, foreign_view
from instar.app.between import declare_views
from instar.app.events import Listener
from instar.app.impact import readers_of, with_reach
from instar.app.lineage import Web
from instar.app.planning import completed, interrupted, with_readers
from instar.app.stopping import absent_parents, broken_parents, other_kind, uncompiled
from instar.app.switching import to_table, to_view
from instar.app.wording import in_model_words, of_view
from instar.backends.base import NotATable, Views
from instar.core.changes import CreateTable, DropColumn
from instar.core.classify import Classified
from instar.core.diff import diff
from instar.core.evolve import evolve
from instar.core.findings import Finding, Severity
from instar.core.matching import DoneRenames
from instar.core.plan import Status, Step, TablePlan
from instar.core.planner import draft
from instar.core.policy import Policy
from instar.core.refresh import Refresh, evolved
from instar.core.schema import Table, TableName, Wanted
from instar.core.types import Column, path_text
from instar.run.building import ADOPTS, Builder
from instar.run.inferring import CannotInfer, Inferrer
from instar.run.rendering import rendered, stand_in
from instar.run.wanting import check_output, wanted_table
from instar.sources.models import Model, Models, Target
from instar.sources.models_sql import Read
from instar.state import Store
from instar.state.models import Build


@dataclass(slots=True)
class Modelling:
    """Everything that is known while models are planned; `queries` are the engine's texts."""

    models: Models
    manifests: Mapping[TableName, TablePlan]
    builder: Builder
    store: Store
    env: str
    policy: Policy
    listener: Listener
    chosen: frozenset[str]
    formats: dict[TableName, str] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    shapes: dict[TableName, tuple[Column, ...]] = field(default_factory=dict)
    plans: dict[str, TablePlan] = field(default_factory=dict)
    broken: dict[str, dict[str, Finding]] = field(default_factory=dict)
    """Of each model that cannot be analysed: the models that do not compile, it or those before it, and why."""
    builds: Mapping[TableName, Build] = field(default_factory=dict)
    renames: Mapping[TableName, DoneRenames] = field(default_factory=dict)
    open_runs: frozenset[TableName] = frozenset()
    views: dict[str, Views] = field(default_factory=dict)
    dialect: str = "spark"
    adopts: bool = False
    _web: Web | None = None
    _wide_web: Web | None = None

    @property
    def web(self) -> Web:
        """Lineage over the planned shapes."""
        if self._web is None:
            self._web = Web(self.models, self.shapes, self.dialect)
        return self._web

    @property
    def wide_web(self) -> Web:
        """The same over columns and fields that go too."""
        if self._wide_web is None:
            plans = (*self.plans.values(), *self.manifests.values())
            live = {p.table: p.live.columns for p in plans if p.live is not None}
            self._wide_web = Web(self.models, self.shapes, self.dialect, live)
        return self._wide_web

    def __post_init__(self) -> None:
        self.builds = self.store.models.builds(self.env)
        self.renames = self.store.all_done_renames(self.env)
        self.open_runs = frozenset(run.table for run in self.store.unfinished(self.env))

    def render(self, model: Model, inferrer: Inferrer | None = None) -> str:
        """The query with the names of the engine, or of the inferrer's world."""

        targets = self.models.targets[model.name]
        if inferrer is not None:
            return stand_in(model.body, targets, inferrer)

        def place(read: Read, target: Target) -> str:
            if target.kind == "outside":
                return self.builder.outside_place(read, target)
            return self.builder.place(target.table, self.formats.get(target.table, ""))

        return rendered(model.body, targets, place, self.dialect)


def plan_models(work: Modelling) -> tuple[TablePlan, ...]:
    """The plans of the chosen models, parents first."""
    inferrer = work.builder.inferrer()
    try:
        live = _live(work)
        _declare_inputs(work, inferrer)
        read = {target.table for _, target in _reads(work)}
        for model in map(work.models.models.__getitem__, work.models.order):
            _analyse(work, model, live, inferrer, is_read=model.table in read)
    finally:
        inferrer.close()
    found = {n: with_impact(work, p) for n, p in work.plans.items() if n in work.chosen}
    work.plans |= found
    return tuple(found[n] for n in work.models.order if n in found)


def _live(work: Modelling) -> dict[TableName, Table | NotATable]:
    """Every model's table as it is, asked in bulk."""
    by_format: defaultdict[str, list[TableName]] = defaultdict(list)
    for model in work.models.models.values():
        by_format[model.format].append(model.table)
        work.formats[model.table] = model.format
    for plan in work.manifests.values():
        work.formats[plan.table] = plan.target.format if plan.target else ""
    found: dict[TableName, Table | NotATable] = {}
    for format_, names in by_format.items():
        found |= work.builder.backend(format_).inspect(names)
    return found


def _declare_inputs(work: Modelling, inferrer: Inferrer) -> None:
    """Declared tables as they will be, tables outside the project as they are."""
    views = work.models.views
    used = {t.table: (r, t) for r, t in _reads(work) if t.kind != "model" and t.table not in views}
    outside = [i for i in used.values() if i[1].table not in work.manifests]
    for name, table in work.builder.outside(outside).items():
        work.shapes[name] = table.columns
        inferrer.declare(name, table.columns)
    for name, (_, target) in used.items():
        plan = work.manifests.get(target.table)
        shape = plan and (plan.live if plan.status is Status.BLOCKED else plan.target)
        shape = shape or (plan and plan.target)
        if shape:
            work.shapes[name] = shape.columns
            inferrer.declare(name, shape.columns)


def _reads(work: Modelling) -> Iterator[tuple[Read, Target]]:
    """All that a view between models or a model reads."""
    for view in work.models.views.values():
        yield from view.reads
    for reads in work.models.targets.values():
        yield from reads


def _analyse(
    work: Modelling,
    model: Model,
    live: Mapping[TableName, Table | NotATable],
    inferrer: Inferrer,
    *,
    is_read: bool,
) -> None:
    """Infer one model, plan it, and tell those that read it what it will look like."""
    there = live.get(model.table)
    work.queries[model.name] = work.render(model)
    if model.name not in work.chosen:
        shape = _left_alone(work, model, live, inferrer)
    else:
        shape = inferred = _compiled(work, model, live, inferrer)
        if inferred is not None:
            shape = _planned(work, model, inferred, there, inferrer)
    if shape is not None:
        work.shapes[model.table] = shape
        if is_read:
            inferrer.declare(model.table, shape)


def _planned(
    work: Modelling,
    model: Model,
    inferred: tuple[Column, ...],
    there: Table | NotATable | None,
    inferrer: Inferrer,
) -> tuple[Column, ...]:
    """Plan a model of this plan; what it will look like."""
    if model.table in work.open_runs:
        stopped = _stopped(work, model, there, interrupted(model.table))
        work.plans[model.name] = replace(stopped, status=Status.NO_CHANGE)
        return there.columns if isinstance(there, Table) else inferred
    if model.materialization == "view":
        work.plans[model.name] = _view(work, model, inferred, there)
        return inferred
    plan = work.plans[model.name] = _table(work, model, inferred, there, inferrer)
    known = plan.target or there
    return known.columns if isinstance(known, Table) else inferred


def _compiled(
    work: Modelling,
    model: Model,
    live: Mapping[TableName, Table | NotATable],
    inferrer: Inferrer,
) -> tuple[Column, ...] | None:
    """The columns of its query; None, and its plan is blocked, where there are none."""
    there, roots = live.get(model.table), dict[str, Finding]()
    parents = work.models.parents(model.name)
    for parent in parents:
        roots |= work.broken.get(parent, {})
    if roots:
        unseen = [f for name, f in roots.items() if name not in work.chosen]
        findings = (broken_parents(model, [*roots]), *unseen)
    elif absent := _absent(work, model, live):
        findings = (absent_parents(model, absent),)
        roots = {model.name: findings[0]}
    else:
        try:
            declare_views(work, model, inferrer)
            return _inferred(work, model, inferrer)
        except CannotInfer as error:
            why = uncompiled(work.models, work.plans, work.manifests, model, error, work.dialect)
            roots, findings = {model.name: why}, (why,)
    work.broken[model.name] = roots
    stopped = _stopped(work, model, there, findings[0])
    work.plans[model.name] = replace(stopped, findings=findings)
    return None


def _left_alone(
    work: Modelling,
    model: Model,
    live: Mapping[TableName, Table | NotATable],
    inferrer: Inferrer,
) -> tuple[Column, ...] | None:
    """A model that is no part of this plan is as it stands, whatever its file says by now."""
    there = live.get(model.table)
    if isinstance(there, Table):
        return there.columns
    inferred = _compiled(work, model, live, inferrer)
    if inferred is not None:
        return _as_it_is(work, model, inferred)
    stands = _view_columns(work, model) if there is not None else None
    if stands is not None:
        del work.broken[model.name], work.plans[model.name]
    return stands


def _absent(
    work: Modelling, model: Model, live: Mapping[TableName, Table | NotATable]
) -> list[str]:
    """The parents that are not there and not in this plan."""
    if model.name not in work.chosen:
        return []
    parents = (work.models.models[p] for p in work.models.parents(model.name))
    return [p.name for p in parents if p.name not in work.chosen and p.table not in live]


def _as_it_is(work: Modelling, model: Model, inferred: tuple[Column, ...]) -> tuple[Column, ...]:
    """A view that this plan leaves alone has the columns of the query that it was made by."""
    known = work.builds.get(model.table)
    if known is not None and known.fingerprint == build_mark(work.models, model):
        return inferred
    return _view_columns(work, model) or inferred


def _inferred(work: Modelling, model: Model, inferrer: Inferrer) -> tuple[Column, ...]:
    if model.python:
        return inferrer.infer_python(model, work.models.upstream(model.name))
    return inferrer.infer(work.render(model, inferrer))


def _table(
    work: Modelling,
    model: Model,
    inferred: tuple[Column, ...],
    there: Table | NotATable | None,
    inferrer: Inferrer,
) -> TablePlan:
    if isinstance(there, NotATable):
        return _table_of_view(work, model, inferred, there, inferrer)
    if there is not None and (rows := _foreign_rows(work, model)):
        return _adoption(work, model, inferred, there, rows, inferrer)
    return _evolution(work, model, inferred, there, inferrer)


def _table_of_view(
    work: Modelling,
    model: Model,
    inferred: tuple[Column, ...],
    there: NotATable,
    inferrer: Inferrer,
) -> TablePlan:
    """The model's view makes room; whatever else has the name stays."""
    check_output(model, inferred)
    own = there.kind == "view" and model.table in work.builds
    sql = work.queries[model.name]
    switched = to_table(work.builder, model, inferred, sql, inferrer) if own else None
    return switched or _stopped(work, model, there, other_kind(model, there.what))


def _evolution(
    work: Modelling,
    model: Model,
    inferred: tuple[Column, ...],
    there: Table | None,
    inferrer: Inferrer,
) -> TablePlan:
    """The table brought to what its query returns: in place, or refreshed where that would lose."""
    backend = work.builder.backend(model.format)
    wanted = wanted_table(model, inferred, there, inferrer)
    policy = replace(work.policy, allow_column_removal=work.policy.drops)
    done = work.renames.get(model.table, frozenset())
    sketch = draft(wanted, there, backend.rules, policy, done, nested_order=True)
    if there is None or not sketch.changes:
        return completed(sketch, backend, {}, work.listener)
    way = _way(work, model, wanted_table(model, inferred, None, inferrer))
    plan = completed(sketch, backend, backend.measure([model.table]), work.listener)
    found = evolved(sketch, plan, policy, way)
    if any(f.code == "F701" for f in found.findings) and _never_filled(work, model):
        found = evolved(sketch, plan, policy, _unasked(way))
    tables = {m.table for m in work.models.models.values()}
    views = work.views.setdefault(model.format, backend.views())
    return with_readers(in_model_words(found), views, tables)


def _never_filled(work: Modelling, model: Model) -> bool:
    """The first build failed: there is a table, and nothing in it that could be lost."""
    known = work.builds.get(model.table)
    claimed = known is not None and not known.fingerprint
    return claimed and work.builder.rows(model.table, model.format) == 0


def _unasked(way: Refresh) -> Refresh:
    """A refresh that needs no word, because there is nothing to lose."""

    def steps() -> tuple[Step, ...]:
        found = way.steps()
        return tuple(replace(s, confirm=None, irreversible=(), reversible=True) for s in found)

    why = "the table is empty: it was never built"
    return replace(way, always=True, steps=steps, because=why)


def _foreign_rows(work: Modelling, model: Model) -> int:
    """How many rows would be lost that Instar cannot know to be a model's."""
    if model.table in work.builds:
        return 0
    return work.builder.rows(model.table, model.format)


def _adoption(
    work: Modelling,
    model: Model,
    inferred: tuple[Column, ...],
    there: Table,
    rows: int,
    inferrer: Inferrer,
) -> TablePlan:
    way = _way(work, model, wanted_table(model, inferred, None, inferrer))
    if work.adopts:
        return adopted(work.builder, model, there, rows, way)
    return _stopped(work, model, there, foreign_table(model, rows))


def _way(work: Modelling, model: Model, wanted: Wanted) -> Refresh:
    backend = work.builder.backend(model.format)
    normalized, _ = backend.rules.normalize(replace(wanted, hints={}), None)
    fresh = evolve(None, (CreateTable(normalized.table),))
    parquet = model.format == "parquet"
    return Refresh(
        model.name,
        model.strategy == "full_refresh",
        fresh,
        lambda: work.builder.refresh_steps(model, fresh, work.queries[model.name]),
        "Consider using Delta format" if parquet else "",
    )


def _view(
    work: Modelling, model: Model, inferred: tuple[Column, ...], there: Table | NotATable | None
) -> TablePlan:
    """A view is replaced when its query or what it returns has changed."""
    check_output(model, inferred)
    if isinstance(there, Table):
        return _view_of_table(work, model, inferred, there)
    backend = work.builder.backend(model.format).rules.name
    sql = work.queries[model.name]
    after = Table(model.table, inferred, "view")
    known = work.builds.get(model.table)
    was = _view_columns(work, model) if there is not None else None
    same = was is not None and _plain(was) == _plain(inferred)
    if same and known is not None and known.fingerprint == build_mark(work.models, model):
        return TablePlan(
            model.table, backend, Status.NO_CHANGE, (), (), (), after, after, origin=model.origin
        )
    if there is not None and known is None and not work.adopts:
        return _stopped(work, model, there, foreign_view(model))
    before = Table(model.table, was, "view") if was is not None else None
    told = tuple(map(of_view, diff(before, Wanted(after))))
    step = work.builder.view_step(model, sql, inferred, new=there is None)
    step = replace(step, data={"mark": build_mark(work.models, model)})
    if there is not None and known is None:
        step = adopting_view(step, model)
    return TablePlan(
        model.table,
        backend,
        Status.CREATE if there is None else Status.CHANGE,
        told,
        (),
        (step,),
        before,
        after,
        origin=model.origin,
    )


def _view_of_table(
    work: Modelling, model: Model, inferred: tuple[Column, ...], there: Table
) -> TablePlan:
    """The model's table goes aside; somebody else's only where a word adopts it."""
    rows = _foreign_rows(work, model)
    if rows and not work.adopts:
        return _stopped(work, model, there, foreign_table(model, rows))
    mark, text = build_mark(work.models, model), work.queries[model.name]
    switched = to_view(work.builder, model, inferred, there, text, mark)
    if switched is None:
        return _stopped(work, model, there, other_kind(model, "a table"))
    if not rows:
        return switched
    first, *rest = switched.steps
    return replace(switched, steps=(replace(first, data={**first.data, ADOPTS: model.name}), *rest))


def _view_columns(work: Modelling, model: Model) -> tuple[Column, ...] | None:
    read = Read((model.table.schema, model.table.name), False, 0, 0)
    found = work.builder.outside([(read, Target(model.table, "outside", model.name))])
    return found[model.table].columns if model.table in found else None


def _plain(columns: tuple[Column, ...]) -> tuple[tuple[str, object], ...]:
    return tuple((c.name, c.type) for c in columns)


def build_mark(models: Models, model: Model) -> str:
    """Equal exactly when a model would compute the same from the same tables."""
    names = [str(t.table) for t in models.upstream(model.name)]
    told = "\0".join((model.fingerprint, str(model.table), *names))
    return hashlib.sha256(told.encode()).hexdigest()


def _stopped(
    work: Modelling, model: Model, there: Table | NotATable | None, finding: Finding
) -> TablePlan:
    return TablePlan(
        model.table,
        work.builder.backend(model.format).rules.name,
        Status.BLOCKED,
        (),
        (finding,),
        (),
        there if isinstance(there, Table) else None,
        None,
        origin=model.origin,
    )


def with_impact(work: Modelling, plan: TablePlan) -> TablePlan:
    """Who else sees the change of a model or a manifest: readers of what goes, the columns it reaches."""
    if not plan.changes or plan.live is None:
        return plan
    found: list[Finding] = []
    for item in plan.changes:
        if isinstance(item.change, DropColumn):
            found += _readers(work, plan, item)
    return with_reach(work.wide_web, replace(plan, findings=(*plan.findings, *found)))


def _readers(work: Modelling, plan: TablePlan, item: Classified) -> list[Finding]:
    assert isinstance(item.change, DropColumn)
    path = item.change.path
    names = readers_of(work.models, work.wide_web, plan, path)
    if not names:
        return []
    return [
        Finding(
            "F704",
            Severity.WARNING,
            f"[{plan.table}] '{path_text(path)}' is read by {', '.join(names)}.",
            "They break or lose it when the column goes.",
            path,
        )
    ]
