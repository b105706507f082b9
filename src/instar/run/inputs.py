"""What the rows of a model depend on: the versions of its inputs, its macros, the clock."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from instar.core.schema import TableName
from instar.run.building import Builder
from instar.run.functions import Calls, Functions
from instar.sources.models import Model, Models
from instar.sources.models_words import calls
from instar.state.models import Build


def digest(mark: str, inputs: Mapping[str, str | None]) -> str:
    """Equal exactly when the same query was asked of the same inputs."""
    told = json.dumps([mark, dict(inputs)], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


@dataclass(slots=True)
class Inputs:
    """`marks`: what each model would be built by now; `builds`: what there is, as the run goes on."""

    models: Models
    marks: Mapping[str, str]
    builder: Builder
    builds: Mapping[TableName, Build]
    _versions: dict[TableName, str | None] = field(default_factory=dict)
    _restless: dict[str, bool] = field(default_factory=dict)
    _called: dict[str, Calls] = field(default_factory=dict)
    _functions: Functions | None = None

    def of(self, model: Model) -> dict[str, str | None]:
        """Each with its version; a view stands for what it reads. None: nothing tells."""
        found: dict[str, str | None] = dict(self._known_functions().written(self._calls(model)))
        for target in self.models.upstream(model.name):
            parent = self.models.models.get(target.name) if target.kind == "model" else None
            if parent is None:
                found[str(target.table)] = self._version(target.table)
            elif parent.materialization == "view":
                found[str(parent.table)] = self._deployed(parent)
                found |= self.of(parent)
            else:
                build = self.builds.get(parent.table)
                found[str(parent.table)] = build.build if build else None
        return found

    def _deployed(self, view: Model) -> str | None:
        """The mark of a view, if the one that is there was made by the query that it has now."""
        build = self.builds.get(view.table)
        made = build is not None and build.fingerprint == self.marks[view.name]
        return self.marks[view.name] if made else None

    def restless(self, model: Model) -> bool:
        """It may give other rows while no table that it reads has changed; a view hands that on."""
        known = self._restless.get(model.name)
        if known is None:
            own = not model.deterministic and self._moves(model)
            parents = (self.models.models[p] for p in self.models.parents(model.name))
            views = (p for p in parents if p.materialization == "view")
            known = own or any(self.restless(view) for view in views)
            self._restless[model.name] = known
        return known

    def _moves(self, model: Model) -> bool:
        unseen = model.python or model.query.unseen
        return unseen or self._known_functions().move(self._calls(model))

    def _calls(self, model: Model) -> Calls:
        if model.python:
            return frozenset()
        if model.name not in self._called:
            dialect = self._known_functions().dialect
            self._called[model.name] = calls(model.query.canonical, dialect)
        return self._called[model.name]

    def _version(self, table: TableName) -> str | None:
        if table not in self._versions:
            self._versions[table] = self.builder.version(table, "")
        return self._versions[table]

    def _known_functions(self) -> Functions:
        if self._functions is None:
            self._functions = self.builder.functions()
        return self._functions
