"""Models: every query under models/ with what is said about it, and the graph that they make."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from instar.core.schema import TableName
from instar.dialects import DIALECTS
from instar.errors import Location, ProjectError
from instar.sources.cache import QueryCache
from instar.sources.catalogs import elsewhere, in_catalog
from instar.sources.models_front import Said, project_settings, read_front, split
from instar.sources.models_python import read_python
from instar.sources.models_said import (
    ColumnSaid,
    Incremental,
    Materialization,
    check_parquet,
    columns_said,
    materialization_said,
)
from instar.sources.models_sql import BadQuery, Query, Read, parse_query
from instar.sources.names import OWN_HINT, is_own, own_words
from instar.sources.problems import Problems
from instar.sources.project import Environment, ProjectConfig
from instar.sources.reading import suggestion
from instar.sources.yamlfile import SourceFile

FOLDER = "models"


@dataclass(frozen=True, slots=True)
class Model:
    """One query and what becomes of it. `body` begins at character `offset` of the file."""

    name: str
    table: TableName
    origin: str
    materialization: Materialization
    body: str
    offset: int
    query: Query
    format: str = ""
    strategy: str = "alter_and_backfill"
    columns: Mapping[str, ColumnSaid] = field(default_factory=lambda: MappingProxyType({}))
    incremental: Incremental | None = None
    tags: tuple[str, ...] = ()
    places: Mapping[str, Location] = field(default_factory=dict, compare=False)
    python: bool = False
    deterministic: bool = False
    file: SourceFile | None = field(default=None, compare=False, repr=False)

    def locate(self, at: int | None) -> Location:
        """A place in the body as a place in the file."""
        assert self.file is not None
        return place_in(self.file, None if at is None else self.offset + at)

    @property
    def fingerprint(self) -> str:
        """Equal exactly when the model would compute and keep the same."""
        told = (
            self.query.canonical,
            self.materialization,
            self.format,
            repr(self.incremental),
        )
        return hashlib.sha256("\0".join(told).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Target:
    """What a name in a query means: a model, a declared table, or something outside the project."""

    table: TableName
    kind: Literal["model", "manifest", "outside"]
    name: str


@dataclass(frozen=True, slots=True)
class LiveView:
    """A view of the engine that no model makes: its query, and what each of its reads means."""

    table: TableName
    body: str
    reads: tuple[tuple[Read, Target], ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """A model that its environment cannot run: in Python itself, or made of such, which are its `roots`."""

    table: TableName
    origin: str
    roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Models:
    """All models in graph order; `targets` says what each read of each model means.

    `views`: those that stand between models, or behind one. Known once the engine has been asked.
    `absent`: those that this environment leaves out.
    """

    models: Mapping[str, Model]
    targets: Mapping[str, tuple[tuple[Read, Target], ...]]
    order: tuple[str, ...]
    views: Mapping[TableName, LiveView] = field(default_factory=lambda: MappingProxyType({}))
    absent: Mapping[str, Absent] = field(default_factory=lambda: MappingProxyType({}))

    def upstream(self, name: str) -> tuple[Target, ...]:
        return tuple(dict.fromkeys(t for _, t in self.targets[name]))

    def behind(self, name: str) -> tuple[Target, ...]:
        """What a model reads; in the place of a live view, what that reads."""
        found: dict[Target, None] = {}
        open_ = list(self.upstream(name))
        for target in open_:
            view = self.views.get(target.table)
            if view is None:
                found[target] = None
            else:
                open_ += [t for _, t in view.reads if t not in open_]
        return tuple(found)

    def parents(self, name: str) -> tuple[str, ...]:
        """The models that a model reads, itself or through live views."""
        return tuple(t.name for t in self.behind(name) if t.kind == "model")


EMPTY = Models(MappingProxyType({}), MappingProxyType({}), ())


def place_in(file: SourceFile, at: int | None) -> Location:
    if at is None:
        return file.location()
    before = file.text[:at]
    return file.location(before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1)


def model_files(root: Path) -> list[Path]:
    """The models of a project by name; hidden files and what Python keeps for itself are not read."""
    folder = root / FOLDER
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in (".sql", ".py")
        and path.is_file()
        and not any(_hidden(part) for part in path.relative_to(folder).parts)
    )


def _hidden(part: str) -> bool:
    return part.startswith(".") or part in ("__pycache__", "__init__.py")


def load_models(
    project: ProjectConfig, env: Environment, declared: Iterable[TableName] = ()
) -> Models:
    """Every model of the project for one environment, and what their queries mean.

    A `ProjectError` has everything that is wrong.
    """
    problems = Problems()
    settings = project_settings(project.root, project.models, problems)
    loader = _Loader(project, env, settings)
    files = model_files(project.root)
    for path in files:
        problems.tried(loader.add, path)
    loader.queries.save()
    loader.check_entries({path.stem for path in files}, problems)
    lost = frozenset(path.stem.casefold() for path in files if path.stem not in loader.models)
    found = _Graph(loader.models, env, tuple(declared), lost, problems).build()
    problems.end()
    return _without(found, loader.elsewhere)


def _without(models: Models, elsewhere: Mapping[str, Absent]) -> Models:
    """The models that can run here: those in Python elsewhere are left out, and what is made of them."""
    if not elsewhere:
        return models
    absent = dict(elsewhere)
    for name in models.order:
        read = {target.table.folded for target in models.upstream(name)}
        behind = [(n, a.roots) for n, a in absent.items() if a.table.folded in read]
        if behind:
            roots = dict.fromkeys(root for n, found in behind for root in found or (n,))
            model = models.models[name]
            absent[name] = Absent(model.table, model.origin, tuple(roots))
    return Models(
        MappingProxyType({n: m for n, m in models.models.items() if n not in absent}),
        MappingProxyType({n: t for n, t in models.targets.items() if n not in absent}),
        tuple(n for n in models.order if n not in absent),
        models.views,
        MappingProxyType(absent),
    )


def runs_python(env: Environment) -> bool:
    """A model in Python is made of Spark's DataFrames."""
    return env.type == "spark"


class _Loader:
    def __init__(self, project: ProjectConfig, env: Environment, settings: Mapping[str, Said]):
        self.root = project.root
        self.env = env
        self.dialect = DIALECTS[env.type]
        self.settings = settings
        self.queries = QueryCache(project.root, self.dialect)
        self.models: dict[str, Model] = {}
        self.elsewhere: dict[str, Absent] = {}
        self._folded: dict[str, str] = {}
        self._origins: dict[str, str] = {}

    def add(self, path: Path) -> None:
        file = SourceFile.read(path, self.root)
        name = path.stem
        if is_own(name):
            where = file.location(1, 1)
            raise ProjectError("E137", own_words(name), hint=OWN_HINT, where=where)
        twin = self._folded.get(name.casefold())
        if twin is not None:
            same = twin == name
            what = (
                f"two models are named '{name}'" if same else f"two models for the table '{name}'"
            )
            message = f"{what}: {self._origins[twin]} and {file.name}"
            raise ProjectError("E155", message, hint="Rename one.", where=file.location(1, 1))
        python = path.suffix == ".py"
        if python and not runs_python(self.env):
            self.elsewhere[name] = Absent(TableName(self.env.schema, name), file.name)
        else:
            self.models[name] = self._python(file, name) if python else self._sql(file, name)
        self._folded[name.casefold()], self._origins[name] = name, file.name

    def check_entries(self, names: Collection[str], problems: Problems) -> None:
        for name, said in self.settings.items():
            if name not in names:
                told = f"instar.yml has settings for the model '{name}', which does not exist"
                hint = suggestion(name, self.models, "There are") if self.models else None
                problems.add(ProjectError("E162", told, hint=hint, where=said.places["entry"]))

    def _sql(self, file: SourceFile, name: str) -> Model:
        front, begin = split(file)
        said = read_front(file, front) if front is not None else Said()
        body = file.text[begin:]
        try:
            query = self._query(body)
        except BadQuery as bad:
            where = place_in(file, None if bad.at is None else begin + bad.at)
            raise ProjectError(bad.code, str(bad), hint=bad.hint, where=where) from None
        return self._model(file, name, said, body, begin, query)

    def _query(self, body: str) -> Query:
        data = body.encode()
        query = self.queries.get(data)
        if query is None:
            query = parse_query(body, self.dialect)
            self.queries.put(data, query)
        return query

    def _python(self, file: SourceFile, name: str) -> Model:
        front, query = read_python(file)
        said = read_front(file, front) if front is not None else Said()
        model = self._model(file, name, said, file.text, 0, query, python=True)
        if model.materialization == "view":
            where = model.places.get("materialization", file.location(1, 1))
            raise ProjectError("E161", "a Python model cannot be a view", where=where)
        return model

    def _model(
        self,
        file: SourceFile,
        name: str,
        front: Said,
        body: str,
        begin: int,
        query: Query,
        *,
        python: bool = False,
    ) -> Model:
        said = front.over(self.settings.get(name, Said()))
        kind, incremental = materialization_said(said, file)
        columns = columns_said(said)
        format_ = self._format(kind, said)
        check_parquet(format_, incremental, said)
        return Model(
            name=name,
            table=TableName(self.env.schema, name),
            origin=file.name,
            materialization=kind,
            body=body,
            offset=begin,
            query=query,
            format=format_,
            strategy=said.values.get("strategy", "alter_and_backfill"),
            columns=MappingProxyType(columns),
            incremental=incremental,
            tags=tuple(said.values.get("tags", ())),
            places=MappingProxyType(said.places),
            python=python,
            deterministic=bool(said.values.get("deterministic", False)),
            file=file,
        )

    def _format(self, kind: Materialization, said: Said) -> str:
        """A view on Spark stands in the main catalog, whatever the format of tables."""
        if not self.env.format:
            return ""
        return "delta" if kind == "view" else said.values.get("format") or self.env.format


class _Graph:
    """Gives every name in every query its meaning, and the models an order."""

    def __init__(
        self,
        models: Mapping[str, Model],
        env: Environment,
        declared: tuple[TableName, ...],
        lost: frozenset[str],
        problems: Problems,
    ) -> None:
        self.models, self.env, self.lost, self.problems = models, env, lost, problems
        self.by_table = {m.table.folded: m for m in models.values()}
        self.manifests = {name.folded: name for name in declared}
        self.outside: dict[TableName, TableName] = {}

    def build(self) -> Models:
        targets: dict[str, tuple[tuple[Read, Target], ...]] = {}
        for name, model in self.models.items():
            self.problems.tried(self._no_collision, model)
            tried = [(r, self.problems.tried(self._target, model, r)) for r in model.query.reads]
            targets[name] = tuple((read, target) for read, target in tried if target is not None)
        order = self.problems.tried(self._order, targets) or ()
        return Models(MappingProxyType(dict(self.models)), MappingProxyType(targets), order)

    def _no_collision(self, model: Model) -> None:
        if model.table.folded in self.manifests:
            raise ProjectError(
                "E156",
                f"the model '{model.name}' has the name of the declared table {model.table}",
                hint="Rename the model, or remove the manifest.",
                where=model.locate(0),
            )

    def _target(self, model: Model, read: Read) -> Target:
        schema = read.parts[-2] if len(read.parts) > 1 else self.env.schema
        table = TableName(schema, read.name)
        key = table.folded
        found = self.by_table.get(key)
        if found is not None and in_catalog(read, self.env, found.format):
            return Target(found.table, "model", found.name)
        if key in self.manifests and in_catalog(read, self.env):
            name = self.manifests[key]
            return Target(name, "manifest", name.name)
        if read.by_ref and read.name.casefold() not in self.lost:
            raise ProjectError(
                "E154",
                f"ref('{read.name}'): there is no model or declared table of that name",
                hint=self._meant(read.name),
                where=model.locate(read.start),
            )
        if found is not None or not in_catalog(read, self.env, ""):
            table = elsewhere(read)
        # One table, whatever the case that it is spelled in.
        return Target(self.outside.setdefault(table.folded, table), "outside", read.name)

    def _meant(self, name: str) -> str:
        """Of a ref() that leads nowhere: it knows the tables of the environment's own schema."""
        home = self.env.schema.casefold()
        others = [t for t in self.manifests.values() if t.schema.casefold() != home]
        for table in others:
            full = f"{table.schema}.{table.name}"
            if name.casefold() in (table.name.casefold(), full.casefold()):
                return f"{table} is declared in another schema: a query names it so, without ref()."
        near = [t.name for t in self.manifests.values() if t not in others]
        return suggestion(name, [*self.models, *near], "There are")

    def _order(self, targets: Mapping[str, tuple[tuple[Read, Target], ...]]) -> tuple[str, ...]:
        """Parents first; among equals by name, so that the order is the same each time."""
        done: dict[str, None] = {}
        path: dict[str, None] = {}
        for start in sorted(self.models):
            stack: list[tuple[str, bool]] = [(start, False)]
            while stack:
                name, left = stack.pop()
                if left:
                    path.pop(name)
                    done[name] = None
                elif name not in done:
                    path[name] = None
                    stack.append((name, True))
                    for read, target in reversed(targets[name]):
                        if target.kind == "model" and target.name in path:
                            raise self._cycle([*path], target.name, read)
                        if target.kind == "model" and target.name not in done:
                            stack.append((target.name, False))
        return tuple(done)

    def _cycle(self, path: list[str], again: str, read: Read) -> ProjectError:
        last = self.models[path[-1]]
        ring = [*path[path.index(again) :], again]
        itself = len(ring) == 2
        message = (
            f"the model '{again}' reads itself" if itself else "models read each other in a ring"
        )
        told = message if itself else f"{message}: {' → '.join(ring)}"
        hint = "Read what it is built from instead." if itself else "Break the ring at one place."
        return ProjectError("E153", told, hint=hint, where=last.locate(read.start))
