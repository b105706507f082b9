"""What a run has to do with a model's rows: nothing, all of them or a part; asked alike before it and in it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from instar.core.plan import TablePlan
from instar.core.schema import TableName
from instar.errors import EngineError
from instar.run.building import Builder
from instar.run.inputs import Inputs
from instar.run.interval_log import IntervalLog
from instar.run.options import RunOptions
from instar.sources.models import Model
from instar.state.models import Build

UNCHANGED = "neither its query nor its inputs changed"
IN_PART = "--start"
"""Stands for the inputs of a table of which only the intervals that were named are built."""
WHOLE = "whole"
"""The way of a table that is no incremental model's."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Decisions:
    """`builds` is what there is, as the run goes on."""

    options: RunOptions
    marks: Mapping[str, str]
    builder: Builder
    builds: Mapping[TableName, Build]
    inputs: Inputs
    log: IntervalLog

    def cause(self, model: Model, plan: TablePlan, inputs: Mapping[str, str | None]) -> str | None:
        """Why a model is built; None where neither its query nor its inputs changed."""
        known, options = self.builds.get(model.table), self.options
        if known is None:
            return "its first build"
        if plan.steps:
            return "its table changes"
        if options.full_refresh:
            return "--full-refresh"
        if timed(model) and (options.start or options.end):
            return "--start"
        if self.otherwise(model):
            return "its rows come another way than before"
        if known.fingerprint != self.marks[model.name]:
            return "its query changed"
        if dict(known.inputs) != dict(inputs):
            return _moved(known, inputs)
        if self.inputs.restless(model):
            return "it may give other rows each time that it is asked"
        return None

    def stays_done(self, model: Model) -> bool:
        """Of what the resumed run had done: whether it reads the same rows still, as far as that is told."""
        known = self.builds.get(model.table)
        if known is None or not known.inputs or IN_PART in known.inputs or self.in_part(model):
            return True
        with contextlib.suppress(EngineError):
            inputs = self.inputs.of(model)
            return None in inputs.values() or dict(known.inputs) == inputs
        return True

    def otherwise(self, model: Model) -> bool:
        """Rows came into the table another way than they will: its keys and intervals were others."""
        known = self.builds.get(model.table)
        return known is not None and known.way not in ("", way_of(model), _former(model))

    def empty(self, model: Model) -> bool:
        """Nothing is in an incremental table yet; of a table that is built as a whole nobody asks."""
        if model.incremental is None or self.options.full_refresh:
            return False
        return self.builder.rows(model.table, model.format) == 0

    def whole(self, model: Model, *, empty: bool) -> bool:
        """All rows are built, not only what is new."""
        if model.incremental is None or self.options.full_refresh:
            return True
        return (empty or self._first_was_cut_off(model)) and not self.options.start

    def in_part(self, model: Model) -> bool:
        """Only the intervals that were named are built: what is new elsewhere still waits."""
        return bool(timed(model) and self.options.start and not self.options.full_refresh)

    def _first_was_cut_off(self, model: Model) -> bool:
        """There are rows by event time, and nothing of them was written down: all are built once more."""
        return timed(model) and model.table not in self.builds and self.log.nothing(model)


def timed(model: Model) -> bool:
    """Whether a model is built by intervals of event time."""
    return model.incremental is not None and model.incremental.event_time_column is not None


def way_of(model: Model) -> str:
    """How rows come into a model's table, as the state store keeps it."""
    return _way(model, lambda column: column)


def _former(model: Model) -> str:
    """The same way under the names that its columns had: a rename changes none."""
    renamed = {n.casefold(): c.renamed_from for n, c in model.columns.items() if c.renamed_from}
    return _way(model, lambda column: renamed.get(column.casefold(), column))


def _way(model: Model, named: Callable[[str], str]) -> str:
    way = model.incremental
    if way is None:
        return WHOLE
    told = [named(column).casefold() for column in way.columns]
    kind = (
        "unique_key" if way.unique_key else "partition" if way.partition_column else way.granularity
    )
    return json.dumps([model.format, kind, *told])


def left_format(way: str, model: Model) -> str:
    """The format that an incremental model had, if it is another one now: its rows stay where they are."""
    old = str(json.loads(way)[0]) if way not in ("", WHOLE) else model.format
    return old if old != model.format else ""


def _moved(known: Build, inputs: Mapping[str, str | None]) -> str:
    if IN_PART in known.inputs:
        return "only intervals that were named are built"
    if untold := [name for name, version in inputs.items() if version is None]:
        return f"nothing tells whether {_named(untold)} changed"
    changed = [name for name, version in inputs.items() if known.inputs.get(name) != version]
    return f"its inputs changed: {_named(changed)}" if changed else "it reads less than before"


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
